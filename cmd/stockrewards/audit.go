package main

import (
	"context"
	"encoding/json"
	"errors"
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
	path, err := c.path()
	if err != nil {
		return err
	}
	if c.Broker {
		return c.compareWithBroker(ctx, path)
	}
	books, err := audit.OpenSQLite(ctx, path)
	if err != nil {
		return err
	}
	report, err := audit.Run(ctx, books)
	if err := errors.Join(err, books.Close()); err != nil {
		return err
	}
	if err := c.print(report); err != nil {
		return err
	}
	if checks, violations := report.Violated(); violations > 0 {
		return fmt.Errorf("%s: %d violations of %d checks", c.Database, violations, checks)
	}
	return nil
}

func (c *auditCommand) print(r audit.Report) error {
	if !c.JSON {
		return r.WriteText(os.Stdout)
	}
	return printJSON(r)
}

// printJSON prints a report for programs.
func printJSON(report any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}
