package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/sqlite"
)

// databaseFlag says where the books are.
type databaseFlag struct {
	plainPostgresFlag
	Database  string `required:"" placeholder:"URL" help:"Use this database: sqlite:PATH, such as sqlite:rewards.db, or postgres://USER@HOST/NAME. Keep a password in PGPASSWORD or a passfile."`
	Pgbouncer bool   `name:"pgbouncer" help:"Work through PgBouncer in transaction mode."`
}

// onPostgres tells whether the books are in PostgreSQL.
func (d databaseFlag) onPostgres() bool { return isPostgres(d.Database) }

// path is the file of an SQLite database; it fails for another kind.
func (d databaseFlag) path() (string, error) { return sqlitePath(d.Database) }

// open opens the books; create makes them when there are none.
func (d databaseFlag) open(ctx context.Context, create bool) (*store.Store, error) {
	if d.onPostgres() {
		s, _, err := d.openPostgres(ctx, create)
		return s, err
	}
	path, err := d.path()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if !create {
			return nil, fmt.Errorf("--database %s: there is no such file", d.Database)
		}
		if err := makeFolder(path); err != nil {
			return nil, err
		}
	}
	engine, err := sqlite.Open(ctx, path, sqlite.Options{KeepSchema: !create})
	if err != nil {
		return nil, err
	}
	return newStore(ctx, engine)
}

// openPostgres opens books in PostgreSQL.
func (d databaseFlag) openPostgres(ctx context.Context, create bool) (*store.Store, *postgres.Engine, error) {
	if err := d.checkPostgres(d.Database); err != nil {
		return nil, nil, err
	}
	engine, err := postgres.Open(ctx, d.Database, postgres.Options{Pooled: d.Pgbouncer, KeepSchema: !create})
	if err != nil {
		return nil, nil, err
	}
	s, err := newStore(ctx, engine)
	return s, engine, err
}

func newStore(ctx context.Context, engine store.Engine) (*store.Store, error) {
	s, err := store.New(ctx, engine, time.Now, rand.Reader)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return s, nil
}

// makeFolder makes the folder of a database, for its owner only.
func makeFolder(path string) error {
	const ownerOnly = 0o700
	return os.MkdirAll(filepath.Dir(path), ownerOnly)
}

// with opens existing books for one command.
func (d databaseFlag) with(ctx context.Context, f func(*store.Store) error) error {
	s, err := d.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

// moment is a time in a table.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
