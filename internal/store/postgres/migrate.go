package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"stockrewards/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, under a lock, so that processes that start
// at once do it once.
func (e *Engine) migrate(ctx context.Context) (err error) {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(e.pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, folder, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("postgres: migrations: %w", err)
	}
	current, newest, err := provider.GetVersions(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("postgres: read the schema's version: %w", err)
	case current > newest:
		return fmt.Errorf("postgres: version %d, known is %d: %w", current, newest, store.ErrNewerSchema)
	case current == newest:
		return nil
	case e.options.KeepSchema:
		return fmt.Errorf("postgres: %w", store.ErrOlderSchema)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	return nil
}
