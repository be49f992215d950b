package sqlite

import (
	"errors"
	"fmt"
	"os"

	"stockrewards/internal/dbfile"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("another process serves this database")

// Lock makes this process the only one that serves the database, until the returned
// function is called or the process ends, however it ends. It makes the file when there
// is none, and fails with ErrLocked. Call the function after the database is closed:
// it closes a descriptor of the file, which drops SQLite's own locks.
func Lock(path string) (unlock func() error, err error) {
	if path, err = dbfile.Prepare(path); err != nil {
		return nil, fmt.Errorf("sqlite: lock: %w", err)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	byName, err := lockFile(path+".lock", false)
	if err != nil {
		return nil, fmt.Errorf("sqlite: lock %s: %w", path, err)
	}
	byFile, err := lockDatabase(path) // it may have got another name meanwhile
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: lock %s: %w", path, err), byName())
	}
	return func() error { return errors.Join(byFile(), byName()) }, nil
}

// lockFile locks a file of its own, which it makes when there is none.
func lockFile(path string, wait bool) (unlock func() error, err error) {
	const ownerOnly = 0o600
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, ownerOnly)
	if err != nil {
		return nil, err
	}
	return exclusively(f, wait)
}

// exclusively takes the lock of an open file. Closing it gives the lock back.
func exclusively(f *os.File, wait bool) (unlock func() error, err error) {
	if err := lock(f, wait); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
