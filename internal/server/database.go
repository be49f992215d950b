package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/sqlite"
)

// Database locates a store. Either SQLite or Postgres is set.
type Database struct {
	SQLite    string // the file's path
	Postgres  string // a URL
	PgBouncer bool   // the URL is PgBouncer's, in transaction mode

	// Waiting is called once when Open waits for long, because another process updates the schema of SQLite. It may be
	// nil. A Server sets it.
	Waiting func()
}

// Open opens the store. With create it also creates or migrates the schema; without, a
// missing store and one with an older schema are errors.
func (d Database) Open(ctx context.Context, create bool) (*store.Store, error) {
	if d.Postgres != "" {
		s, _, err := d.openPostgres(ctx, create)
		return s, err
	}
	return d.openSQLite(ctx, create, false)
}

// Backup copies the database to a new file, even while an older version of this program serves it. It reports whether
// the copy has an older schema.
func (d Database) Backup(ctx context.Context, path string) (older bool, err error) {
	if d.Postgres != "" {
		return false, postgres.ErrBackup
	}
	if err := d.checkFile(); err != nil {
		return false, err
	}
	engine, err := sqlite.Open(ctx, d.SQLite, sqlite.Options{OlderSchema: true, Waiting: d.Waiting})
	if err != nil {
		return false, err
	}
	err = engine.Backup(ctx, path)
	return engine.OlderSchema(), errors.Join(err, engine.Close())
}

// checkFile fails when there is no database.
func (d Database) checkFile() error {
	file, err := os.Stat(d.SQLite)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("cannot open the database %s: there is no such file", d.SQLite)
	case err == nil && file.Size() == 0:
		return fmt.Errorf("cannot open the database %s: the file is empty", d.SQLite)
	}
	return nil // Open says what else is wrong
}

// openSQLite opens the store in an SQLite file. sole promises that no other process serves it.
func (d Database) openSQLite(ctx context.Context, create, sole bool) (*store.Store, error) {
	if create {
		if _, err := os.Stat(d.SQLite); errors.Is(err, os.ErrNotExist) {
			if err := MakeFolder(d.SQLite); err != nil {
				return nil, err
			}
		}
	} else if err := d.checkFile(); err != nil {
		return nil, err
	}
	engine, err := sqlite.Open(ctx, d.SQLite, sqlite.Options{KeepSchema: !create, Sole: sole, Waiting: d.Waiting})
	if err != nil {
		return nil, err
	}
	return newStore(ctx, engine)
}

func (d Database) openPostgres(ctx context.Context, create bool) (*store.Store, *postgres.Engine, error) {
	engine, err := postgres.Open(ctx, d.Postgres, postgres.Options{Pooled: d.PgBouncer, KeepSchema: !create})
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

// MakeFolder creates the folder of a database file, accessible to its owner only.
func MakeFolder(path string) error {
	const ownerOnly = 0o700
	return os.MkdirAll(filepath.Dir(path), ownerOnly)
}

// openStore opens the store that s serves. One process owns an SQLite file; several
// share a PostgreSQL database.
func (s *Server) openStore(ctx context.Context) (err error) {
	d := s.cfg.Database
	if d.Postgres == "" {
		return s.openFile(ctx, d)
	}
	if s.Store, s.fleet, err = d.openPostgres(ctx, true); err != nil {
		return err
	}
	s.onClose(s.Store.Close)
	if err := s.fleet.CheckAccess(ctx); err != nil {
		return err
	}
	weakness, err := s.fleet.Weakness(ctx)
	if weakness != "" {
		s.log.WarnContext(ctx, "the database is weaker than it should be", slog.String("reason", weakness))
	}
	return err
}

// openFile locks an SQLite file for this process and opens it.
func (s *Server) openFile(ctx context.Context, d Database) error {
	if err := MakeFolder(d.SQLite); err != nil {
		return err
	}
	unlock, err := sqlite.Lock(d.SQLite)
	if err != nil {
		return err
	}
	s.onClose(unlock)
	d.Waiting = func() { s.log.WarnContext(ctx, "waiting for another process, which updates the database's schema") }
	if s.Store, err = d.openSQLite(ctx, true, true); err != nil {
		return err
	}
	s.onClose(s.Store.Close)
	return nil
}
