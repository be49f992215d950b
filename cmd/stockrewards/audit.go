package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"stockrewards/internal/audit"
)

type auditCommand struct {
	databaseFlag
	addressFlags
	Broker bool `env:"-" help:"Compare the orders and the positions with the broker that the books belong to, instead of checking the books in themselves."`
	Prove  bool `env:"-" help:"Prove that the audit finds damage: plant every kind of it in a temporary copy of all of the books (a file; in PostgreSQL temporary tables), one by one, and look. It takes some 40 times as long as an audit."`
	JSON   bool `name:"json" help:"Print the report as JSON."`
}

// Run audits the books. It reads them by a way of its own and changes nothing.
func (c *auditCommand) Run(ctx context.Context) error {
	if c.Broker && c.Prove {
		return exitError{errors.New("--broker and --prove do not go together"), exitUsage}
	}
	if c.Broker {
		return c.compareWithBroker(ctx)
	}
	if c.Prove {
		return c.prove(ctx)
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
