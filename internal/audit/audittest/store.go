package audittest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
)

// Check ends the test when err is not nil.
func Check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// shared is the PostgreSQL cluster that the tests of a package share.
var shared struct {
	once    sync.Once
	cluster *pgtest.Cluster // nil until a test needs it
	err     error
}

// Main runs a package's tests and stops their cluster.
func Main(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil && shared.cluster.Close() != nil {
		code = 1
	}
	os.Exit(code)
}

// Place makes room for a new store: the path of a file, or the URL of a database.
type Place func(testing.TB) string

// NewFile returns the path of a new SQLite file.
func NewFile(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "store.db")
}

// NewDatabase returns the URL of a new database in the package's cluster, until the test ends.
func NewDatabase(tb testing.TB) string {
	tb.Helper()
	c := Cluster(tb)
	url, err := c.NewDatabase(tb.Context())
	Check(tb, err)
	tb.Cleanup(func() { Check(tb, c.Drop(url)) })
	return url
}

// Cluster returns the cluster that the tests of the package share.
func Cluster(tb testing.TB) *pgtest.Cluster {
	tb.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = pgtest.New("synchronous_commit=off") })
	Check(tb, shared.err)
	return shared.cluster
}

// OnEngines runs a test over SQLite and over PostgreSQL.
func OnEngines(t *testing.T, test func(*testing.T, Place)) {
	t.Helper()
	for name, in := range map[string]Place{"sqlite": NewFile, "postgres": NewDatabase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, in)
		})
	}
}

// OnPostgres reports whether where is a database's URL.
func OnPostgres(where string) bool { return strings.HasPrefix(where, "postgres://") }

// OpenEngine opens the engine of package store.
func OpenEngine(tb testing.TB, where string) store.Engine {
	tb.Helper()
	if OnPostgres(where) {
		engine, err := postgres.Open(tb.Context(), where, postgres.Options{Connections: 2})
		Check(tb, err)
		return engine
	}
	engine, err := sqlite.Open(tb.Context(), where, sqlite.Options{Connections: 2})
	Check(tb, err)
	return engine
}

// Open opens a store for an audit.
func Open(ctx context.Context, where string) (reader.Store, error) {
	if OnPostgres(where) {
		return reader.OpenPostgres(ctx, where)
	}
	return reader.OpenSQLite(ctx, where)
}

// SQL opens a store for plain SQL, on one connection, until the test ends.
func SQL(tb testing.TB, where string) *sql.DB {
	tb.Helper()
	driver := "sqlite"
	if OnPostgres(where) {
		driver = "pgx"
	}
	db, err := sql.Open(driver, where)
	Check(tb, err)
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { Check(tb, db.Close()) })
	return db
}

// Exec runs statements and returns how many rows the last one changed.
func Exec(tb testing.TB, db *sql.DB, statements ...string) (rows int64) {
	tb.Helper()
	for _, statement := range statements {
		result, err := db.ExecContext(context.WithoutCancel(tb.Context()), statement)
		if err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
		rows, err = result.RowsAffected()
		Check(tb, err)
	}
	return rows
}
