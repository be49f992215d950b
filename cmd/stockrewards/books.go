package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/reader"
)

// isPostgres reports whether a database is given by a URL of PostgreSQL.
func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// sqlitePath is the file of an SQLite database.
func sqlitePath(database string) (string, error) {
	path, found := strings.CutPrefix(database, "sqlite:")
	if !found || path == "" {
		return "", usageErrorf("the database %q: must be sqlite:PATH or postgres://USER@HOST/NAME",
			withoutPassword(database))
	}
	return path, nil
}

// openAudited opens a database for auditing.
func openAudited(ctx context.Context, d databaseFlag) (reader.Store, error) {
	database, err := d.database()
	if err != nil {
		return nil, err
	}
	if database.Postgres != "" {
		return reader.OpenPostgres(ctx, database.Postgres)
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
