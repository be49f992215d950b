package prove_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/prove"
	"stockrewards/internal/store/sqlite"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newBooks makes books, with a history or without rewards.
func newBooks(t *testing.T, history bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "books.db")
	engine, err := sqlite.Open(t.Context(), path, sqlite.Options{Connections: 2})
	check(t, err)
	w := prove.NewWorld(t.Context(), engine)
	if history {
		w.History()
	}
	check(t, w.Close())
	return path
}

func look(ctx context.Context, q audit.Queryer) (audit.Report, error) {
	return audit.Run(ctx, q, audit.Options{})
}

// TestAllIsFound: in books with everything, and in books without rewards; the books
// are as they were and nothing is left behind.
//
//nolint:paralleltest // it sets TMPDIR
func TestAllIsFound(t *testing.T) {
	for _, history := range []bool{true, false} {
		path := newBooks(t, history)
		before, err := os.ReadFile(path)
		check(t, err)
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		r, err := prove.Run(t.Context(), path, look, func(string) {})
		check(t, err)
		wantAllFound(t, r, history)
		after, err := os.ReadFile(path)
		check(t, err)
		left, err := os.ReadDir(temporary)
		check(t, err)
		if !bytes.Equal(before, after) || len(left) > 0 {
			t.Errorf("the books have changed, or there is left: %v", left)
		}
	}
}

// wantAllFound: all 43 kinds, and nearly all of them in the copy of a history.
func wantAllFound(t *testing.T, r prove.Result, history bool) {
	t.Helper()
	if !r.OK() || r.Found() != len(r.Kinds) || len(r.Kinds) != 43 {
		t.Errorf("%d of %d kinds were found", r.Found(), len(r.Kinds))
	}
	planted := 0
	for _, k := range r.Kinds {
		if k.Planted != "" {
			planted++
		}
		if k.Where == "" || k.Next == "" || k.BuiltIn == 0 {
			t.Errorf("%+v", k)
		}
	}
	if least := 42; history && planted < least {
		t.Errorf("%d kinds were planted in the copy, want %d", planted, least)
	}
}

// without is an audit that overlooks one kind.
func without(off string) prove.Audit {
	return func(ctx context.Context, q audit.Queryer) (audit.Report, error) {
		r, err := look(ctx, q)
		for i := range r.Checks {
			if r.Checks[i].Name == off {
				r.Checks[i].Violated, r.Checks[i].Violations = 0, nil
			}
		}
		return r, err
	}
}

// wantOneNotFound: all kinds but one.
func wantOneNotFound(t *testing.T, r prove.Result, off string) {
	t.Helper()
	if r.OK() || r.Found() != len(r.Kinds)-1 {
		t.Errorf("without %s %d of %d kinds were found", off, r.Found(), len(r.Kinds))
	}
	for _, k := range r.Kinds {
		if k.Check == off && (k.Found || len(k.NotFound) == 0) {
			t.Errorf("%+v", k)
		}
	}
}

// TestACheckThatIsOff: an audit that overlooks one kind is told, whichever it is.
func TestACheckThatIsOff(t *testing.T) {
	t.Parallel()
	path := newBooks(t, false)
	for _, off := range []string{"ids", "holding_sum", "child_after_parent", "user_unique"} {
		r, err := prove.Run(t.Context(), path, without(off), func(string) {})
		check(t, err)
		wantOneNotFound(t, r, off)
	}
}

// TestInterrupted: what was made is removed, and what was done is told.
func TestInterrupted(t *testing.T) {
	temporary := t.TempDir()
	path := newBooks(t, true)
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := prove.Run(ctx, path, look, func(step string) {
		if strings.HasPrefix(step, "kind 4 ") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(r.Kinds) != 3 || r.OK() {
		t.Errorf("%d kinds, error %v", len(r.Kinds), err)
	}
	left, err := os.ReadDir(temporary)
	check(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBooksThatDoNotHold: their own damage is told, and the proof does not pass.
func TestBooksThatDoNotHold(t *testing.T) {
	t.Parallel()
	broken := func(ctx context.Context, q audit.Queryer) (audit.Report, error) {
		r, err := look(ctx, q)
		r.Checks[0].Violated++
		return r, err
	}
	r, err := prove.Run(t.Context(), newBooks(t, false), broken, func(string) {})
	check(t, err)
	if r.Clean || r.OK() {
		t.Errorf("%+v", r)
	}
}
