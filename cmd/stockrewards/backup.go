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
	report, err := auditFile(ctx, c.File)
	if err != nil {
		return fmt.Errorf("%s is written, but not audited: %w; run `stockrewards audit --database sqlite:%[1]s`",
			c.File, err)
	}
	if _, violations := report.Violated(); violations > 0 {
		return fmt.Errorf("the backup %s is written, but violates invariants: see `stockrewards audit`", c.File)
	}
	sayf("%s is written and audited\n", c.File)
	return nil
}

// auditFile audits the database in a file.
func auditFile(ctx context.Context, path string) (audit.Report, error) {
	opened, err := reader.OpenSQLite(ctx, path)
	if err != nil {
		return audit.Report{}, err
	}
	report, err := audit.Run(ctx, opened, audit.Options{})
	return report, errors.Join(err, opened.Close())
}
