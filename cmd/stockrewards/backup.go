package main

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/store"
)

type backupCommand struct {
	databaseFlag
	File string `arg:"" help:"The new file to write."`
}

// Run copies the database, even while serve runs, and audits the copy.
func (c *backupCommand) Run(ctx context.Context) error {
	if err := c.with(ctx, func(s *store.Store) error { return s.Backup(ctx, c.File) }); err != nil {
		return err
	}
	opened, err := reader.OpenSQLite(ctx, c.File)
	if err != nil {
		return err
	}
	report, err := audit.Run(ctx, opened, audit.Options{})
	if err := errors.Join(err, opened.Close()); err != nil {
		return err
	}
	if _, violations := report.Violated(); violations > 0 {
		return fmt.Errorf("the backup %s is written, but violates invariants: see `stockrewards audit`", c.File)
	}
	sayf("%s is written and audited\n", c.File)
	return nil
}
