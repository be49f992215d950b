package dbfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Publish gives a complete file its name, durably, and never replaces a file. It fails with fs.ErrExist when the name
// is taken. When it fails, the file may still have the name partial.
func Publish(partial, path string) error {
	err := os.Link(partial, path) // unlike a rename, it never replaces a file
	switch {
	case err == nil:
		err = os.Remove(partial)
	case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM): // vfat, exFAT and SMB have no links
		err = moveNew(partial, path)
	}
	if err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// errNoPublish is the error for a file system that can neither link a file nor move it without replacing another.
func errNoPublish(path string, err error) error {
	return fmt.Errorf("cannot name %s without the risk of replacing a file: its file system has no hard links, and "+
		"cannot move a file to a new name only (%w); write to another file system", path, err)
}
