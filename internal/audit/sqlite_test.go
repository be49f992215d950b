package audit_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/store/sqlite"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "file.db")
		check(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	versions := func(statements ...string) string {
		path := filepath.Join(t.TempDir(), "file.db")
		engine, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		check(t, err)
		check(t, engine.Close())
		audittest.Exec(t, audittest.Open(t, path), statements...)
		return path
	}
	for _, test := range []struct {
		name, path, says string
		is               error
	}{
		{"no file", filepath.Join(t.TempDir(), "none.db"), "no such file", fs.ErrNotExist},
		{"no database", file(strings.Repeat("words ", 1000)), "not a database", nil},
		{"an empty file", file(""), "no schema of ours", audit.ErrSchema},
		{"a newer version", versions(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, 1)`), "version 9000", audit.ErrSchema},
		{"no version", versions(`DELETE FROM goose_db_version`), "version 0", audit.ErrSchema},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			books, err := audit.OpenSQLite(t.Context(), test.path)
			if err == nil {
				check(t, books.Close())
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), test.says) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %q, want one that says %q", err, test.says)
			}
			if _, err := os.Stat(test.path); errors.Is(test.is, fs.ErrNotExist) && err == nil {
				t.Error("it made the file")
			}
		})
	}
}

// TestAtRest audits a closed file with a difficult name, and leaves it as it was.
func TestAtRest(t *testing.T) {
	t.Parallel()
	w := audittest.History(t, audittest.NewFile)
	path := filepath.Join(t.TempDir(), "a b?c#d%41.db")
	audittest.Exec(t, audittest.Open(t, w.Where), `VACUUM INTO '`+path+`'`)
	name := "file:" + url.PathEscape(path)
	audittest.Exec(t, audittest.Open(t, name), `PRAGMA journal_mode = WAL`)
	before, err := os.ReadFile(path)
	check(t, err)
	if r := run(t, path); !r.OK() {
		t.Errorf("a copy does not pass:\n%s", text(t, r))
	}
	after, err := os.ReadFile(path)
	check(t, err)
	if sha256.Sum256(before) != sha256.Sum256(after) {
		t.Error("the file has changed")
	}
}

// TestSnapshot audits what stood when the file was opened, not what came after.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.History(t, in)
		want := run(t, w.Where)
		books, err := open(t.Context(), w.Where)
		check(t, err)
		app := w.App("third")
		u := w.User(app, "eve", "eve@example.com", "")
		w.Give("eve-aapl", u, "AAPL", 5*dollar, "", "")
		w.Fill("later", "AAPL", 200*audittest.PerUSD)
		got, err := audit.Run(t.Context(), books, audit.Options{})
		check(t, err)
		check(t, books.Close())
		if text(t, got) != text(t, want) {
			t.Errorf("the report is of a later state:\n%s", text(t, got))
		}
		if r := run(t, w.Where); !r.OK() || text(t, r) == text(t, want) {
			t.Errorf("an audit afterwards does not see what came:\n%s", text(t, r))
		}
	})
}

func TestCannotWrite(t *testing.T) {
	t.Parallel()
	books, err := audit.OpenSQLite(t.Context(), audittest.History(t, audittest.NewFile).Where)
	check(t, err)
	rows, err := books.Query(t.Context(), `DELETE FROM rewards RETURNING id`)
	if err == nil {
		rows.Next()
		err = errors.Join(rows.Err(), rows.Close())
	}
	if err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("error %v, want the database to be read only", err)
	}
	check(t, books.Close())
}

// TestWhileWriting audits again and again while rewards are recorded and bought.
func TestWhileWriting(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.History(t, in)
		u := w.User(w.App("third"), "eve", "eve@example.com", "")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				var books books
				if books, err = open(t.Context(), w.Where); err != nil {
					break
				}
				var r audit.Report
				r, err = audit.Run(t.Context(), books, audit.Options{})
				if err = errors.Join(err, books.Close()); err == nil && !r.OK() {
					err = errors.New("violations while the books are written to")
				}
			}
			done <- err
		}()
		for _, name := range strings.Fields("a b c d e f g h i j k l m n o p") {
			w.Give("eve-"+name, u, "AAPL", 5_000_001, "", "")
			w.Give("more-"+name, u, "AAPL", 2*dollar, "", "")
			w.Fill("order-"+name, "AAPL", 199*audittest.PerUSD)
		}
		stop()
		check(t, <-done)
	})
}
