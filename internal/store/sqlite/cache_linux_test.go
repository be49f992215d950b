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

// However much the writer wrote or read before, what is read again and again comes from memory.
func TestReadersKeepTheirPages(t *testing.T) {
	t.Parallel()
	if ranAlone(t) {
		return
	}
	runtime.LockOSThread() // its system calls are counted
	defer runtime.UnlockOSThread()
	e, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pages.db"), sqlite.Options{Sole: true})
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	exec := func(query string, args ...any) {
		t.Helper()
		check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		}))
	}
	const insert = `INSERT INTO pages (content) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
		SELECT zeroblob(3000) FROM n`
	const pages, many = 1500, 5000 // many are far more than the writer's cache
	readAll := func() (calls int) {
		before := readCalls(t)
		for id := range pages {
			check(t, e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error { return lengths(ctx, tx, id+1, 1) }))
		}
		return readCalls(t) - before
	}
	exec(`CREATE TABLE pages (id INTEGER PRIMARY KEY, content BLOB NOT NULL)`)
	for _, writer := range []struct {
		does       string
		much, some func()
	}{
		{"writing", func() { exec(insert, many) }, func() { exec(insert, 1) }},
		{"reading", func() { readWriting(t, e, many) }, func() { readWriting(t, e, 1) }},
	} {
		for range 4 {
			writer.much()
			for range 3 { // by each reader
				readAll()
			}
		}
		calls := pages
		for deadline := time.Now().Add(20 * time.Second); calls >= pages/10; { // until the caches were emptied
			if time.Now().After(deadline) {
				t.Fatalf("after much %s, reading %d pages again took %d calls of the system", writer.does, pages, calls)
			}
			writer.some()
			for range 3 {
				calls = readAll()
			}
		}
	}
}

// readWriting reads the last pages in many transactions that could write, as repeated requests do.
func readWriting(t *testing.T, e *sqlite.Engine, pages int) {
	t.Helper()
	const inOne = 50
	for from := 1; from <= pages; from += inOne {
		check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return lengths(ctx, tx, 10_000+from, min(inOne, pages))
		}))
	}
}

// lengths reads a number of rows, each on another page.
func lengths(ctx context.Context, tx store.Tx, from, number int) error {
	return tx.Query(ctx, func(store.Row) error { return nil },
		`SELECT length(content) FROM pages WHERE id >= ?1 AND id < ?1 + ?2`, from, number)
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
