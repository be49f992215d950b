package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/dbfile"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// syncer makes commits durable. A COMMIT only writes to the write-ahead log (synchronous = NORMAL); syncer
// then syncs the log. So the next transaction runs while the disk works, and one sync serves all commits
// before it. It is safe for concurrent use.
type syncer struct {
	flush func() error // syncs the log
	there func() error // fails when a file is not in its place
	close func() error

	committing sync.RWMutex // held by a COMMIT, so that nobody sees one that is not counted
	committed  atomic.Int64 // commits in effect
	synced     atomic.Int64 // of these, the ones on disk
	changes    changes      // of the others

	mu      sync.Mutex
	running chan struct{} // closed at the end of the sync under way; nil between syncs
	failed  error         // of the sync after which none can be trusted: it may have lost what it should write
}

// openSyncer opens the log once more. The log exists from the first read of a connection
// until the last one is closed.
func openSyncer(ctx context.Context, own *session, path string) (*syncer, error) {
	if path == Memory {
		nothing := func() error { return nil }
		return &syncer{flush: nothing, there: nothing, close: nothing}, nil
	}
	if _, err := own.Exec(ctx, `SELECT 1 FROM sqlite_schema LIMIT 1`); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	log, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("sqlite: cannot open the write-ahead log: %w", err)
	}
	s := &syncer{close: log.Close}
	s.there, err = inPlace(path)
	var looked time.Time // one sync runs at a time
	s.flush = func() error {
		if err := syncData(log); err != nil || time.Since(looked) < checkEvery {
			return err
		}
		looked = time.Now()
		return s.there()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return s, nil
}

// inPlace returns a function that fails when a database, its log or the index of that is not the same file any more.
// What is written to a file that was moved away or replaced is lost at the next start. So it leaves a note for that. A
// lost index needs none: SQLite makes it again from the log.
func inPlace(path string) (func() error, error) {
	paths := [...]string{path, path + "-wal", path + "-shm"}
	var files [len(paths)]os.FileInfo
	for i, path := range paths {
		file, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("sqlite: %w", err)
		}
		files[i] = file
	}
	return func() error {
		for i, name := range paths {
			switch now, err := os.Stat(name); {
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return err
			case err == nil && os.SameFile(files[i], now):
			case name == path+"-shm":
				return errIndex(name)
			default:
				return errors.Join(errMoved(name), dbfile.NoteMoved(path, files[0], files[1]))
			}
		}
		return nil
	}, nil
}

// errMoved is the error of a file, by its path, that was moved away, removed or replaced.
type errMoved string

// Is reports whether the error is store.ErrMoved.
func (errMoved) Is(target error) bool { return target == store.ErrMoved }

func (e errMoved) Error() string {
	return string(e) + " was moved away, removed or replaced while this process used it; " +
		"stop the service and put it back, or restore a backup: see docs/incidents.md"
}

// errIndex is the error of a log's index, by its path, that was moved away, removed or replaced. Another process makes
// a new one, and then neither sees what the other writes to the log.
type errIndex string

func (e errIndex) Error() string {
	return string(e) + " was moved away, removed or replaced while this process used it; " +
		"after the start run `stockrewards audit`: see docs/incidents.md"
}

// indexLost reports whether the log may have what this process does not know, since the index was lost.
func (s *syncer) indexLost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, lost := errors.AsType[errIndex](s.failed)
	return lost
}

// look fails, as every later sync does, when a file is not in its place.
func (s *syncer) look() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		if err := s.there(); err != nil {
			s.failed = unsyncedError{err}
		}
	}
	return s.failed
}

// commit runs a COMMIT and counts it. Some apps can see what it changes; none: all can.
func (s *syncer) commit(apps []rewards.AppID, commit func() error) error {
	s.committing.Lock()
	defer s.committing.Unlock()
	s.changes.add(change{s.committed.Load() + 1, apps}, s.synced.Load()) // before anybody can see it
	err := commit()
	if err == nil {
		s.committed.Add(1)
	}
	return err
}

// wait waits until everything that a transaction may have seen before the call is on disk, or until ctx
// ends.
func (s *syncer) wait(ctx context.Context) error {
	s.committing.RLock()
	seen := s.committed.Load()
	s.committing.RUnlock()
	for s.synced.Load() < seen {
		if err := s.sync(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitFor waits until everything that an app may have seen before the call is on disk, or until ctx ends.
func (s *syncer) waitFor(ctx context.Context, app rewards.AppID) error {
	if !s.changes.seenBy(app, s.synced.Load()) {
		return nil
	}
	return s.wait(ctx)
}

// sync syncs the log, or waits for the sync under way, which may have begun too early.
func (s *syncer) sync(ctx context.Context) error {
	s.mu.Lock()
	failed, running := s.failed, s.running
	first := failed == nil && running == nil
	if first {
		running = make(chan struct{})
		s.running = running
	}
	s.mu.Unlock()
	switch {
	case failed != nil:
		return failed
	case first && ctx.Done() == nil:
		s.lead(running)
	case first:
		go s.lead(running) // the caller may leave before a slow disk answers
	}
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return rewards.Unavailable("the request ended before it was answered", ctx.Err())
	}
}

// lead syncs the log for everybody who waits.
func (s *syncer) lead(done chan struct{}) {
	committed := s.committed.Load()
	err := s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running = nil; err == nil {
		s.synced.Store(committed)
	} else {
		s.failed = unsyncedError{err}
	}
	close(done)
}

// unsyncedError is the error of a sync. The outcome of the commits before it is unknown.
type unsyncedError struct{ error }

func (e unsyncedError) Error() string {
	return "sqlite: cannot sync the write-ahead log: " + e.error.Error()
}

func (e unsyncedError) Unwrap() error { return e.error }
