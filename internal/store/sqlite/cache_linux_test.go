package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

// However much was written before, what is read again and again comes from memory.
func TestReadersKeepTheirPages(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // its system calls are counted
	defer runtime.UnlockOSThread()
	e, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pages.db"), sqlite.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	exec := func(query string, args ...any) {
		t.Helper()
		check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		}))
	}
	const write = `INSERT INTO pages (content) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
		SELECT zeroblob(3000) FROM n`
	const pages = 1500
	readAll := func() (calls int) {
		before := readCalls(t)
		for id := range pages {
			check(t, e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
				return tx.Query(ctx, func(store.Row) error { return nil }, `SELECT length(content) FROM pages WHERE id = ?1`, id+1)
			}))
		}
		return readCalls(t) - before
	}
	exec(`CREATE TABLE pages (id INTEGER PRIMARY KEY, content BLOB NOT NULL)`)
	for range 4 {
		exec(write, 5000) // far more than the writer's cache
		for range 3 {     // by each reader
			readAll()
		}
	}
	calls := 0
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); { // until the caches were emptied
		exec(write, 1)
		for range 3 {
			calls = readAll()
		}
		if calls < pages/10 {
			return
		}
	}
	t.Errorf("reading %d pages again took %d calls of the system", pages, calls)
}

// readCalls is how many times this thread has read from a file.
func readCalls(t *testing.T) (calls int) {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/io")
	check(t, err)
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "syscr: %d", &calls); err == nil {
			return calls
		}
	}
	t.Fatalf("no system calls in %s", text)
	return 0
}
