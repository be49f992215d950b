package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"stockrewards/internal/dbfile"
	"stockrewards/internal/store"
)

// Backup writes a consistent copy of the database to a new file (mode 0600) while others read.
// The file appears under its name only when it is complete and durable. An existing file is
// refused.
func (e *Engine) Backup(ctx context.Context, path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("sqlite: cannot back up: %s exists: choose a new name", path)
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("sqlite: cannot back up: %w", err)
	}
	s, err := e.writer.take(ctx)
	if err != nil {
		return busy(err)
	}
	defer e.writer.give(s)
	partial := path + ".partial"
	const ownerOnly = 0o600
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_RDWR, ownerOnly)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("sqlite: cannot back up: %w (remove the file of an earlier backup)", err)
	}
	if err != nil {
		return fmt.Errorf("sqlite: cannot back up: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	target := dbfile.URI(partial) // SQLite would read a path that begins with "file:" as a URI
	if e.memory {                 // otherwise SQLite would create the copy in memory too
		target += "?vfs=" + systemFiles()
	}
	err = s.copyTo(context.WithoutCancel(ctx), target)
	if err == nil {
		err = publish(partial, path)
	}
	if err != nil {
		_ = os.Remove(partial + "-journal") // when the disk is full
		return errors.Join(fmt.Errorf("sqlite: cannot back up to %s: %w", path, err), os.Remove(partial))
	}
	return nil
}

// systemFiles is the name of SQLite's VFS for files.
func systemFiles() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return "unix"
}

// copyTo copies the committed state into an empty file, named by a URI, and checks the copy.
func (s *session) copyTo(ctx context.Context, uri string) error {
	if _, err := s.Exec(ctx, `VACUUM INTO ?1`, uri); err != nil {
		return err
	}
	if _, err := s.Exec(ctx, `ATTACH DATABASE ?1 AS backup`, uri); err != nil {
		return err
	}
	var verdict string
	err := s.Query(ctx, func(row store.Row) error { return row.Scan(&verdict) }, `PRAGMA backup.quick_check(1)`)
	if err == nil && verdict != "ok" {
		err = fmt.Errorf("the copy is damaged: %s", verdict)
	}
	_, detachErr := s.Exec(ctx, `DETACH DATABASE backup`)
	return errors.Join(err, detachErr)
}

// publish makes a complete file durable and gives it its name.
func publish(partial, path string) error {
	f, err := os.OpenFile(partial, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return dbfile.Publish(partial, path)
}
