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
	File string `arg:"" help:"The file to write; it must not exist yet."`
}

// Run copies the books, while serve runs or not, and audits the copy.
func (c *backupCommand) Run(ctx context.Context) error {
	if err := c.with(ctx, func(s *store.Store) error { return s.Backup(ctx, c.File) }); err != nil {
		return err
	}
	books, err := reader.OpenSQLite(ctx, c.File)
	if err != nil {
		return err
	}
	report, err := audit.Run(ctx, books, audit.Options{})
	if err := errors.Join(err, books.Close()); err != nil {
		return err
	}
	if _, violations := report.Violated(); violations > 0 {
		return fmt.Errorf("%s is written, but its books do not hold: see `stockrewards audit`", c.File)
	}
	sayf("%s is written and audited\n", c.File)
	return nil
}
