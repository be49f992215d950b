package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"stockrewards/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, under a lock so that two processes which
// start at once do it once.
func migrate(ctx context.Context, db *sql.DB, path string, keep bool) (err error) {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, folder, goose.WithVerbose(false))
	if err != nil {
		return fmt.Errorf("sqlite: migrations: %w", err)
	}
	if path != Memory {
		unlock, err := lockFile(path+".setup.lock", true)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("sqlite: read the schema's version: %w", err)
	}
	if current > newest {
		return fmt.Errorf("sqlite: %s: version %d, known is %d: %w", path, current, newest, store.ErrNewerSchema)
	}
	if current == newest {
		return nil
	}
	if keep {
		return fmt.Errorf("sqlite: %s: %w", path, store.ErrOlderSchema)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("sqlite: migrate: %w", err)
	}
	return nil
}
