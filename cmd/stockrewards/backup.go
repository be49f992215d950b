package main

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/reader"
)

type backupCommand struct {
	databaseFlag
	File string `arg:"" help:"The new file to write."`
}

// Run copies the database, even while serve runs, and audits the copy. What an older version wrote only that version
// can audit.
func (c *backupCommand) Run(ctx context.Context) error {
	database, err := c.database()
	if err != nil {
		return err
	}
	older, err := database.Backup(ctx, c.File)
	if err != nil {
		return err
	}
	if older {
		sayf("%s is written, with the schema of the older version; `audit` of that version can check it\n", c.File)
		return nil
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
