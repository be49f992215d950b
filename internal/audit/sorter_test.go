package audit_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
)

// TestSortedInFiles: an audit that keeps next to nothing in memory tells the same.
func TestSortedInFiles(t *testing.T) {
	temporary := t.TempDir()
	w := audittest.History(t, audittest.NewFile)
	damaged := w.Copy(t)
	damaged.Exec(`UPDATE rewards SET id = x'00ff00' WHERE id = @ann-aapl`)
	t.Setenv("TMPDIR", temporary)
	for _, where := range []string{w.Where, damaged.Where} {
		books, err := audit.OpenSQLite(t.Context(), where)
		check(t, err)
		r, err := audit.Run(t.Context(), books, audit.Options{SortBytes: 1})
		check(t, errors.Join(err, books.Close()))
		if want := text(t, run(t, where)); text(t, r) != want {
			t.Errorf("sorted in files it tells\n%s\nwant\n%s", text(t, r), want)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestEndedEarly: what was found until then is in the report.
func TestEndedEarly(t *testing.T) {
	t.Parallel()
	c := audittest.History(t, audittest.NewFile).Copy(t)
	c.Exec(`UPDATE keys SET hash = x'01' WHERE id = @first-key`)
	books, err := audit.OpenSQLite(t.Context(), c.Where)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := audit.Run(ctx, books, audit.Options{Progress: func(what string, _ int64) {
		if what == "orders" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.OK() {
		t.Errorf("error %v, %+v", err, r)
	}
	check(t, books.Close())
}
