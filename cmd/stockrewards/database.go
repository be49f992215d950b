package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"stockrewards/internal/server"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

type databaseFlag struct {
	Database          string `group:"Database" required:"" placeholder:"URL" help:"Use this database: sqlite:PATH, such as sqlite:rewards.db, or postgres://USER@HOST/NAME. Keep a password in PGPASSWORD or a passfile."`
	Pgbouncer         bool   `group:"Database" name:"pgbouncer" help:"Connect through PgBouncer, in any pool mode."`
	plainPostgresFlag `group:"Database"`
}

func (d databaseFlag) database() (server.Database, error) {
	if isPostgres(d.Database) {
		return server.Database{Postgres: d.Database, PgBouncer: d.Pgbouncer}, d.checkPostgres(d.Database)
	}
	path, err := sqlitePath("--database", d.Database, "sqlite:PATH or postgres://USER@HOST/NAME")
	if err == nil && filepath.Clean(path) == sqlite.Memory {
		err = usageErrorf("--database %q: a database in memory is lost when the command ends; name a file", d.Database)
	}
	return server.Database{SQLite: path, Waiting: sayWaiting}, err
}

// sayWaiting says why a command does not end yet.
func sayWaiting() {
	fsayf(os.Stderr, "stockrewards: waiting for another process, which updates the schema of the database\n")
}

// open opens the store; create also creates or migrates its schema.
func (d databaseFlag) open(ctx context.Context, create bool) (*store.Store, error) {
	database, err := d.database()
	if err != nil {
		return nil, err
	}
	s, err := database.Open(ctx, create)
	if !create && interrupted(ctx, err) {
		return nil, errNotOpened
	}
	return s, err
}

func (d databaseFlag) with(ctx context.Context, f func(*store.Store) error) error {
	s, err := d.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

type listFlags struct {
	databaseFlag
	Limit int `default:"50" placeholder:"N" help:"Set the maximum number of items to list (default: 50)."`
}

func (l listFlags) list(ctx context.Context, f func(*store.Store) error) error {
	if l.Limit < 1 {
		return usageErrorf("--limit must be at least 1")
	}
	return l.with(ctx, f)
}

// moment formats a time for a table; "-" is the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// isPostgres reports whether a database is given by a URL of PostgreSQL.
func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// sqlitePath returns the path in sqlite:PATH; must is the form that the flag requires.
func sqlitePath(flag, database, must string) (string, error) {
	path, found := strings.CutPrefix(database, "sqlite:")
	refuse := func(why string) (string, error) {
		return "", usageErrorf("%s %q: %s", flag, withoutPassword(database), why)
	}
	switch {
	case !found || path == "":
		return refuse("must be " + must)
	case strings.ContainsFunc(path, unicode.IsControl):
		return refuse("must have no control character; a settings file with the line ends of Windows (CR LF) adds one")
	case strings.HasPrefix(path, "~"):
		return refuse("the shell did not replace ~: write $HOME (or sqlite:./~ when the name begins with it)")
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return refuse("must be sqlite:PATH, without //: sqlite:/folder/rewards.db, or sqlite:rewards.db in this folder")
	}
	return path, nil
}
