package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Engine is what differs between databases. Queries are written once, with numbered parameters
// (?1).
type Engine interface {
	// Read runs f over one snapshot of the committed state. What f read is durable when Read returns, not before, but
	// for a commit of PostgreSQL whose wait for the standby somebody interrupted. It retries f only when the connection
	// is lost before f read anything. When ctx ends, it interrupts the running statement and fails with
	// rewards.CodeUnavailable.
	Read(ctx context.Context, f func(context.Context, Tx) error) error
	// Write runs f in an exclusive transaction and commits it when f returns nil. The commit is in effect when Write
	// returns, but durable only when a later Durable or Read has returned: nobody may learn of it before. ctx
	// bounds only the wait for the start of the transaction; once begun, it is completed. f may
	// be retried after others wrote; reset any captured results at its start. Write fails with
	// rewards.CodeUnavailable when the database cannot be written or when the outcome of the
	// commit is unknown, and with ErrOverflow when a sum does not fit into its column. After any
	// other error nothing was written. When another version of the
	// program has migrated the schema, Write writes nothing, fails with ErrNewerSchema and
	// reports that on Failed. Reads go on.
	Write(ctx context.Context, f func(context.Context, Tx) error) error
	// WriteForClients is Write for client requests. It excludes other WriteForClients calls, but
	// may run at the same time as a Write. It fails with ErrUnknownOutcome when the outcome of
	// the commit is unknown and the process can go on.
	WriteForClients(ctx context.Context, f func(context.Context, Tx) error) error
	// WriteBooks is Write for requests and commands that are answered by what f found, and change what Write changes
	// too: it excludes Write calls, but need not exclude WriteForClients calls. It fails as WriteForClients does. Even
	// when f wrote nothing, what f read is durable as soon as its own commit would be.
	WriteBooks(ctx context.Context, f func(context.Context, Tx) error) error
	// Durable waits until every commit that is in effect is durable, or until ctx ends. Commits become durable in
	// their order. When it fails, with rewards.CodeUnavailable, the outcome of those that were not is unknown.
	Durable(ctx context.Context) error
	// Backup writes a consistent copy of everything committed to a new file. An engine that has
	// its own backup tools fails and names them.
	Backup(ctx context.Context, path string) error
	// HeldBack says what has kept the database from freeing space for some time, and what to do; "" when nothing has.
	// It costs little.
	HeldBack(ctx context.Context) (string, error)
	// Failed delivers the error after which the process must stop and restart: a commit with an
	// unknown outcome, a damaged database, or a schema of another version.
	Failed() <-chan error
	// Close waits for running transactions and closes the database.
	Close() error
}

// SoleProcess is an engine whose database may belong to it alone.
type SoleProcess interface {
	Engine
	// Sole reports whether nothing but the engine's one Store changes the stored holdings of users
	// while it is open. The Store then serves them from memory.
	Sole() bool
}

// EarlyReader is an engine that shows commits before they are durable, and knows which apps can see them. So an app's
// reads need not wait for the disk because another app writes.
type EarlyReader interface {
	// ReadEarly is Read, but what f read of an app is durable only when a later DurableOf of it has returned.
	ReadEarly(ctx context.Context, f func(context.Context, Tx) error) error
	// DurableOf is Durable, but need not wait for a WriteOf for other apps only.
	DurableOf(ctx context.Context, app rewards.AppID) error
	// WriteOf is WriteForClients. f must change nothing that clients of other apps read. No app: all may read it.
	WriteOf(ctx context.Context, apps []rewards.AppID, f func(context.Context, Tx) error) error
}

// Filed is an engine whose database is files of this machine.
type Filed interface {
	// CheckFiles fails when a file is not in its place any more, also when nothing was written since. It reports that
	// on Failed, and nothing is written then.
	CheckFiles() error
}

// Clocked is an engine whose database may run on another machine.
type Clocked interface {
	// Clock returns the time of the database's machine.
	Clock(ctx context.Context) (time.Time, error)
}

// Vacuumer is an engine that keeps the space of removed rows until a table is vacuumed.
type Vacuumer interface {
	// Vacuum frees that space for new rows, if it may. It runs at the same time as transactions.
	Vacuum(ctx context.Context, table string) error
	// Shrink gives that space back to the disk, if it may and if that is more than some megabytes. Transactions that
	// need the table wait some milliseconds for it, and it waits for none. It reports whether nothing is left to do.
	Shrink(ctx context.Context, table string) (done bool, err error)
}

// ErrUnknownOutcome means that a commit may or may not have happened.
var ErrUnknownOutcome = errors.New("store: the outcome of the commit is unknown")

