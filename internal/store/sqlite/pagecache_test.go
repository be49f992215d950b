package sqlite_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

// inOwnProcess is set in the process that a test starts.
const inOwnProcess = "STOCKREWARDS_IN_OWN_PROCESS"

// ranAlone runs a test about cached pages in its own process, and reports there that it has not. The memory for the
// pages is reserved once for a process, before its first database, and all databases of a process share it.
func ranAlone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inOwnProcess) != "" {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), inOwnProcess+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return true
}

// However many pages the connections of a service cache, none is allocated by itself.
func TestCachedPagesHaveReservedMemory(t *testing.T) {
	t.Parallel()
	if ranAlone(t) {
		return
	}
	e, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pages.db"), sqlite.Options{Sole: true})
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	const pages, cached = 5000, 1900
	check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE pages (id INTEGER PRIMARY KEY, content BLOB NOT NULL)`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO pages (content) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
			WHERE i < ?1) SELECT zeroblob(3000) FROM n`, pages)
		return err
	}))
	check(t, e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error { return lengths(ctx, tx, 1, pages) }))
	if used := highest(t, lib.SQLITE_STATUS_PAGECACHE_USED); used < cached {
		t.Errorf("at most %d cached pages were in the reserved memory, want %d", used, cached)
	}
	if bytes := highest(t, lib.SQLITE_STATUS_PAGECACHE_OVERFLOW); bytes > 0 {
		t.Errorf("%d bytes of cached pages were outside of the reserved memory", bytes)
	}
}

// highest is the highest value so far of a figure of SQLite's library.
func highest(t *testing.T, figure int32) int32 {
	t.Helper()
	tls := libc.NewTLS()
	defer tls.Close()
	figures := libc.Xcalloc(tls, 2, 8)
	defer libc.Xfree(tls, figures)
	if code := lib.Xsqlite3_status(tls, figure, figures, figures+8, 0); code != lib.SQLITE_OK {
		t.Fatalf("sqlite3_status: %d", code)
	}
	return libc.AtomicLoadPInt32(figures + 8)
}
