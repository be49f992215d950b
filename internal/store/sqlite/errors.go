package sqlite

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"stockrewards/internal/rewards"
)

// code is SQLite's extended error code; 0 for an error that is not SQLite's.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

const primaryMask = 0xff // the primary code is the lowest byte of the extended one

// fatal tells whether the process must stop: the outcome of a commit is unknown,
// or the file is damaged. Recovery at the next start decides what was written.
func fatal(err error) bool {
	full := code(err)
	switch {
	case damaged(err):
		return true
	case full&primaryMask == sqlite3.SQLITE_IOERR:
		return !noSpace(full)
	default:
		_, atCommit := errors.AsType[commitError](err)
		return atCommit && !clean(full)
	}
}

// damaged tells whether the file is no sound database.
func damaged(err error) bool {
	primary := code(err) & primaryMask
	return primary == sqlite3.SQLITE_CORRUPT || primary == sqlite3.SQLITE_NOTADB
}

// clean tells whether a failed COMMIT is known to have written nothing: the disk
// was full, or a constraint spoke at the last moment.
func clean(full int) bool {
	switch full & primaryMask {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_READONLY:
		return true
	default:
		return noSpace(full)
	}
}

// noSpace tells of I/O errors that a full disk causes: the index of the write-ahead
// log could not grow. The log itself is sound, so the process can go on; whether a
// commit that ended so was written is unknown, as its caller is told.
func noSpace(full int) bool {
	return full == sqlite3.SQLITE_IOERR_SHMSIZE || full == sqlite3.SQLITE_IOERR_SHMOPEN
}

// classify turns what the database cannot do now into CodeUnavailable. Errors of
// the domain and of single rows stay what they are.
func classify(err error) error {
	switch code(err) & primaryMask {
	case sqlite3.SQLITE_FULL:
		return rewards.Unavailable("the disk is full", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return busy(err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_NOMEM:
		return rewards.Unavailable("the database cannot be used now", err)
	}
	if _, atCommit := errors.AsType[commitError](err); atCommit {
		return rewards.Unavailable("the outcome of the commit is not known", err)
	}
	return err
}
