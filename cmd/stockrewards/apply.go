package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"stockrewards/internal/config"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type applyCommand struct {
	databaseFlag
	reasonFlag
	webhookKeyFlags
	File     string `arg:"" help:"A YAML file of apps; - reads standard input."`
	DryRun   bool   `env:"-" help:"Print what would change, and change nothing."`
	ExitCode bool   `env:"-" help:"Exit with status 3 if --dry-run finds a difference (default: 0)."`
	Prune    bool   `env:"-" help:"Remove budgets that a list in the file lacks, and disable such webhook endpoints. Apps, keys and awards always stay."`
	Secrets  string `env:"-" placeholder:"FOLDER" help:"Write new keys and webhook secrets to files in this folder, which only their owner can read (default: print them, once)."`
	JSON     bool   `name:"json" help:"Print one JSON object with the changes."`
}

// exitDiffers is the status of a dry run with --exit-code that found a difference.
const exitDiffers = 3

// Run reads and compares everything before it changes anything. Each change is one transaction of
// its own; after an interruption the same command makes those that are left.
func (c *applyCommand) Run(ctx context.Context) error {
	if c.ExitCode && !c.DryRun {
		return usageErrorf("--exit-code needs --dry-run")
	}
	by, err := c.operator("apply")
	if err != nil {
		return err
	}
	file, err := c.read()
	if err != nil {
		return err
	}
	s, err := c.openFor(ctx)
	if err != nil {
		return err
	}
	if s == nil { // a dry run without a database
		return c.report(ctx, nil, by, file)
	}
	return errors.Join(c.report(ctx, s, by, file), s.Close())
}

// openFor opens the store. A dry run creates none, and goes on without one.
func (c *applyCommand) openFor(ctx context.Context) (*store.Store, error) {
	if !c.DryRun {
		return c.open(ctx, true)
	}
	if !isPostgres(c.Database) {
		database, err := c.database()
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(database.SQLite); errors.Is(err, fs.ErrNotExist) {
			return nil, nil //nolint:nilnil // there is nothing to compare with
		}
	}
	return c.open(ctx, false)
}

// read reads the file. Its mistakes are errors in the command line.
func (c *applyCommand) read() (config.File, error) {
	addresses, err := c.addresses()
	if err != nil {
		return config.File{}, err
	}
	in := os.Stdin
	if c.File != "-" {
		if in, err = os.Open(c.File); err != nil {
			return config.File{}, usageErrorf("%w", err)
		}
		defer in.Close() //nolint:errcheck // it is only read
	}
	text, err := io.ReadAll(io.LimitReader(in, config.MaxFile+1))
	if err != nil {
		return config.File{}, err
	}
	file, err := config.Read(text, addresses)
	return file, c.refused(err)
}

// refused is the error of a file that is refused: a line for each mistake.
func (c *applyCommand) refused(err error) error {
	if err == nil {
		return nil
	}
	return usageErrorf("%s is refused, and nothing was changed:\n%w", c.File, err)
}

// report compares the file with the store, makes the changes unless it is a dry run, and prints
// them. After a failure it prints those that were made.
func (c *applyCommand) report(ctx context.Context, s *store.Store, by rewards.Operator, file config.File) error {
	if !c.DryRun {
		unlock, err := secretFiles{c.Secrets}.lock()
		if err != nil {
			return err
		}
		defer unlock() //nolint:errcheck // the end of the process unlocks it too
	}
	changes, err := c.compare(ctx, s, file)
	if err != nil {
		return err
	}
	rows := make([]object, 0, len(changes))
	show := func(change config.Change, made secret) {
		rows = append(rows, changeObject(change, made))
		if !c.JSON {
			sayf("%s %s: %s\n", change.Sign, change.Object(), change.What)
			made.say()
		}
	}
	if c.DryRun {
		for _, change := range changes {
			show(change, secret{})
		}
	} else {
		m := &maker{store: s, by: by, files: secretFiles{c.Secrets}, pass: show}
		if err := m.prepare(ctx, c, file, changes); err != nil {
			return err
		}
		err = m.changeAll(ctx, changes)
		if err == nil && len(changes) == 0 {
			err = s.Confirm(ctx) // an earlier run may have been interrupted
		}
	}
	if c.JSON {
		err = errors.Join(printJSON(map[string]any{"dryRun": c.DryRun, "changes": rows}), err)
	} else if err == nil {
		sayln(summary(file, len(changes), c.DryRun))
	}
	if err == nil && c.ExitCode && len(changes) > 0 {
		return exitError{errors.New("the file differs from what is stored"), exitDiffers}
	}
	if err != nil && !c.DryRun {
		return fmt.Errorf("%w; %d of %d changes were made, the same command makes the rest",
			err, len(rows), len(changes))
	}
	return err
}

func changeObject(change config.Change, made secret) object {
	verbs := map[string]string{config.Add: "add", config.Modify: "change", config.Remove: "remove"}
	o := object{"change": verbs[change.Sign]}
	for _, line := range [][2]string{
		{"kind", string(change.Kind)},
		{"app", change.App},
		{"name", change.Name},
		{"difference", change.What},
		{"secret", made.text},
		{"secret file", made.file},
	} {
		o.set(line[0], line[1])
	}
	return o
}

// summary is the last line that people see.
func summary(file config.File, changes int, dry bool) string {
	of := fmt.Sprintf("%d apps", len(file.Apps))
	if len(file.Apps) == 1 {
		of = "1 app"
	}
	switch {
	case changes == 0:
		return "nothing to change: " + of + " as in the file"
	case dry:
		return fmt.Sprintf("%d to change; nothing was changed", changes)
	}
	return fmt.Sprintf("%d changed: %s as in the file", changes, of)
}

// compare lists the changes that the file asks for. It fails before anything is changed when one
// cannot be made.
func (c *applyCommand) compare(ctx context.Context, s *store.Store, file config.File) ([]config.Change, error) {
	stored, account := map[string]config.Stored{}, rewards.ModeUnknown
	if s != nil {
		var err error
		if stored, err = storedApps(ctx, s); err != nil {
			return nil, err
		}
		if account, err = s.AccountMode(ctx); err != nil {
			return nil, err
		}
	}
	changes, err := config.Diff(file, stored, account, c.Prune)
	return changes, c.refused(err)
}

// storedApps reads the apps with their budgets and endpoints, by name.
func storedApps(ctx context.Context, s *store.Store) (map[string]config.Stored, error) {
	apps, err := s.Apps(ctx)
	if err != nil {
		return nil, err
	}
	endpoints, err := s.AllWebhookEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	stored := make(map[string]config.Stored)
	for _, a := range apps {
		one := config.Stored{App: a}
		used, err := s.Budgets(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		for _, b := range used {
			one.Budgets = append(one.Budgets, b.Budget)
		}
		for _, e := range endpoints {
			if e.AppID == a.ID {
				one.Endpoints = append(one.Endpoints, e)
			}
		}
		stored[a.Name] = one
	}
	return stored, nil
}

// Help implements kong.HelpProvider.
func (c *applyCommand) Help() string {
	return examples("apply apps.yaml --dry-run", "apply apps.yaml --secrets keys --reason 'the new shop'")
}
