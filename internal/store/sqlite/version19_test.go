package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"stockrewards/internal/store/sqlite"
)

// The process that brings a store up to date goes by the changed rules of a table at once: it can
// store an order for which the house offers shares.
func TestVersion19(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	e, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	check(t, err)
	write(t, e, `INSERT INTO assets (id, symbol, name) VALUES (1, 'AAPL', 'Apple')`)
	check(t, e.Close())
	db, err := sql.Open("sqlite", path)
	check(t, err)
	db.SetMaxOpenConns(1)
	for _, back := range []string{
		`PRAGMA writable_schema = ON`,
		`UPDATE sqlite_schema SET sql = replace(replace(sql, 'house <= notional ', 'house >= 0 AND house <=notional '),
			'house_shares <= filled_qty ', 'house_shares BETWEEN 0 AND filled_qty ') WHERE name = 'orders'`,
		`PRAGMA writable_schema = OFF`,
		`DELETE FROM goose_db_version WHERE version_id = 20`,
	} {
		_, err = db.ExecContext(t.Context(), back)
		check(t, err)
	}
	check(t, db.Close())
	write(t, opener(func(*testing.T) string { return path }, 0)(t), `INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state)
		VALUES (zeroblob(16), 'offered', 1, 'AAPL', 1000000, -500000, zeroblob(32), 1)`)
}
