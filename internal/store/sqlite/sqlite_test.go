package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

func opener(path func(*testing.T) string) storetest.Opener {
	return func(t *testing.T) store.Engine {
		t.Helper()
		return openFile(t, path(t))
	}
}

func openFile(t *testing.T, path string) store.Engine {
	t.Helper()
	e, err := sqlite.Open(t.Context(), path, sqlite.Options{Sole: true})
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	return e
}

func file(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "odd ?#% name.db")
}

func memory(*testing.T) string { return sqlite.Memory }

// schema is the content of a new database. Migrating takes longer than most tests.
var schema = sync.OnceValues(func() (content []byte, err error) {
	folder, err := os.MkdirTemp("", "schema")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "new.db")
	e, err := sqlite.Open(context.Background(), path, sqlite.Options{Connections: 1})
	if err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func migratedFile(t *testing.T) string {
	t.Helper()
	path := file(t)
	content, err := schema()
	check(t, err)
	check(t, os.WriteFile(path, content, 0o600))
	return path
}

// TestNoStatementCostsMoreOverTheYears runs the contract in memory, which has one connection.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, opener(migratedFile))
}

func TestLotsOfAnOlderSnapshot(t *testing.T) {
	t.Parallel()
	storetest.LotsOfAnOlderSnapshot(t, opener(migratedFile)(t))
}

func TestFileIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	path := file(t)
	openFile(t, path)
	info, err := os.Stat(path)
	check(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %o, want 600", got)
	}
}

// The writer does not sync a commit itself: syncer does.
func TestSettingsOfTheWriter(t *testing.T) {
	t.Parallel()
	e := opener(file)(t)
	settings := map[string]string{}
	look := func(ctx context.Context, tx store.Tx) error {
		for _, name := range []string{"journal_mode", "synchronous", "foreign_keys", "mmap_size"} {
			err := tx.Query(ctx, func(row store.Row) error {
				var value string
				err := row.Scan(&value)
				settings[name] = value
				return err
			}, "PRAGMA "+name)
			if err != nil {
				return err
			}
		}
		return nil
	}
	check(t, e.Write(t.Context(), look))
	if settings["journal_mode"] != "wal" || settings["synchronous"] != "1" || settings["foreign_keys"] != "1" || settings["mmap_size"] != "0" {
		t.Errorf("settings %v", settings)
	}
}

func TestReadersDoNotWrite(t *testing.T) {
	t.Parallel()
	e := opener(file)(t)
	err := e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM alarms`)
		return err
	})
	if err == nil {
		t.Error("a reader wrote")
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	e := openFile(t, path)
	write(t, e, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "9999") {
		t.Errorf("got %v, want a refusal of the newer version", err)
	}
}

func TestLockExcludesASecondServer(t *testing.T) {
	t.Parallel()
	path := file(t)
	unlock, err := sqlite.Lock(path)
	check(t, err)
	if _, err := sqlite.Lock(path); !errors.Is(err, sqlite.ErrLocked) {
		t.Errorf("a second lock: %v, want ErrLocked", err)
	}
	check(t, unlock())
	unlock, err = sqlite.Lock(path)
	check(t, err) // the lock was given back
	check(t, unlock())
}

func TestForeignFileIsRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	check(t, os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o600))
	if e, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
		t.Error("a foreign file was opened", e.Close())
	}
	for table, want := range map[string]string{"customers": "another program's database", "account": "books of a paper brokerage"} {
		path := filepath.Join(t.TempDir(), "other.db")
		db, err := sql.Open("sqlite", path)
		check(t, err)
		_, err = db.ExecContext(t.Context(), "CREATE TABLE "+table+" (n)")
		check(t, errors.Join(err, db.Close()))
		before, err := os.ReadFile(path)
		check(t, err)
		if e, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a file with a table %s: %v, %v; want %s", table, e, err, want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("a file with a table %s was changed (%v)", table, err)
		}
	}
}

func TestRolledBackWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	e := opener(file)(t)
	boom := errors.New("boom")
	err := e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('x', 'y')`); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	count := -1
	read(t, e, func(row store.Row) error { return row.Scan(&count) }, `SELECT count(*) FROM settings`)
	if count != 0 {
		t.Errorf("%d rows, want none", count)
	}
}

// ReadLedger does not see what is committed while it runs.
func TestASnapshotIsOneMoment(t *testing.T) {
	t.Parallel()
	w := storetest.NewWorld(t, opener(file)(t))
	w.Give(t, 1_000_000)
	rewardsIn := func(write func()) (n int) {
		check(t, w.ReadLedger(t.Context(), func(ctx context.Context, s store.LedgerReader) error {
			if _, err := s.Apps(ctx); err != nil {
				return err
			}
			write()
			return s.Pending(ctx, func(rewards.PendingReward) error {
				n++
				return nil
			})
		}))
		return n
	}
	if n := rewardsIn(func() { w.Give(t, 2_000_000) }); n != 1 {
		t.Errorf("%d rewards, want the earlier one", n)
	}
	if n := rewardsIn(func() {}); n != 2 {
		t.Errorf("%d rewards afterwards, want 2", n)
	}
}

func TestBackupIsACopyOfWhatWasCommitted(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(*testing.T) string{"file": file, "memory": memory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copyOfWhatWasCommitted(t, opener(from)(t))
		})
	}
}

func copyOfWhatWasCommitted(t *testing.T, e store.Engine) {
	t.Helper()
	write(t, e, `INSERT INTO settings (name, value) VALUES ('before', 'y')`)
	path := filepath.Join(t.TempDir(), "it's a copy.db")
	check(t, e.Backup(t.Context(), path))
	write(t, e, `INSERT INTO settings (name, value) VALUES ('after', 'y')`)
	if err := e.Backup(t.Context(), path); err == nil {
		t.Error("a backup was written over another")
	}
	err := e.Backup(t.Context(), filepath.Join(t.TempDir(), "no such folder", "x.db"))
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "earlier") {
		t.Errorf("a backup into a missing folder: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner only", info, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v; want the copy alone", left, err)
	}
	restored := openFile(t, path)
	var names []string
	read(t, restored, func(row store.Row) error {
		var name string
		err := row.Scan(&name)
		names = append(names, name)
		return err
	}, `SELECT name FROM settings`)
	if len(names) != 1 || names[0] != "before" {
		t.Errorf("the copy holds %v", names)
	}
}

func TestAToolKeepsAnOlderSchema(t *testing.T) {
	t.Parallel()
	path := file(t)
	check(t, os.WriteFile(path, nil, 0o600)) // older than any version
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{KeepSchema: true}); !errors.Is(err, store.ErrOlderSchema) {
		t.Errorf("got %v, want a refusal", err)
	}
	openFile(t, path)
	e, err := sqlite.Open(t.Context(), path, sqlite.Options{KeepSchema: true})
	check(t, err)
	check(t, e.Close())
}
