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

// isPostgres tells whether a database is named by a URL of PostgreSQL.
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

// openBooks opens the books that a database flag names, to be audited.
func openBooks(ctx context.Context, database string, plain plainPostgresFlag) (reader.Store, error) {
	if isPostgres(database) {
		if err := plain.checkPostgres(database); err != nil {
			return nil, err
		}
		return reader.OpenPostgres(ctx, database)
	}
	path, err := sqlitePath(database)
	if err != nil {
		return nil, err
	}
	return reader.OpenSQLite(ctx, path)
}

// auditBooks opens and audits books, and tells on standard error how far it is. An
// audit that was ended early has told there what it had found.
func auditBooks(ctx context.Context, database string, plain plainPostgresFlag) (audit.Report, error) {
	books, err := openBooks(ctx, database, plain)
	if err != nil {
		return audit.Report{}, err
	}
	p := newAuditProgress(os.Stderr)
	report, err := audit.Run(ctx, books, audit.Options{Progress: p.tell})
	p.end()
	if err != nil && !report.OK() {
		fmt.Fprintln(os.Stderr, "the audit did not come to its end; until then it had found:")
		err = errors.Join(err, report.WriteViolations(os.Stderr))
	}
	return report, errors.Join(err, books.Close())
}
