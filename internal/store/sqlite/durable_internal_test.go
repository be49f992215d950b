package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zombiezen.com/go/sqlite"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// fakeLog is a log whose syncs a test ends.
type fakeLog struct {
	began chan struct{}
	end   chan error
}

func newFakeLog() (*syncer, fakeLog) {
	log := fakeLog{make(chan struct{}), make(chan error)}
	return &syncer{flush: func() error {
		log.began <- struct{}{}
		return <-log.end
	}}, log
}

func commitNothing() error { return nil }

// A commit during a sync may have come too late for it, so it waits for the next one.
func TestASyncCountsWhatCameBefore(t *testing.T) {
	t.Parallel()
	s, log := newFakeLog()
	check(t, s.commit(nil, commitNothing))
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- s.wait(t.Context()) }()
	<-log.began
	check(t, s.commit(nil, commitNothing))
	log.end <- nil
	check(t, <-first)
	go func() { second <- s.wait(t.Context()) }()
	<-log.began
	log.end <- nil
	check(t, <-second)
	check(t, s.wait(t.Context())) // everything is on disk: no sync
}

// Whoever can see a commit waits for it, also while the COMMIT runs.
func TestAChangeIsNotedBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	s, _ := newFakeLog()
	own, other := rewards.AppID{1}, rewards.AppID{2}
	check(t, s.commit([]rewards.AppID{own}, func() error {
		if !s.changes.seenBy(own, 0) || s.changes.seenBy(other, 0) {
			t.Error("the app of a COMMIT under way does not wait, or another one does")
		}
		return nil
	}))
	s.synced.Store(1)
	check(t, s.commit(nil, func() error {
		if !s.changes.seenBy(other, 1) || len(s.changes.list) != 1 {
			t.Errorf("changes of which all can see one: %v", s.changes.list)
		}
		return nil
	}))
}

// A failed commit is not waited for, and after a failed sync none is trusted.
func TestNoSyncIsTrustedAfterAFailure(t *testing.T) {
	t.Parallel()
	s, log := newFakeLog()
	refused, fault := errors.New("the disk is full"), errors.New("the disk is broken")
	if err := s.commit(nil, func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a commit failed with %v, want %v", err, refused)
	}
	check(t, s.wait(t.Context()))
	check(t, s.commit(nil, commitNothing))
	waited := make(chan error, 1)
	go func() { waited <- s.wait(t.Context()) }()
	<-log.began
	log.end <- fault
	for _, err := range []error{<-waited, s.wait(t.Context())} {
		if !errors.Is(err, fault) {
			t.Errorf("waited with %v, want %v", err, fault)
		}
	}
}

// A reader whose request ends does not wait for a slow disk; the sync goes on for the others.
func TestAReaderLeavesASlowSync(t *testing.T) {
	t.Parallel()
	s, log := newFakeLog()
	check(t, s.commit(nil, commitNothing))
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- s.wait(ctx) }()
	<-log.began
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("left with %v", err)
	}
	log.end <- nil
	check(t, s.wait(t.Context()))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A file that was moved away or replaced gets no more commits that anybody learns of: the next start would not find them.
func TestAReplacedFileStopsTheEngine(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-wal"} {
		path := filepath.Join(t.TempDir(), "rewards.db")
		e, err := Open(t.Context(), path, Options{})
		check(t, err)
		put := func(name string) error {
			err := e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, '')`, name)
				return err
			})
			return errors.Join(err, e.Durable(t.Context()))
		}
		check(t, put("before"))
		check(t, os.WriteFile(path+".new", nil, 0o600))
		check(t, os.Rename(path+".new", path+suffix))
		var moved errMoved
		for i := range 10_000 { // it is looked at every 20 milliseconds
			if err = put(strconv.Itoa(i)); err != nil {
				break
			}
		}
		if !errors.As(err, &moved) || string(moved) != path+suffix || !errors.Is(err, store.ErrMoved) {
			t.Errorf("commits to a replaced file: %v", err)
		}
		if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "moved away") {
			t.Errorf("what is in place of the database was opened: %v", err)
		}
		select {
		case <-e.Failed():
		default:
			t.Error("the process does not stop")
		}
		_ = e.Close()
	}
}

// While the index of the log is lost, two processes would overwrite each other's commits: the one that serves stops, no
// other opens the database, and the log stays as it is for the next start.
func TestALostIndexStopsTheEngine(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(index string) error{
		"removed":  os.Remove,
		"replaced": func(index string) error { return errors.Join(os.Remove(index), os.WriteFile(index, nil, 0o600)) },
	} {
		path := filepath.Join(t.TempDir(), "rewards.db")
		unlock, err := Lock(path)
		check(t, err)
		e, err := Open(t.Context(), path, Options{Sole: true})
		check(t, err)
		put := func(name string) error {
			err := e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, '')`, name)
				return err
			})
			return errors.Join(err, e.Durable(t.Context()))
		}
		check(t, put("before"))
		check(t, lose(path+"-shm"))
		if _, err := Open(t.Context(), path, Options{}); name == "removed" && (err == nil || !strings.Contains(err.Error(), "-shm was")) {
			t.Errorf("%s: a command opens the database: %v", name, err)
		}
		for i := range 10_000 { // it is looked at every 20 milliseconds
			if err = put(strconv.Itoa(i)); err != nil {
				break
			}
		}
		if lost, ok := errors.AsType[errIndex](err); !ok || string(lost) != path+"-shm" {
			t.Errorf("%s: commits without the index: %v", name, err)
		}
		select {
		case <-e.Failed():
		default:
			t.Errorf("%s: the process does not stop", name)
		}
		log, err := os.Stat(path + "-wal")
		check(t, err)
		check(t, errors.Join(e.Close(), unlock()))
		if left, err := os.Stat(path + "-wal"); err != nil || !os.SameFile(log, left) {
			t.Errorf("%s: the log that the next start reads: %v, %v", name, left, err)
		}
		next, err := Open(t.Context(), copied(t, path, "", "-wal"), Options{})
		check(t, err)
		check(t, next.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
			found := 0
			err := tx.Query(ctx, func(row store.Row) error { return row.Scan(&found) },
				`SELECT count(*) FROM settings WHERE name = 'before'`)
			if found != 1 {
				t.Errorf("%s: the next start has %d of 1 commits", name, found)
			}
			return err
		}))
		check(t, next.Close())
	}
}

