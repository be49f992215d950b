package sqlite

import (
	"errors"

	"zombiezen.com/go/sqlite"

	"stockrewards/internal/rewards"
)

// code is SQLite's extended error code; that of a general error for an error that is
// not SQLite's.
func code(err error) sqlite.ResultCode { return sqlite.ErrCode(err) }

// fatal tells whether the process must stop: the outcome of a commit is unknown, the
// file is damaged, or this connection will never write. Recovery at the next start
// decides what was written.
func fatal(err error) bool {
	full := code(err)
	switch {
	case damaged(err):
		return true
	case full.ToPrimary() == sqlite.ResultIOErr:
		return !noSpace(full)
	case full.ToPrimary() == sqlite.ResultReadOnly: // SQLite opens a file that way when it cannot open it otherwise
		return true
	default:
		_, atCommit := errors.AsType[commitError](err)
		return atCommit && !clean(full)
	}
}

// damaged tells whether the file is no sound database.
func damaged(err error) bool {
	primary := code(err).ToPrimary()
	return primary == sqlite.ResultCorrupt || primary == sqlite.ResultNotADB
}

// clean tells whether a failed COMMIT is known to have written nothing: the disk
// was full, or a constraint spoke at the last moment.
func clean(full sqlite.ResultCode) bool {
	switch full.ToPrimary() { //nolint:exhaustive // of all others it is not known
	case sqlite.ResultFull, sqlite.ResultBusy, sqlite.ResultConstraint:
		return true
	default:
		return noSpace(full)
	}
}

// noSpace tells of I/O errors that a full disk causes: the index of the write-ahead
// log could not grow. The log itself is sound, so the process can go on; whether a
// commit that ended so was written is unknown, as its caller is told.
func noSpace(full sqlite.ResultCode) bool {
	return full == sqlite.ResultIOErrSHMSize || full == sqlite.ResultIOErrSHMOpen
}

// classify turns what the database cannot do now into CodeUnavailable. Errors of
// the domain and of single rows stay what they are.
func classify(err error) error {
	switch code(err).ToPrimary() { //nolint:exhaustive // all others stay what they are
	case sqlite.ResultFull:
		return rewards.Unavailable("the disk is full", err)
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return busy(err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultIOErr,
		sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultNoMem:
		return rewards.Unavailable("the database cannot be used now", err)
	}
	if _, atCommit := errors.AsType[commitError](err); atCommit {
		return rewards.Unavailable("the outcome of the commit is not known", err)
	}
	return err
}
