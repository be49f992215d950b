package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"stockrewards/internal/dbfile"
)

// ErrLocked means that another process holds the lock.
var ErrLocked = errors.New("another process serves this database")

// Lock makes this process the only one to serve the database, until it calls unlock or ends in
// any way. It creates the file if it is missing, and fails with ErrLocked. Close the database
// before unlock, which closes a descriptor of the file and so drops SQLite's own locks.
func Lock(path string) (unlock func() error, err error) {
	if path, err = dbfile.Prepare(path); err != nil {
		return nil, fmt.Errorf("sqlite: cannot lock: %w", err)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	byName, err := lockFile(path+".lock", path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: cannot lock %s: %w", path, err)
	}
	byFile, err := lockDatabase(path) // the file may be served under another name
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: cannot lock %s: %w", path, err), byName())
	}
	return func() error { return errors.Join(byFile(), byName()) }, nil
}

// LockFile locks a file that nothing else uses, until unlock or the end of the process. It creates it if it is missing,
// and fails with ErrLocked.
func LockFile(path string) (unlock func() error, err error) { return lockFile(path, "") }

// awaitLock is lockFile, but waits until the file is free or ctx ends. It calls waiting once if that takes long.
func awaitLock(ctx context.Context, path, database string, waiting func()) (unlock func() error, err error) {
	const retry, long = 50 * time.Millisecond, 2 * time.Second
	for began := time.Now(); ; {
		unlock, err := lockFile(path, database)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if waiting != nil && time.Since(began) >= long {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retry):
		}
	}
}

// lockFile locks a separate file of a database. It creates the file if it is missing: see dbfile.Create.
func lockFile(path, database string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = dbfile.Create(path, database)
	}
	if errors.Is(err, fs.ErrExist) { // another process has just made it
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, dbfile.Denied(path, err, ", or remove it while nothing uses what it locks")
	}
	return exclusively(f)
}

// exclusively locks an open file, or fails with ErrLocked. Closing the file unlocks it.
func exclusively(f *os.File) (unlock func() error, err error) {
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
