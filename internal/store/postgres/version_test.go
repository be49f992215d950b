package postgres_test

import (
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // goose's driver
	"github.com/pressly/goose/v3"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// A store of the version before corporate actions changed holdings is brought up to date.
func TestVersion12(t *testing.T) {
	t.Parallel()
	testVersion(t, 12, storetest.TestVersion12)
}

// A store of the version before a reward's row kept its status until the end is brought up to date.
func TestVersion20(t *testing.T) {
	t.Parallel()
	testVersion(t, 20, storetest.TestVersion20)
}

// A store of the version before members had places is brought up to date.
func TestVersion21(t *testing.T) {
	t.Parallel()
	testVersion(t, 21, storetest.TestVersion22)
}

func testVersion(
	t *testing.T, version int64, test func(*testing.T, func(query string, args ...any), func() store.Engine),
) {
	t.Helper()
	url, err := cluster(t).NewDatabase(t.Context())
	check(t, err)
	db, err := sql.Open("pgx", url)
	check(t, err)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("migrations"))
	check(t, err)
	_, err = provider.UpTo(t.Context(), version)
	check(t, err)
	test(t, func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), strings.ReplaceAll(query, "?", "$"), args...)
		check(t, err)
	}, func() store.Engine {
		t.Helper()
		return open(t, url, postgres.Options{})
	})
	check(t, db.Close())
}

// A database may have settings that change the form of values. They do not matter, except behind PgBouncer, where it is refused.
func TestSettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	url, err := cluster(t).NewDatabase(t.Context())
	check(t, err)
	db, err := sql.Open("pgx", url)
	check(t, err)
	_, err = db.ExecContext(t.Context(), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET bytea_output = escape', current_database());
		EXECUTE format('ALTER DATABASE %I SET datestyle = German', current_database());
		EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database()); END $$`)
	check(t, errors.Join(err, db.Close()))
	open(t, url, postgres.Options{}) // runs every migration
	_, err = postgres.Open(t.Context(), url, postgres.Options{Pooled: true})
	if err == nil || !strings.Contains(err.Error(), "bytea_output is escape; set it to hex for the database") {
		t.Errorf("behind PgBouncer: %v", err)
	}
	exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET bytea_output = hex', current_database());
		EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = on', current_database()); END $$`)
	if now, err := open(t, url, postgres.Options{Pooled: true}).Clock(t.Context()); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("the clock, where dates are German: %s, %v", now, err)
	}
}
