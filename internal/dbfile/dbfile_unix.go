//go:build unix

package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// readOnly reports whether a file system is mounted for reading only.
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// names is the number of a file's names.
func names(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink) //nolint:unconvert // its type depends on the platform
}

// inode is the number of a file in its file system.
func inode(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return stat.Ino
}

// owner is the user and the group that a file belongs to.
func owner(info fs.FileInfo) (uid, gid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// Bits of a file's mode.
const (
	byAnybody = 0o002 // everyone may write
	byOthers  = 0o077 // the group and others have a permission
)

// shared reports whether the group or others have a permission.
func shared(info fs.FileInfo) bool { return info.Mode().Perm()&byOthers != 0 }

// trusted fails when everyone may write the file: its content cannot be trusted.
func trusted(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&byAnybody != 0 {
		return fmt.Errorf("cannot open %s: its mode %#o lets everyone write to it; "+
			"run `chmod 600 %s`, then check the store with `stockrewards audit`", path, mode, path)
	}
	return nil
}

// restrict removes the permissions of the group and of others. It fails as trusted.
func restrict(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	if err := trusted(path, info); err != nil {
		return err
	}
	if !shared(info) {
		return nil
	}
	if err := os.Chmod(path, mode&^byOthers); err != nil {
		return fmt.Errorf("cannot open %s: its mode %#o lets others access it and cannot be changed: %w; "+
			"make the service's user its owner and run `chmod 600 %s`", path, mode, err, path)
	}
	return nil
}
