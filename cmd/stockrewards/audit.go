package main

import (
	"context"
	"fmt"
	"os"

	"stockrewards/internal/audit"
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

func (c *auditCommand) print(r audit.Report) error {
	if !c.JSON {
		return r.WriteText(os.Stdout)
	}
	return printJSON(r)
}
