//go:build !linux

package dbfile

import "errors"

// moveNew fails: here no move is known that never replaces a file.
func moveNew(_, to string) error { return errNoPublish(to, errors.ErrUnsupported) }
