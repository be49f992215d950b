package audit_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/audit"
	"stockrewards/internal/prove"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
)

// place says where new books are made: the path of a file, or the URL of a database.
type place func(*testing.T) string

func newFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "books.db")
}

var databases atomic.Int64

// newDatabase starts a cluster, in which every place is a database of its own.
func newDatabase(t *testing.T) place {
	t.Helper()
	c := pgtest.Start(t, "synchronous_commit=off")
	return func(t *testing.T) string {
		t.Helper()
		return createDatabase(t, c)
	}
}

// createDatabase makes a database with a name of its own.
func createDatabase(tb testing.TB, c *pgtest.Cluster) string {
	tb.Helper()
	name := fmt.Sprint("books", databases.Add(1))
	onDatabase(tb, c.URL("postgres"), "CREATE DATABASE "+name)
	return c.URL(name)
}

// onEngines runs a test over books in SQLite and in PostgreSQL.
func onEngines(t *testing.T, test func(*testing.T, place)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newFile)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newDatabase(t))
	})
}

func onPostgres(where string) bool { return strings.HasPrefix(where, "postgres://") }

// openEngine opens the engine that the real store works on.
func openEngine(t *testing.T, where string) store.Engine {
	t.Helper()
	if onPostgres(where) {
		engine, err := postgres.Open(t.Context(), where, postgres.Options{Connections: 2})
		check(t, err)
		return engine
	}
	engine, err := sqlite.Open(t.Context(), where, sqlite.Options{Connections: 2})
	check(t, err)
	return engine
}

// books are books that are audited.
type books interface {
	audit.Queryer
	Close() error
}

func openBooks(ctx context.Context, where string) (books, error) {
	if onPostgres(where) {
		return audit.OpenPostgres(ctx, where)
	}
	return audit.OpenSQLite(ctx, where)
}

// onBooks runs statements and tells how many rows the last one touched.
func onBooks(t *testing.T, where string, statements ...string) int64 {
	t.Helper()
	if onPostgres(where) {
		return onDatabase(t, where, statements...)
	}
	return onFile(t, where, statements...)
}

func onFile(t *testing.T, path string, statements ...string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check(t, err)
	var n int64
	for _, statement := range statements {
		result, err := db.ExecContext(context.WithoutCancel(t.Context()), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		n, err = result.RowsAffected()
		check(t, err)
	}
	check(t, db.Close())
	return n
}

func onDatabase(tb testing.TB, url string, statements ...string) int64 {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	conn, err := pgx.Connect(ctx, url)
	check(tb, err)
	var n int64
	for _, statement := range statements {
		results, err := conn.PgConn().Exec(ctx, prove.InPostgres(statement)).ReadAll()
		if err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
		n = results[len(results)-1].CommandTag.RowsAffected()
	}
	check(tb, conn.Close(ctx))
	return n
}
