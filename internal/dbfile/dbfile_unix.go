//go:build unix

package dbfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// names is how many names a file has.
func names(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink) //nolint:unconvert // its type depends on the system
}

// The permissions of a file.
const (
	byAnybody = 0o002 // to write
	byOthers  = 0o077 // of the group and of others
)

// restrict leaves a file to its owner.
func restrict(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	if mode&byAnybody != 0 {
		return fmt.Errorf("cannot open %s: its mode %#o lets anybody write to it; "+
			"run `chmod 600 %s`, then check the books with `stockrewards audit`", path, mode, path)
	}
	if mode&byOthers == 0 {
		return nil
	}
	if err := os.Chmod(path, mode&^byOthers); err != nil {
		return fmt.Errorf("cannot open %s: its mode %#o lets others read it, and cannot be changed: %w; "+
			"make the service's user its owner and run `chmod 600 %s`", path, mode, err, path)
	}
	return nil
}
