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

// migrate migrates the schema, under a lock so that processes which start together do it once.
func migrate(ctx context.Context, name, path string, keep bool) (err error) {
	db, err := sql.Open("sqlite", name+separator(name)+"_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)")
	if err != nil {
		return fmt.Errorf("sqlite: cannot open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, folder, goose.WithVerbose(false))
	if err != nil {
		return fmt.Errorf("sqlite: cannot read the migrations: %w", err)
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
		return fmt.Errorf("sqlite: cannot read the schema's version: %w", err)
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
		return fmt.Errorf("sqlite: cannot migrate: %w", err)
	}
	return nil
}

func separator(name string) string {
	if strings.Contains(name, "?") {
		return "&"
	}
	return "?"
}
