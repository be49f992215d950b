package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

// What a transaction of some size adds to the settings: more than the connection keeps
// in memory, so that SQLite writes parts of it before the commit.
const (
	largeRows = 300
	largeRow  = 100_000
)

func addLarge(ctx context.Context, tx store.Tx, name string) error {
	for i := range largeRows {
		_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, ?2)`,
			fmt.Sprint(name, i), strings.Repeat(fmt.Sprint(i%10), largeRow))
		if err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is the size of the values of a name, read from end to end.
func sizeOf(ctx context.Context, tx store.Tx, name string) (size int, err error) {
	err = tx.Query(ctx, func(row store.Row) error {
		var value string
		err := row.Scan(&value)
		size += len(value)
		return err
	}, `SELECT value FROM settings WHERE name LIKE ?1`, name+"%")
	return size, err
}

// What was committed is in the files when Write returns, whatever else the log was
// written with; a transaction reads what it wrote, also from the log.
func TestCommitsAreInTheFiles(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), file(t)
	e := opener(func(*testing.T) string { return path }, 0)(t)
	undone := errors.New("undone")
	err := e.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := addLarge(ctx, tx, "undone"); err != nil {
			return err
		}
		if size, err := sizeOf(ctx, tx, "undone"); err != nil || size != largeRows*largeRow {
			t.Errorf("%d bytes in the transaction, %v", size, err)
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if err := e.Write(ctx, func(ctx context.Context, tx store.Tx) error { return addLarge(ctx, tx, "large") }); err != nil {
		t.Fatal(err)
	}
	write(t, e, `INSERT INTO settings (name, value) VALUES ('small', 'x')`)
	folder := t.TempDir()
	for _, name := range []string{path, path + "-wal"} { // as after a crash
		if out, err := exec.CommandContext(ctx, "cp", name, filepath.Join(folder, filepath.Base(name))).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	copied, err := sqlite.Open(ctx, filepath.Join(folder, filepath.Base(path)), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	for name, want := range map[string]int{"undone": 0, "large": largeRows * largeRow, "small": 1} {
		for where, engine := range map[string]store.Engine{"the files": copied, "the engine": e} {
			err := engine.Read(ctx, func(ctx context.Context, tx store.Tx) error {
				size, err := sizeOf(ctx, tx, name)
				if size != want {
					t.Errorf("%s has %d bytes of %s, want %d", where, size, name, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var verdict string
	read(t, copied, func(row store.Row) error { return row.Scan(&verdict) }, `PRAGMA integrity_check(1)`)
	if verdict != "ok" {
		t.Error(verdict)
	}
}
