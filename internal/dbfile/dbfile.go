// Package dbfile checks the files of an SQLite database before SQLite opens them: each
// has one name, and only its owner can access it. It opens no file that only its owner can access, since closing
// it would release SQLite's locks.
package dbfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// suffixes are those of the files that belong to a database.
func suffixes() []string {
	return []string{"", "-wal", "-shm", "-journal", ".lock", ".setup.lock", noteSuffix}
}

// Prepare checks the files of the database at path, which may not exist yet. It returns
// the path with symbolic links resolved: SQLite puts its other files beside that one. It
// removes the permissions of the group and of others, and makes the log of a writable database writable. It fails when
// a file is writable by everyone, has a second name (a hard link) or is not a regular file, when a log is there without
// its database, and as long as NoteMoved says that the files are not those that were used.
func Prepare(path string) (target string, err error) {
	target, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		switch info, err := os.Lstat(path); {
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			return "", fmt.Errorf("cannot open %s: it is a symbolic link to a missing file; "+
				"point it to a database or remove it", path)
		case err == nil: // another process has just made it
			return Prepare(path)
		}
		return path, cmp.Or(checkMoved(path), checkLog(path))
	}
	if err != nil {
		return "", fmt.Errorf("cannot open %s: %w", path, err)
	}
	if err := cmp.Or(checkMoved(target), checkLog(target)); err != nil {
		return "", err
	}
	if err := checkContent(target); err != nil {
		return "", err
	}
	for _, suffix := range suffixes() {
		if err := check(target + suffix); err != nil {
			return "", err
		}
	}
	return target, writable(target)
}

// Beside returns the path of a file that is beside a database, as name makes it of the database's. Where a symbolic
// link leads to the database, that is the folder of the real file. A file that an earlier version put beside the link
// stays.
func Beside(database string, name func(database string) string) string {
	target, err := filepath.EvalSymlinks(database)
	if err != nil { // it does not exist yet, or Prepare says what is wrong
		return name(database)
	}
	if _, err := os.Lstat(name(target)); err != nil {
		if _, err := os.Lstat(name(database)); err == nil {
			return name(database)
		}
	}
	return name(target)
}

// URI returns the name of an SQLite file for its driver, without options. The path is always that of a file, although
// SQLite gives others a meaning: ":memory:", and what begins with "file:".
func URI(path string) string {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		path = "./" + path
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
}

// SyncFolder makes the names of a folder's files durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// writable makes the log and its index writable for the owner of a writable database. A reader of a file that was not
// writable for a while leaves them as that file was.
func writable(target string) error {
	const byOwner = 0o200
	database, err := os.Stat(target)
	if err != nil || database.Mode().Perm()&byOwner == 0 {
		return err
	}
	for _, path := range []string{target + "-wal", target + "-shm"} {
		file, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && file.Mode().Perm()&byOwner != 0 {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot open %s: %w", path, err)
		}
		if err := os.Chmod(path, file.Mode().Perm()|byOwner); err != nil {
			return fmt.Errorf("cannot open %s: its mode %#o does not allow to write: %w", path, file.Mode().Perm(), err)
		}
	}
	return nil
}

func check(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	if err := checkKind(path, info); err != nil {
		return err
	}
	if err := checkName(path, info); err != nil {
		return err
	}
	return restrict(path, info)
}

// Protect removes the permissions of the group and of others from a file with a secret, which exists, if it can: a
// mounted file, or one of another user, stays as it is. It fails when everyone may write the file.
func Protect(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	if err := restrict(path, info); err != nil && !errors.Is(err, fs.ErrPermission) && !readOnly(err) {
		return err
	}
	return nil
}

// checkContent fails when a file whose permissions would change is no database, so that a wrong name changes nothing.
func checkContent(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || !shared(info) {
		return nil //nolint:nilerr // check reports it
	}
	const magic = "SQLite format 3\x00"
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	head := make([]byte, len(magic))
	n, err := io.ReadFull(file, head)
	if err := file.Close(); err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	if string(head[:n]) != magic {
		return fmt.Errorf("cannot open %s: it is not a database: name another file", path)
	}
	return nil
}

// CheckRead is Prepare for who only reads a database, which exists, and changes nothing. It fails when the file is not
// a regular file, has a second name (a hard link) or, as its log, is writable by everyone. It fails as Prepare over
// moved files.
func CheckRead(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	if err := cmp.Or(checkKind(path, info), checkName(path, info)); err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	for _, path := range []string{target, target + "-wal", target + "-shm"} {
		if info, err := os.Lstat(path); err == nil {
			if err := trusted(path, info); err != nil {
				return err
			}
		}
	}
	return cmp.Or(checkMoved(target), checkLog(target))
}

func checkKind(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("cannot open %s: it is not a regular file; its mode is %s", path, info.Mode())
	}
	return nil
}

func checkName(path string, info fs.FileInfo) error {
	if n := names(info); n > 1 {
		return fmt.Errorf("cannot open %s: the file has %d names (hard links), and two processes could damage it; "+
			"find them with `find / -samefile %s`, keep the one with a `-wal` beside it, which has the newest awards, "+
			"and remove the others", path, n, path)
	}
	return checkMount(path)
}
