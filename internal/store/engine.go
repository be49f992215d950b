package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/rewards"
)

// Engine is what differs between databases. Queries are written once, with
// numbered marks (?1).
type Engine interface {
	// Read runs f over one snapshot of what was committed before. f is run again only
	// when the database was lost before anything was read. When ctx ends, the running
	// statement is interrupted and Read fails with rewards.CodeUnavailable.
	Read(ctx context.Context, f func(context.Context, Tx) error) error
	// Write runs f in one transaction, alone, and commits it durably when f returns
	// nil. ctx bounds only the wait for the turn: what has begun is carried through. f may
	// be run again when it came to nothing, after what others wrote meanwhile: what it
	// tells must be of its last run alone.
	// It fails with rewards.CodeUnavailable when the database cannot take the write
	// now or when it is not known whether it was committed; otherwise an error means
	// that nothing was written.
	Write(ctx context.Context, f func(context.Context, Tx) error) error
	// WriteForClients is Write for what clients send: it runs alone among its like, and may run
	// beside a Write. It fails with ErrUnknownOutcome too when it is not known whether it
	// was committed and the process goes on.
	WriteForClients(ctx context.Context, f func(context.Context, Tx) error) error
	// Backup writes a consistent copy of everything committed to a new file. An engine
	// with tools of its own for that fails and names them.
	Backup(ctx context.Context, path string) error
	// Failed delivers the error after which the process must stop and start anew:
	// a commit whose outcome is unknown, or a damaged database.
	Failed() <-chan error
	// Close waits for running transactions and closes the database.
	Close() error
}

// ErrUnknownOutcome says that a commit may have happened, or not.
var ErrUnknownOutcome = errors.New("store: it is not known whether it was committed")

// ErrNewerSchema says that the database was written by a newer version of the program.
var ErrNewerSchema = errors.New("the database was written by a newer version of stockrewards: use that version")

// ErrOlderSchema says that the database was written by an older version of the program.
var ErrOlderSchema = errors.New("the database was written by an older version of stockrewards: " +
	"start serve of this version once, which brings it up to date")

// Tx is a running transaction.
type Tx interface {
	// Exec runs a statement and tells how many rows it touched.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// ExecEach runs a statement once for each row of arguments, in one exchange where
	// the database is far away, and tells how many rows they touched in all.
	ExecEach(ctx context.Context, query string, rows [][]any) (int64, error)
	// Query calls each for every row.
	Query(ctx context.Context, each func(Row) error, query string, args ...any) error
}

// Row is the row under the cursor.
type Row interface {
	Scan(dest ...any) error
}

// one runs a query of at most one row and tells whether there was one.
func one(ctx context.Context, tx Tx, dest []any, query string, args ...any) (bool, error) {
	found := false
	err := tx.Query(ctx, func(row Row) error {
		found = true
		return row.Scan(dest...)
	}, query, args...)
	return found, err
}

// FixedLength is a destination of fixed length: an engine may write the bytes of its column
// there, when there are as many.
type FixedLength interface {
	sql.Scanner
	Bytes() []byte
}

// idScanner reads an id of 16 bytes, or any other value of fixed length.
type idScanner struct{ dest []byte }

var _ FixedLength = idScanner{}

// Bytes implements Bytes.
func (s idScanner) Bytes() []byte { return s.dest }

// Scan implements sql.Scanner.
func (s idScanner) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok || len(b) != len(s.dest) {
		return fmt.Errorf("store: %d bytes expected, got %v", len(s.dest), value)
	}
	copy(s.dest, b)
	return nil
}

func toID[T any](id *rewards.ID[T]) sql.Scanner { return idScanner{id[:]} }

// toTime reads a time kept as UTC microseconds; 0 is the zero time.
type toTime struct{ dest *time.Time }

// Scan implements sql.Scanner.
func (s toTime) Scan(value any) error {
	micros, ok := value.(int64)
	if !ok {
		return fmt.Errorf("store: a time expected, got %v", value)
	}
	*s.dest = time.Time{}
	if micros != 0 {
		*s.dest = time.UnixMicro(micros).UTC()
	}
	return nil
}

// toFlag reads a truth, kept as 0 or 1, or as the database's own kind.
type toFlag struct{ dest *bool }

// Scan implements sql.Scanner.
func (s toFlag) Scan(value any) error {
	switch v := value.(type) {
	case int64:
		*s.dest = v != 0
	case bool:
		*s.dest = v
	default:
		return fmt.Errorf("store: a flag expected, got %v", value)
	}
	return nil
}

// micros is a time as it is kept.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// latest keeps what follows from preceding its cause when a clock was set back.
func latest(now, cause time.Time) time.Time {
	if now.Before(cause) {
		return cause
	}
	return now
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
