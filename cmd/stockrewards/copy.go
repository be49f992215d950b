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
	From              string `required:"" env:"-" placeholder:"sqlite:PATH" help:"Copy this database; stop its service first."`
	To                string `required:"" env:"-" placeholder:"postgres://USER@HOST/NAME" help:"Copy into this empty database, at PostgreSQL's own address (not PgBouncer's). Keep a password in PGPASSWORD or a passfile."`
	BrokerKind        string `env:"-" enum:",alpaca" default:"" placeholder:"alpaca" help:"Change the broker of a database that belongs to the embedded paper brokerage: it is served over 'stockrewards paper' afterwards, with the same account."`
	Abandon           bool   `env:"-" help:"Undo a copy that was killed: unfreeze --from, if --to does not have the data."`
	plainPostgresFlag `group:"Database"`
	reasonFlag
}

func (c *copyCommand) Help() string {
	return "The database is audited, frozen against writes by any program, copied in one transaction and audited " +
		"again. Whatever happens, at most one of the two databases can be served afterwards. After a kill, repeat " +
		"the command: it continues or starts again. See docs/postgresql.md."
}

// cutover is the move of a database from SQLite to PostgreSQL.
type cutover struct {
	*copyCommand
	path   string // the source's file
	name   string // the target, without credentials
	source *store.Operator
	in     store.Installation
	state  store.Cutover // of the source, before this run
}

func (c *copyCommand) Run(ctx context.Context) (err error) {
	m := &cutover{copyCommand: c}
	if m.path, err = sqlitePath("--from", c.From, "sqlite:PATH"); err != nil {
		return err
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
		return fmt.Errorf("cannot lock --from, stop serve first: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	source := databaseFlag{Database: c.From}
	return source.operate(ctx, "copy", c.reasonFlag, func(s *store.Operator) error {
		m.source = s
		return m.run(ctx)
	})
}

// run chooses the step by the state of both databases.
func (m *cutover) run(ctx context.Context) (err error) {
	if m.state, err = m.source.Cutover(ctx); err != nil {
		return err
	}
	if m.state.To != "" && m.state.To != m.name {
		return fmt.Errorf("%w; --to names %s", m.source.CheckCutover(ctx), m.name)
	}
	if m.in, err = m.source.Installation(ctx); err != nil {
		return err
	}
	target, err := copier.Inspect(ctx, m.To)
	if err != nil {
		return err
	}
	copied := target.Installation == m.in.ID
	switch {
	case m.Abandon:
		return m.abandon(ctx, target)
	case copied && m.state.To == "":
		return fmt.Errorf("%s has the data of this installation, but --from is not frozen: "+
			"it may be a restored backup, or in use; nothing is changed", m.name)
	case copied:
		sayf("%s already has the data, and --from is frozen\n", m.name)
		return m.complete(ctx)
	case m.state.Done:
		return fmt.Errorf("%w, but %s does not have the data: it is another database under the same name, "+
			"or has lost its data: restore its backup", m.source.CheckCutover(ctx), m.name)
	case !target.Empty:
		return fmt.Errorf("%s: %w: it belongs to something else", m.name, copier.ErrNotEmpty)
	}
	return m.copy(ctx)
}

// abandon unfreezes the source, if the target is empty.
func (m *cutover) abandon(ctx context.Context, target copier.Target) error {
	switch {
	case m.state.To == "":
		return errors.New("--from is not frozen: there is nothing to abandon")
	case m.state.Done:
		return fmt.Errorf("cannot abandon a complete copy: %w", m.source.CheckCutover(ctx))
	case !target.Empty:
		return fmt.Errorf("%s is not empty: if it has the data, repeat the command without --abandon", m.name)
	}
	return said(m.source.AbandonCutover(ctx), "%s does not have the data; %s can be served again\n", m.name, m.From)
}

// brokerKind is the target's broker, if it differs from the source's.
func (m *cutover) brokerKind() (string, error) {
	if m.in.BrokerKind == server.BrokerPaper && m.BrokerKind == "" {
		return "", errors.New("this database belongs to the embedded paper brokerage, which needs an SQLite file: " +
			"run the brokerage as a separate server (`stockrewards paper --database sqlite:…/paper.db`), " +
			"and use --broker-kind alpaca here; then serve with --broker alpaca and that server's address")
	}
	if m.in.BrokerKind == "" {
		return "", nil
	}
	return m.BrokerKind, nil
}

// copy freezes and copies the source. If the target is known to be unchanged after a
// failure, the source is unfrozen.
func (m *cutover) copy(ctx context.Context) error {
	kind, err := m.brokerKind()
	if err != nil {
		return err
	}
	if err := m.audit(ctx, m.From); err != nil {
		return fmt.Errorf("cannot start the copy: %w", err)
	}
	engine, err := postgres.Open(ctx, m.To, postgres.Options{Connections: 1}) // creates the schema
	if err != nil {
		return err
	}
	if err := engine.Close(); err != nil {
		return err
	}
	if err := m.source.BeginCutover(ctx, m.name); err != nil {
		return err
	}
	err = copier.Copy(ctx, m.path, m.To, copier.Options{
		BrokerKind: kind, Progress: newCopyProgress(os.Stderr).sent, Waits: waitsForCommit,
	})
	switch {
	case errors.Is(err, copier.ErrNotCopied) && m.state.To == "": // no earlier run froze it
		return errors.Join(err, m.source.AbandonCutover(context.WithoutCancel(ctx)))
	case err != nil:
		return fmt.Errorf("%w; %w", err, errFrozen)
	}
	return m.complete(ctx)
}

// waitsForCommit answers a signal while a copy waits for its commit.
func waitsForCommit() {
	fsayf(os.Stderr, "the commit is sent: waiting for the server, which may wait for its standby. "+
		"A second signal ends the command; then the outcome is unknown: repeat the command\n")
}

// errFrozen follows the cause for which a copy is not complete.
var errFrozen = errors.New("--from is frozen: repeat the command to continue")

// complete confirms that the target keeps the data, records it at the source, and audits the target.
func (m *cutover) complete(ctx context.Context) error {
	if err := copier.Confirm(ctx, m.To); err != nil {
		return fmt.Errorf("%w; %w", err, errFrozen)
	}
	if err := m.source.CompleteCutover(context.WithoutCancel(ctx), m.name); err != nil {
		return fmt.Errorf("%s has the data, but --from cannot record it; repeat the command: %w", m.name, err)
	}
	if err := m.audit(ctx, m.To); err != nil {
		return fmt.Errorf("%s has the data, and --from is frozen: %w", m.name, err)
	}
	sayf("the data has moved to %s; %s is frozen. Start serve with the new database\n", m.name, m.From)
	return nil
}

func (m *cutover) audit(ctx context.Context, database string) error {
	report, err := auditDatabase(ctx, databaseFlag{Database: database, plainPostgresFlag: m.plainPostgresFlag})
	if err != nil {
		return err
	}
	name := withoutPassword(database)
	if report.OnlyFilters() {
		return fmt.Errorf("%s: filters of keys are damaged: start serve with this database, which makes them again, "+
			"then stop it and repeat the copy", name)
	}
	if checks, violations := report.Violated(); violations > 0 {
		return fmt.Errorf("%s: %d violations of %d checks: see `stockrewards audit`", name, violations, checks)
	}
	sayf("%s: all %d checks hold\n", name, len(report.Checks))
	return nil
}