// ErrOverflow is the error of a statement whose sum does not fit into its column. It is a money.ErrOverflow.
var ErrOverflow = fmt.Errorf("a sum in the database is %w", money.ErrOverflow)

// ErrMoved means that a file of the database was moved away, removed or replaced while the process used it.
var ErrMoved = errors.New("a file of the database is not in its place")

// ErrDamaged means that a part of the database cannot be read.
var ErrDamaged = errors.New("the file of the database is damaged: keep it, and restore a backup")

// ErrNewerSchema means that a newer version of the program wrote the database.
var ErrNewerSchema = errors.New("the database was written by a newer version of stockrewards: use that version")

// ErrOlderSchema means that an older version of the program wrote the database.
var ErrOlderSchema = errors.New("the database was written by an older version of stockrewards: " +
	"back it up, then start serve of this version once, which brings it up to date")

// Tx is a running transaction.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// ExecEach runs a statement once for each row of arguments, over a network in one round
	// trip, and returns how many rows they changed in total. All rows have the same length. Over SQLite an INSERT
	// of one row takes 16 rows at once. After an error the transaction must end. A database in this process also
	// takes pointers to int64 and string, and FixedLength, which need no allocation.
	ExecEach(ctx context.Context, query string, rows [][]any) (int64, error)
	// Query calls each for every row. Write LIMIT ?1 + 0: SQLite plans a statement again, for a fifth of a
	// list's processor time, whenever a bare parameter after LIMIT is bound.
	Query(ctx context.Context, each func(Row) error, query string, args ...any) error
}

// Row is the row under the cursor.
type Row interface {
	Scan(dest ...any) error
}

// FixedLength is an argument or a scan destination of fixed length. An engine may copy a column of that length
// into Bytes.
type FixedLength interface {
	sql.Scanner
	Bytes() []byte
}

// idScanner reads a hash or another value of fixed length.
type idScanner struct{ dest []byte }

var _, _ FixedLength = idScanner{}, (*scannedID)(nil)

// Bytes implements FixedLength.
func (s idScanner) Bytes() []byte { return s.dest }

// Scan implements sql.Scanner.
func (s idScanner) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok || len(b) != len(s.dest) {
		return fmt.Errorf("store: cannot scan %v: want %d bytes", value, len(s.dest))
	}
	copy(s.dest, b)
	return nil
}

// scannedID reads an id. As a pointer it needs no allocation.
type scannedID [16]byte

// Bytes implements FixedLength.
func (s *scannedID) Bytes() []byte { return s[:] }

// Scan implements sql.Scanner.
func (s *scannedID) Scan(value any) error { return idScanner{s[:]}.Scan(value) }

func toID[T any](id *rewards.ID[T]) sql.Scanner { return (*scannedID)(id) }

// toFingerprint reads a fingerprint of any version.
type toFingerprint struct{ dest *rewards.Fingerprint }

// Scan implements sql.Scanner.
func (s toFingerprint) Scan(value any) error {
	b, ok := value.([]byte)
	f := rewards.Fingerprint{}
	copy(f[:], b)
	if !ok || !bytes.Equal(b, f.Stored()) {
		return fmt.Errorf("store: cannot scan %v: want a fingerprint", value)
	}
	*s.dest = f
	return nil
}

// toTime reads a time in UTC microseconds. 0 is the zero time.
type toTime struct{ dest *time.Time }

// Scan implements sql.Scanner.
func (s toTime) Scan(value any) error {
	micros, ok := value.(int64)
	if !ok {
		return fmt.Errorf("store: cannot scan %v: want microseconds", value)
	}
	*s.dest = time.Time{}
	if micros != 0 {
		*s.dest = time.UnixMicro(micros).UTC()
	}
	return nil
}

// toBytes reads a value of any length.
type toBytes struct{ dest *[]byte }

// Scan implements sql.Scanner.
func (s toBytes) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("store: cannot scan a %T: want bytes", value)
	}
	*s.dest = b
	return nil
}

// toFlag reads a truth value, stored as 0 or 1, or as the database's own type.
type toFlag struct{ dest *bool }

// Scan implements sql.Scanner.
func (s toFlag) Scan(value any) error {
	switch v := value.(type) {
	case int64:
		*s.dest = v != 0
	case bool:
		*s.dest = v
	default:
		return fmt.Errorf("store: cannot scan %v: want a flag", value)
	}
	return nil
}

// micros is a time as it is stored.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// latest returns now, or the time of its cause when the clock was set back in between.
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
