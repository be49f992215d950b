package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"stockrewards/internal/copier"
	"stockrewards/internal/server"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/sqlite"
)

type copyCommand struct {
	plainPostgresFlag
	From       string `required:"" env:"-" placeholder:"sqlite:PATH" help:"Copy the books of this database; stop its service first."`
	To         string `required:"" env:"-" placeholder:"postgres://USER@HOST/NAME" help:"Copy into this empty database, at PostgreSQL's own address (not PgBouncer's). Keep a password in PGPASSWORD or a passfile."`
	BrokerKind string `env:"-" enum:",alpaca" default:"" placeholder:"KIND" help:"Say alpaca for books of the embedded paper brokerage: they are served over 'stockrewards paper' from then on, with the same account."`
	reasonFlag
	Abandon bool `env:"-" help:"Undo a copy that was killed: unseal --from, if the database of --to does not have the books."`
}

// Help is the text below the flags.
func (c *copyCommand) Help() string {
	return "The books are audited, sealed so that no program writes to them any more, copied in one transaction, " +
		"and audited again. However it ends, one side at most can be served. After a kill repeat the same command: " +
		"it finishes what was done, or repeats it. docs/operations.md, \"Moving to PostgreSQL\", has the steps."
}

// moving is a copy under way: both sides, opened.
type moving struct {
	*copyCommand
	path  string // of the source's file
	name  string // of the target, without credentials
	books *store.Operator
	in    store.Installation
	seal  store.Cutover
}

// Run copies the books.
func (c *copyCommand) Run(ctx context.Context) (err error) {
	m := &moving{copyCommand: c}
	if m.path, err = sqlitePath(c.From); err != nil || isPostgres(c.From) {
		return usageErrorf("--from %s: must be sqlite:PATH", withoutPassword(c.From))
	}
	if !isPostgres(c.To) {
		return usageErrorf("--to %s: must be postgres://USER@HOST/NAME", c.To)
	}
	if err := c.checkPostgres(c.To); err != nil {
		return err
	}
	if m.name, err = copier.TargetName(c.To); err != nil {
		return err
	}
	if _, err := os.Stat(m.path); err != nil {
		return fmt.Errorf("--from %s: %w", c.From, err)
	}
	unlock, err := sqlite.Lock(m.path)
	if err != nil {
		return fmt.Errorf("stop serve first: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	source := databaseFlag{Database: c.From}
	return source.operate(ctx, "copy", c.reasonFlag, func(s *store.Operator) error {
		m.books = s
		return m.run(ctx)
	})
}

// run decides what is to be done, by what both sides hold.
func (m *moving) run(ctx context.Context) (err error) {
	if m.seal, err = m.books.Cutover(ctx); err != nil {
		return err
	}
	if m.seal.To != "" && m.seal.To != m.name {
		return fmt.Errorf("%w; --to names %s", m.books.CheckCutover(ctx), m.name)
	}
	if m.in, err = m.books.Installation(ctx); err != nil {
		return err
	}
	target, err := copier.Inspect(ctx, m.To)
	if err != nil {
		return err
	}
	there := target.Installation == m.in.ID
	switch {
	case m.Abandon:
		return m.abandon(ctx, target)
	case there && m.seal.To == "":
		return fmt.Errorf("%s has books of this installation, and --from is not sealed: "+
			"it may be a restored backup, or have gone on; nothing is changed", m.name)
	case there:
		sayf("%s has the books already, and --from is sealed\n", m.name)
		return m.close(ctx)
	case m.seal.Done:
		return fmt.Errorf("%w, but %s does not have the books: it is another database under the same name, "+
			"or has lost them: restore its backup", m.books.CheckCutover(ctx), m.name)
	case !target.Empty:
		return fmt.Errorf("%s: %w: it is somebody's", m.name, copier.ErrNotEmpty)
	}
	return m.copy(ctx)
}

// abandon makes the source live again, when the target has nothing.
func (m *moving) abandon(ctx context.Context, target copier.Target) error {
	switch {
	case m.seal.To == "":
		return errors.New("--from is not being moved: there is nothing to abandon")
	case m.seal.Done:
		return fmt.Errorf("there is no way back: %w", m.books.CheckCutover(ctx))
	case !target.Empty:
		return fmt.Errorf("%s is not empty: when the books are there, repeat the command without --abandon", m.name)
	}
	if err := m.books.AbandonCutover(ctx); err != nil {
		return err
	}
	sayf("%s does not have the books; %s can be served again\n", m.name, m.From)
	return nil
}

// brokerKind is what the target's books say instead of what the source's do.
func (m *moving) brokerKind() (string, error) {
	if m.in.BrokerKind == server.BrokerPaper && m.BrokerKind == "" {
		return "", errors.New("these books belong to the embedded paper brokerage, which stands beside an SQLite " +
			"file only: run its books as a server of its own (`stockrewards paper --database sqlite:…/paper.db`), " +
			"and say --broker-kind alpaca here; then serve with --broker alpaca and the server's address")
	}
	if m.in.BrokerKind == "" {
		return "", nil // they belong to no broker yet
	}
	return m.BrokerKind, nil
}

// copy copies the books. The source is sealed before; when it is known that the
// target has nothing, it is opened again.
func (m *moving) copy(ctx context.Context) error {
	kind, err := m.brokerKind()
	if err != nil {
		return err
	}
	if err := m.audit(ctx, m.From); err != nil {
		return fmt.Errorf("nothing is copied: %w", err)
	}
	engine, err := postgres.Open(ctx, m.To, postgres.Options{Connections: 1}) // makes the schema
	if err != nil {
		return err
	}
	if err := engine.Close(); err != nil {
		return err
	}
	if err := m.books.BeginCutover(ctx, m.name); err != nil {
		return err
	}
	err = copier.Copy(ctx, m.path, m.To, copier.Options{BrokerKind: kind, Progress: newProgress(os.Stderr).tell})
	switch {
	case errors.Is(err, copier.ErrNotCopied) && m.seal.To == "": // no run before this one has sealed it
		return errors.Join(err, m.books.AbandonCutover(context.WithoutCancel(ctx)))
	case err != nil:
		return fmt.Errorf("%w; --from is sealed: repeat the command, which goes on from there", err)
	}
	return m.close(ctx)
}

// close notes at the source that the target has the books, and audits them there.
func (m *moving) close(ctx context.Context) error {
	if err := m.books.CompleteCutover(context.WithoutCancel(ctx), m.name); err != nil {
		return fmt.Errorf("%s has the books, but --from could not note it: repeat the command: %w", m.name, err)
	}
	if err := m.audit(ctx, m.To); err != nil {
		return fmt.Errorf("the books are in %s, and --from is sealed: %w", m.name, err)
	}
	sayf("the books have moved to %s; %s is sealed. Start serve with the new database\n", m.name, m.From)
	return nil
}

// audit audits one side and prints a line of it.
func (m *moving) audit(ctx context.Context, database string) error {
	report, err := auditBooks(ctx, database, m.plainPostgresFlag)
	if err != nil {
		return err
	}
	shown := withoutPassword(database)
	if checks, violations := report.Violated(); violations > 0 {
		return fmt.Errorf("%s: %d violations of %d checks: see `stockrewards audit`", shown, violations, checks)
	}
	sayf("%s: all %d checks hold\n", shown, len(report.Checks))
	return nil
}
