package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/store"
)

// A transaction of this size exceeds the connection's cache, so that SQLite writes a part of it
// to the log before the commit.
const (
	largeRows = 300
	largeRow  = 100_000
)

func addLarge(ctx context.Context, tx store.Tx, name string, rows int) error {
	for i := range rows {
		_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, ?2)`,
			fmt.Sprint(name, i), strings.Repeat(fmt.Sprint(i%10), largeRow))
		if err != nil {
			return err
		}
	}
	return nil
}

// rollBackLarge writes a large transaction, calls last in it, and rolls it back.
func rollBackLarge(t *testing.T, e store.Engine, rows int, last func(context.Context, store.Tx)) {
	t.Helper()
	undone := errors.New("undone")
	err := e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if err := addLarge(ctx, tx, "undone", rows); err != nil {
			return err
		}
		last(ctx, tx)
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
}

// sizeOf sums the sizes of the values whose names have a prefix.
func sizeOf(ctx context.Context, tx store.Tx, prefix string) (size int, err error) {
	err = tx.Query(ctx, func(row store.Row) error {
		var value string
		err := row.Scan(&value)
		size += len(value)
		return err
	}, `SELECT value FROM settings WHERE name LIKE ?1`, prefix+"%")
	return size, err
}

// recovered opens a copy of the files of a database in use, as the next start would after a crash.
func recovered(t *testing.T, path string) store.Engine {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{path, path + "-wal"} {
		content, err := os.ReadFile(name)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(folder, filepath.Base(name)), content, 0o600))
	}
	return openFile(t, filepath.Join(folder, filepath.Base(path)))
}

func checkSizes(t *testing.T, e store.Engine, where string, want map[string]int) {
	t.Helper()
	err := e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for prefix, bytes := range want {
			size, err := sizeOf(ctx, tx, prefix)
			if err != nil {
				return err
			}
			if size != bytes {
				t.Errorf("%s: %d bytes of %s, want %d", where, size, prefix, bytes)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	var verdict string
	read(t, e, func(row store.Row) error { return row.Scan(&verdict) }, `PRAGMA integrity_check(1)`)
	if verdict != "ok" {
		t.Errorf("%s: %s", where, verdict)
	}
}

// A commit is in the files when Write returns, even after a transaction that outgrew the cache was
// rolled back. A transaction reads its own writes, even from the log.
func TestCommitsAreInTheFiles(t *testing.T) {
	t.Parallel()
	path := file(t)
	e := openFile(t, path)
	rollBackLarge(t, e, largeRows, func(ctx context.Context, tx store.Tx) {
		if size, err := sizeOf(ctx, tx, "undone"); err != nil || size != largeRows*largeRow {
			t.Errorf("%d bytes in the transaction, %v", size, err)
		}
	})
	check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return addLarge(ctx, tx, "large", largeRows) }))
	write(t, e, `INSERT INTO settings (name, value) VALUES ('small', 'x')`)
	want := map[string]int{"undone": 0, "large": largeRows * largeRow, "small": 1}
	checkSizes(t, recovered(t, path), "the files", want)
	checkSizes(t, e, "the engine", want)
}

// After a rollback of a transaction that outgrew the cache, later writes of the connection do not
// overwrite the commits of another process. The transactions are a little smaller or larger than
// the cache, so that their early writes are where the other process writes next.
func TestARolledBackTransactionHarmsNoOtherProcess(t *testing.T) {
	t.Parallel()
	path := file(t)
	first := openFile(t, path)
	second := openFile(t, path)
	const rounds, smallest, step, commits = 6, 130, 8, 80
	for round := range rounds {
		rollBackLarge(t, first, smallest+step*round, func(context.Context, store.Tx) {})
		for i := range commits {
			write(t, second, fmt.Sprintf(`INSERT INTO settings (name, value) VALUES ('second %d %d', 'x')`, round, i))
		}
		write(t, first, fmt.Sprintf(`INSERT INTO settings (name, value) VALUES ('first %d', 'x')`, round))
		want := map[string]int{"undone": 0, "first": round + 1, "second": (round + 1) * commits}
		checkSizes(t, recovered(t, path), "the files", want)
		checkSizes(t, first, "the first engine", want)
		checkSizes(t, second, "the second engine", want)
	}
}
