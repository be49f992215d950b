package audit_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/reader"
)

// TestSortedInFiles compares an audit that sorts in files with one that sorts in memory.
func TestSortedInFiles(t *testing.T) {
	temporary := t.TempDir()
	w := audittest.History(t, audittest.NewFile)
	damaged := w.Copy(t)
	damaged.Exec(`UPDATE rewards SET id = x'00ff00' WHERE id = @ann-aapl`)
	t.Setenv("TMPDIR", temporary)
	for _, where := range []string{w.Where, damaged.Where} {
		store, err := reader.OpenSQLite(t.Context(), where)
		check(t, err)
		r, err := audit.Run(t.Context(), store, audit.Options{SortBytes: 1})
		check(t, errors.Join(err, store.Close()))
		if want := text(t, run(t, where)); text(t, r) != want {
			t.Errorf("sorted in files:\n%s\nwant:\n%s", text(t, r), want)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestCanceledReport keeps what an audit found before it was canceled.
func TestCanceledReport(t *testing.T) {
	t.Parallel()
	c := audittest.History(t, audittest.NewFile).Copy(t)
	c.Exec(`UPDATE keys SET hash = x'01' WHERE id = @first-key`)
	store, err := reader.OpenSQLite(t.Context(), c.Where)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := audit.Run(ctx, store, audit.Options{Progress: func(what string, _ int64) {
		if what == "orders" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.OK() {
		t.Errorf("error %v, %+v", err, r)
	}
	check(t, store.Close())
}
