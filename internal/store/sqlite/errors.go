package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"stockrewards/internal/dbfile"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// code is the extended error code of SQLite, or a general one for other errors.
func code(err error) sqlite.ResultCode { return sqlite.ErrCode(err) }

// fatal reports whether the process must stop: the outcome of a commit is unknown, the file is
// damaged or migrated, or this connection can never write. Recovery at the next start decides the
// outcome.
func fatal(err error) bool {
	full := code(err)
	switch {
	case damaged(err), otherSchema(err):
		return true
	case full.ToPrimary() == sqlite.ResultIOErr:
		return !noSpace(full)
	case full.ToPrimary() == sqlite.ResultReadOnly: // SQLite falls back to this when it cannot open a file for writing
		return true
	default:
		_, atCommit := errors.AsType[commitError](err)
		return atCommit && !clean(full)
	}
}

// otherSchema reports whether another version of the program migrated the file.
func otherSchema(err error) bool {
	return errors.Is(err, store.ErrNewerSchema) || errors.Is(err, store.ErrOlderSchema)
}

// damaged reports whether the file is not a sound database.
func damaged(err error) bool {
	primary := code(err).ToPrimary()
	return primary == sqlite.ResultCorrupt || primary == sqlite.ResultNotADB
}

// inWords adds what to do to the error of a damaged file.
func inWords(err error) error {
	if damaged(err) {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return err
}

// unusable is the error for a file that cannot be opened, in words for an operator.
func unusable(path string, err error) error {
	full := code(err)
	if noSpace(full) {
		return fmt.Errorf("sqlite: cannot open %s: the disk is full (%s): make room", path, full)
	}
	switch full.ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return fmt.Errorf("sqlite: cannot open %s (%s): %w", path, full, store.ErrDamaged)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen:
		return fmt.Errorf("sqlite: cannot open %s: %w", path, dbfile.NoAccess(path, full.ToError()))
	default:
		return fmt.Errorf("sqlite: cannot open %s: %w", path, err)
	}
}

// clean reports whether the process can go on after a failed COMMIT: the disk was full or a deferred constraint failed,
// and nothing was written, or as noSpace says.
func clean(full sqlite.ResultCode) bool {
	switch full.ToPrimary() {
	case sqlite.ResultFull, sqlite.ResultBusy, sqlite.ResultConstraint:
		return true
	default:
		return noSpace(full)
	}
}

// noSpace reports whether a full disk caused an I/O error: the index of the write-ahead log could
// not grow. The log is sound, so the process can go on. A commit that fails so has an unknown
// outcome, which its caller learns.
func noSpace(full sqlite.ResultCode) bool {
	return full == sqlite.ResultIOErrSHMSize || full == sqlite.ResultIOErrSHMOpen
}

// otherType is SQLITE_CONSTRAINT_DATATYPE: a value has another type than its column. All tables are strict, and
// statements give each column its type. So it is a sum of integers that overflowed into a float.
const otherType = sqlite.ResultConstraint | 12<<8

// classify wraps errors of the database in CodeUnavailable, that of a sum too large for its column in ErrOverflow, and
// that of a frozen database in ErrCutOver.
// Errors of the domain and of single rows stay as they are.
func classify(err error) error {
	full := code(err)
	if full.ToPrimary() == sqlite.ResultFull || noSpace(full) {
		return rewards.Unavailable("the disk is full", err)
	}
	switch full.ToPrimary() { //nolint:exhaustive // others stay as they are
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return busy(err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultIOErr, sqlite.ResultNoMem:
		return rewards.Unavailable("the database cannot be used now", err)
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return rewards.Unavailable("the database cannot be used now", inWords(err))
	}
	if full == otherType {
		return fmt.Errorf("%w: %w", store.ErrOverflow, err)
	}
	if refused(err) {
		return fmt.Errorf("%w: %w", store.ErrCutOver, err)
	}
	_, atCommit := errors.AsType[commitError](err)
	_, unsynced := errors.AsType[unsyncedError](err)
	if atCommit || unsynced {
		return rewards.Unavailable("the outcome of the commit is unknown", err)
	}
	if otherSchema(err) {
		return rewards.Unavailable("the service is stopping: the database has another version", err)
	}
	return err
}
