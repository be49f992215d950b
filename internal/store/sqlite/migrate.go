package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // goose's driver

	"stockrewards/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate migrates the schema, under a lock so that processes which start together do it once. It
// returns the version of the schema, and whether that is still an older one.
func migrate(ctx context.Context, name, path string, o Options) (version int64, older bool, err error) {
	db, err := sql.Open("sqlite", name+separator(name)+"_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)")
	if err != nil {
		return 0, false, fmt.Errorf("sqlite: cannot open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return 0, false, err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, folder, goose.WithVerbose(false))
	if err != nil {
		return 0, false, fmt.Errorf("sqlite: cannot read the migrations: %w", err)
	}
	if path != Memory {
		unlock, err := awaitLock(ctx, path+".setup.lock", path, o.Waiting)
		if err != nil {
			return 0, false, fmt.Errorf("sqlite: cannot lock the schema of %s: %w", path, err)
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("sqlite: cannot read the schema's version: %w", err)
	}
	if current > newest {
		return 0, false, fmt.Errorf("%s: %w", path, differs(current, newest))
	}
	switch {
	case current == newest, o.OlderSchema:
		return current, current < newest, nil
	case o.KeepSchema:
		return 0, false, fmt.Errorf("sqlite: %s: %w", path, store.ErrOlderSchema)
	case current > 0 && path != Memory && !o.Sole: // an older version may serve it, and would end
		unlock, err := lockFile(path+".lock", path)
		if err != nil {
			return 0, false, fmt.Errorf("sqlite: cannot update %s from an older version: %w", path, err)
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	if _, err := provider.Up(ctx); err != nil {
		return 0, false, fmt.Errorf("sqlite: cannot migrate: %w", err)
	}
	return newest, false, dropUnneeded(ctx, db)
}

// refuseForeign fails when the file has tables, but not those of the migrations. It changes nothing: the settings of a
// connection would switch another program's file to a write-ahead log.
func refuseForeign(ctx context.Context, s *session, path string) error {
	var tables, ours, paper int
	err := s.Query(ctx, func(row store.Row) error { return row.Scan(&tables, &ours, &paper) },
		`SELECT count(*), count(*) FILTER (WHERE name = 'goose_db_version'),
		count(*) FILTER (WHERE name IN ('account', 'settlements')) FROM sqlite_schema WHERE type = 'table'`)
	switch {
	case err != nil:
		return unusable(path, err)
	case tables == 0 || ours > 0:
		return nil
	case paper > 0:
		return fmt.Errorf("sqlite: %s: the file has the books of a paper brokerage: name another file", path)
	default:
		return fmt.Errorf("sqlite: %s: the file is another program's database: name another file", path)
	}
}

// checkSchema fails unless the schema has the version. A write transaction, which excludes
// migrations, begins with it.
func checkSchema(ctx context.Context, tx store.Tx, version int64) error {
	var found int64
	err := tx.Query(ctx, func(row store.Row) error { return row.Scan(&found) },
		`SELECT version_id FROM goose_db_version ORDER BY id DESC LIMIT 1`)
	if err != nil || found == version {
		return err
	}
	return differs(found, version)
}

// differs is the error for a schema of another version than the known one.
func differs(found, known int64) error {
	cause := store.ErrNewerSchema
	if found < known {
		cause = store.ErrOlderSchema
	}
	return fmt.Errorf("sqlite: the schema has version %d, known is %d: %w", found, known, cause)
}

func separator(name string) string {
	if strings.Contains(name, "?") {
		return "&"
	}
	return "?"
}
