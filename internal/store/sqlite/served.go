package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"stockrewards/internal/store"
)

// CheckServed fails when another process serves the database while the index of the log is missing. Whoever opens the
// database then makes a new index, and the two overwrite each other's commits in the log. A process that opens or
// closes the database lacks the index for a moment, so CheckServed looks again before it fails. It must not be called
// by a process that holds the lock of Lock.
func CheckServed(ctx context.Context, path string) error {
	const moment = 200 * time.Millisecond
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil //nolint:nilerr // there is no database, or opening it says what is wrong
	}
	for _, last := range []bool{false, true} {
		if lacks, err := servedWithoutIndex(path); err != nil || !lacks {
			return err
		}
		if !last {
			if err := store.Sleep(ctx, moment); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("sqlite: cannot open %s: %s-shm was moved away or removed while another process serves the "+
		"database; restart the service, then run `stockrewards audit`: see docs/incidents.md", path, path)
}

// servedWithoutIndex reports whether the log has content and no index, although another process serves the database.
func servedWithoutIndex(path string) (bool, error) {
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		return false, nil //nolint:nilerr // without a log there is no index
	}
	for _, name := range []struct {
		suffix string
		exists bool
	}{{"-shm", false}, {".lock", true}} {
		if _, err := os.Stat(path + name.suffix); errors.Is(err, fs.ErrNotExist) == name.exists {
			return false, nil
		}
	}
	unlock, err := LockFile(path + ".lock")
	if errors.Is(err, ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("sqlite: cannot lock %s: %w", path, err)
	}
	return false, unlock()
}
