package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/store/sqlite"
)

type auditCommand struct {
	databaseFlag
	addressFlags `group:"Broker"`
	Broker       bool `env:"-" help:"Compare orders and positions with the broker of this database, instead of checking the database's invariants."`
	JSON         bool `name:"json" help:"Print the report as JSON."`
}

// Run audits the database. It changes nothing.
func (c *auditCommand) Run(ctx context.Context) error {
	if c.Broker {
		return c.compareWithBroker(ctx)
	}
	report, err := auditDatabase(ctx, c.databaseFlag)
	if err != nil {
		return err
	}
	if err := c.print(report); err != nil {
		return err
	}
	if checks, violations := report.Violated(); violations > 0 {
		return fmt.Errorf("%s: %d violations of %d checks", withoutPassword(c.Database), violations, checks)
	}
	return nil
}

func (c *auditCommand) print(r interface{ WriteText(w io.Writer) error }) error {
	if c.JSON {
		return printJSON(r)
	}
	return r.WriteText(os.Stdout)
}

func openAudited(ctx context.Context, d databaseFlag) (reader.Store, error) {
	database, err := d.database()
	if err != nil {
		return nil, err
	}
	if database.Postgres != "" {
		return reader.OpenPostgres(ctx, database.Postgres)
	}
	if err := sqlite.CheckServed(ctx, database.SQLite); err != nil {
		return nil, err
	}
	return reader.OpenSQLite(ctx, database.SQLite)
}

// auditDatabase audits a database and reports its progress on standard error, where it
// also prints the violations found before a failure.
func auditDatabase(ctx context.Context, d databaseFlag) (audit.Report, error) {
	opened, err := openAudited(ctx, d)
	if err != nil {
		return audit.Report{}, err
	}
	p := newAuditProgress(os.Stderr)
	report, err := audit.Run(ctx, opened, audit.Options{Progress: p.read})
	p.stop()
	if err != nil && !report.OK() {
		fmt.Fprintln(os.Stderr, "the audit failed; until then it found:")
		err = errors.Join(err, report.WriteViolations(os.Stderr))
	}
	return report, errors.Join(err, opened.Close())
}
