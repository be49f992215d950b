package sqlite_test

import (
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
	const before = 12
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", path)
	check(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations"))
	check(t, err)
	_, err = provider.UpTo(t.Context(), before)
	check(t, err)
	storetest.TestVersion12(t, func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query, args...)
		check(t, err)
	}, func() store.Engine {
		t.Helper()
		e := opener(func(*testing.T) string { return path }, 0)(t)
		var text string
		check(t, db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&text))
		if text != "ok" {
			t.Errorf("the store is damaged: %s", text)
		}
		return e
	})
	check(t, db.Close())
}
