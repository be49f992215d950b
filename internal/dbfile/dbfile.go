// Package dbfile checks the files of an SQLite database before SQLite opens them: each
// has one name, and only its owner can read or write it. It never opens a file, since
// closing it would drop SQLite's locks.
package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// beside are the endings of the files that belong to a database.
func beside() []string { return []string{"", "-wal", "-shm", "-journal", ".lock", ".setup.lock"} }

// Prepare checks the files of the database at a path and returns the path with all
// symbolic links followed: SQLite's files and all locks are beside that one. It takes
// away the permissions of the group and of others to read a file, and of the group to
// write it. It fails when anybody could write a file, when a file has a second name (a
// hard link), and when it is no file. There may be no database yet.
func Prepare(path string) (target string, err error) {
	target, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("cannot open %s: it is a symbolic link to nothing; "+
				"make it point to a database, or remove it", path)
		}
		return path, nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot open %s: %w", path, err)
	}
	for _, ending := range beside() {
		if err := check(target + ending); err != nil {
			return "", err
		}
	}
	return target, nil
}

func check(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("cannot open %s: it is no regular file but has the mode %s", path, info.Mode())
	}
	if err := checkName(path, info); err != nil {
		return err
	}
	return restrict(path, info)
}

// CheckName fails when the file of a database has a second name (a hard link): SQLite
// would keep a log beside each, so that what one process wrote would be unknown to
// another, and lost.
func CheckName(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	return checkName(path, info)
}

func checkName(path string, info fs.FileInfo) error {
	if n := names(info); n > 1 {
		return fmt.Errorf("cannot open %s: the file has %d names (hard links), and two processes could damage it; "+
			"find them with `find / -samefile %s` and remove all but one, or copy the file", path, n, path)
	}
	return nil
}
