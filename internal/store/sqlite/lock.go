package sqlite

import (
	"errors"
	"fmt"
	"os"

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
	byName, err := lockFile(path+".lock", false)
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
func LockFile(path string) (unlock func() error, err error) { return lockFile(path, false) }

// lockFile locks a separate file, which it creates if it is missing.
func lockFile(path string, wait bool) (unlock func() error, err error) {
	const ownerOnly = 0o600
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, ownerOnly)
	if err != nil {
		return nil, err
	}
	return exclusively(f, wait)
}

// exclusively locks an open file. Closing the file unlocks it.
func exclusively(f *os.File, wait bool) (unlock func() error, err error) {
	if err := lock(f, wait); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