// An engine notices that the index of its log is lost although it writes nothing, and when it is asked before a stop.
// Nothing is written then: another program may have committed meanwhile.
func TestALostIndexStopsAnIdleEngine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	synctest.Test(t, func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			e, err := Open(t.Context(), path, Options{Sole: true})
			check(t, err)
			time.Sleep(time.Hour)
			check(t, e.CheckFiles())
			check(t, os.Remove(path+"-shm"))
			if asked {
				if lost, ok := errors.AsType[errIndex](e.CheckFiles()); !ok || string(lost) != path+"-shm" {
					t.Errorf("asked before a stop it says %q", lost)
				}
			}
			time.Sleep(lookEvery)
			synctest.Wait()
			select {
			case err := <-e.Failed():
				if !e.sync.indexLost() || !strings.Contains(err.Error(), "-shm was moved away, removed or replaced") {
					t.Errorf("the process stops by %v", err)
				}
			default:
				t.Error("the process does not stop")
			}
			if err := e.Write(t.Context(), func(context.Context, store.Tx) error { return nil }); err == nil {
				t.Error("it writes")
			}
			check(t, e.Close())
			check(t, e.writer.close()) // which Close leaves open, for the log's sake
		}
	})
}

// copied copies some files of a database into another folder.
func copied(t *testing.T, path string, suffixes ...string) (target string) {
	t.Helper()
	target = filepath.Join(t.TempDir(), "rewards.db")
	for _, suffix := range suffixes {
		content, err := os.ReadFile(path + suffix) // which releases locks that nobody else waits for
		check(t, err)
		check(t, os.WriteFile(target+suffix, content, 0o600))
	}
	return target
}

// After a kill a database is not opened without its log, unless everything in that is in the database as well.
func TestAMissingLogIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	e, err := Open(t.Context(), path, Options{})
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('a', '')`)
		return err
	}))
	withoutLog := func() error {
		e, err := Open(t.Context(), copied(t, path, "", "-shm"), Options{})
		if err == nil {
			check(t, e.Close())
		}
		return err
	}
	if err := withoutLog(); err == nil || !strings.Contains(err.Error(), "rewards.db-wal is missing") {
		t.Errorf("without its log it is opened: %v", err)
	}
	other, err := connect(t.Context(), fileName(path))
	check(t, err)
	t.Cleanup(func() { check(t, other.close()) })
	_, err = other.Exec(t.Context(), "PRAGMA wal_checkpoint(PASSIVE)")
	check(t, err)
	check(t, withoutLog())
}

// A disk that is full for the index of the log is said to be full, and not to be failing.
func TestTheIndexHasNoRoom(t *testing.T) {
	t.Parallel()
	for full, want := range map[sqlite.ResultCode]string{
		sqlite.ResultIOErrSHMSize: "the disk is full", sqlite.ResultFull: "the disk is full",
		sqlite.ResultIOErrWrite: "the database cannot be used now",
	} {
		if e, ok := errors.AsType[*rewards.Error](classify(full.ToError())); !ok || e.Message != want {
			t.Errorf("%s: %v, want %q", full, e, want)
		}
	}
}
