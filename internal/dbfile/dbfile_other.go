//go:build !unix

package dbfile

import "io/fs"

// readOnly is false: a mode is not changed here.
func readOnly(error) bool { return false }

// names is 1: the number of names is unknown here.
func names(fs.FileInfo) uint64 { return 1 }

// inode is 1: the number of a file is unknown here.
func inode(fs.FileInfo) uint64 { return 1 }

// owner is unknown here.
func owner(fs.FileInfo) (uid, gid int, known bool) { return 0, 0, false }

// shared is false: a file's mode has no meaning here.
func shared(fs.FileInfo) bool { return false }

// trusted finds nothing: a file's mode has no meaning here.
func trusted(string, fs.FileInfo) error { return nil }

// restrict does nothing: a file's mode has no meaning here.
func restrict(string, fs.FileInfo) error { return nil }
