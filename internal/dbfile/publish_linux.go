package dbfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// moveNew moves a file to a name that no file has.
func moveNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported):
		return errNoPublish(to, err)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
