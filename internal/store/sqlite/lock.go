package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("another process serves this database")

// Lock makes this process the only one that serves the database, until the
// returned function is called or the process ends, however it ends. It fails with
// ErrLocked. The lock is a file of its own beside the database.
func Lock(path string) (unlock func() error, err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // one database, one lock
	}
	unlock, err = lockFile(path+".lock", false)
	if err != nil {
		return nil, fmt.Errorf("sqlite: lock %s: %w", path, err)
	}
	return unlock, nil
}

func lockFile(path string, wait bool) (unlock func() error, err error) {
	const ownerOnly = 0o600
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, ownerOnly)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil // closing gives the lock back
}
