package sqlite_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// A store of the version before corporate actions changed holdings is brought up to date.
func TestVersion12(t *testing.T) {
	t.Parallel()
	testVersion(t, 12, storetest.TestVersion12)
}

// A store of the version before open rewards had a table is brought up to date.
func TestVersion20(t *testing.T) {
	t.Parallel()
	testVersion(t, 20, storetest.TestVersion20)
}

// A store of the version before members had places is brought up to date. Its rewards are not arrivals any more.
func TestVersion22(t *testing.T) {
	t.Parallel()
	testVersion(t, 22, func(t *testing.T, exec func(query string, args ...any), open func() store.Engine) {
		t.Helper()
		storetest.TestVersion22(t, exec, func() store.Engine {
			t.Helper()
			exec(`UPDATE arrivals_after SET (number, id) = (SELECT max(rowid), max(id) FROM rewards)`)
			return open()
		})
	})
}

func testVersion(
	t *testing.T, version int64, test func(*testing.T, func(query string, args ...any), func() store.Engine),
) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.db")
	db := atVersion(t, path, version)
	test(t, func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query, args...)
		check(t, err)
	}, func() store.Engine {
		t.Helper()
		e := openFile(t, path)
		var text string
		check(t, db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&text))
		if text != "ok" {
			t.Errorf("the store is damaged: %s", text)
		}
		return e
	})
	check(t, db.Close())
}

// atVersion makes a store of an older version.
func atVersion(t *testing.T, path string, version int64) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations"))
	check(t, err)
	_, err = provider.UpTo(t.Context(), version)
	check(t, err)
	return db
}

// The process that brings a store up to date goes by the changed rules of a table at once: it can
// store an order for which the house offers shares.
func TestVersion19(t *testing.T) {
	t.Parallel()
	const before = 19
	path := filepath.Join(t.TempDir(), "old.db")
	db := atVersion(t, path, before)
	_, err := db.ExecContext(t.Context(), `INSERT INTO assets (id, symbol, name) VALUES (1, 'AAPL', 'Apple')`)
	check(t, err)
	check(t, db.Close())
	write(t, openFile(t, path), `INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state)
		VALUES (zeroblob(16), 'offered', 1, 'AAPL', 1000000, -500000, zeroblob(32), 1)`)
}

// What grows with every reward has no foreign keys, and is sound without them. Other tables have theirs.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db := atVersion(t, path, 21)
	check(t, db.Close())
	e := openFile(t, path)
	with := map[string]bool{}
	check(t, e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error {
			var name string
			err := row.Scan(&name)
			with[name] = true
			return err
		}, `SELECT DISTINCT s.name FROM sqlite_schema s, pragma_foreign_key_list(s.name) WHERE s.type = 'table'`)
	}))
	for _, name := range []string{"rewards", "members", "past_members", "past_allocations", "holdings"} {
		if with[name] {
			t.Errorf("%s has a foreign key", name)
		}
	}
	for _, name := range []string{"users", "orders", "reversals", "webhook_endpoints"} {
		if !with[name] {
			t.Errorf("%s has no foreign key", name)
		}
	}
	write(t, e, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis, generation)
		VALUES (zeroblob(16), zeroblob(16), 1, 1, 1, 0)`)
}
