package main

import (
	"context"
	"fmt"
	"os"

	"stockrewards/internal/audit"
)

type auditCommand struct {
	databaseFlag
	addressFlags
	Broker bool `env:"-" help:"Compare the orders and the positions with the broker that the books belong to, instead of checking the books in themselves."`
	JSON   bool `name:"json" help:"Print the report as JSON."`
}

// Run audits the books. It reads them by a way of its own and changes nothing.
func (c *auditCommand) Run(ctx context.Context) error {
	if c.Broker {
		return c.compareWithBroker(ctx)
	}
	report, err := auditBooks(ctx, c.Database, c.plainPostgresFlag)
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
