// Package books keeps the paper brokerage's account, orders, positions, corporate actions
// and clock in an SQLite file. Cash and positions always balance, an accepted order
// survives a crash, and a client order id is accepted once. Two processes may have the
// same file open.
//
// Nothing happens in the background: each call that depends on the time first carries out
// what has fallen due since the last one (settle.go), so that a test can set the time.
package books

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/money"
)

// Options say what to trade. All are needed.
type Options struct {
	Catalog []exchange.Asset
	Hours   exchange.Hours
	Seed    uint64    // of prices and fill times; stored when the books are created
	Cash    money.USD // stored when the books are created
	Now     func() time.Time
	IDs     *random.IDs
	Faults  *faults.Set
}

// Books are the brokerage's durable state, and the exchange that it trades on. They are
// safe for concurrent use. Their errors are *apierror.Error when the request is at fault.
type Books struct {
	Exchange *exchange.Exchange
	Clock    *Clock
	Account  Account

	loading sync.Mutex
	loaded  atomic.Int64 // the revision of the books that the exchange follows; -1: none

	seed   uint64
	ids    *random.IDs
	faults *faults.Set
	writer *sql.DB // one connection, whose transactions are immediate
	reader *sql.DB // several; the writer itself when the books are in memory
}

// Account is what never changes of the one account.
type Account struct {
	ID        string
	Number    string // "PA" and ten digits and capital letters
	CreatedAt time.Time
}

// Open opens the books in a file, or in memory until Close; see paper.Open.
func Open(ctx context.Context, path string, o Options) (*Books, error) {
	b := &Books{Clock: &Clock{real: o.Now}, ids: o.IDs, faults: o.Faults}
	b.loaded.Store(-1)
	id, err := b.ids.Next()
	if err != nil {
		return nil, err
	}
	number := "PA" + strings.ToUpper(strings.ReplaceAll(id, "-", "")[:10])
	if err := b.connect(ctx, path); err != nil {
		return nil, fmt.Errorf("cannot open the books %q: %w", path, err)
	}
	if err := b.begin(ctx, o, Account{id, number, b.Clock.Now()}); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the books %q: %w", path, err), b.Close())
	}
	if b.Exchange, err = exchange.New(o.Catalog, o.Hours, b.seed); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// begin creates missing tables and reads what is stored once.
func (b *Books) begin(ctx context.Context, o Options, first Account) error {
	if err := b.checkLibrary(ctx); err != nil {
		return err
	}
	if err := b.migrate(ctx, o, first); err != nil {
		return err
	}
	var seed int64 // the bits of the unsigned seed
	err := b.reader.QueryRowContext(ctx, "SELECT id, number, seed, created_at FROM account").
		Scan(&b.Account.ID, &b.Account.Number, &seed, scanTime{&b.Account.CreatedAt})
	if err != nil {
		return err
	}
	b.seed = uint64(seed)
	b.Clock.test, err = b.readClock(ctx)
	return err
}

// Close closes the books. Calls that are under way fail.
func (b *Books) Close() error {
	if b.reader == b.writer {
		return b.writer.Close()
	}
	return errors.Join(b.reader.Close(), b.writer.Close()) // the last to close checkpoints the log
}

// update runs f in a transaction that has the write lock from its start. It is
// committed when f returns nil.
func (b *Books) update(ctx context.Context, f func(*sql.Tx) error) error {
	return inTx(ctx, b.writer, f)
}

func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

type row interface{ Scan(dest ...any) error }

func scanAll[V any](rows *sql.Rows, err error, scan func(row) (V, error)) ([]V, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err reports it
	var list []V
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// scanTime reads a stored time; null is the zero time.
type scanTime struct{ at *time.Time }

// Scan reads microseconds.
func (s scanTime) Scan(value any) error {
	switch n := value.(type) {
	case nil:
		*s.at = time.Time{}
	case int64:
		*s.at = time.UnixMicro(n).UTC()
	default:
		return fmt.Errorf("stored time: got %T, want an integer", value)
	}
	return nil
}

// stored returns a time as it is stored: in microseconds, null for the zero time.
func stored(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// bounds returns two exclusive bounds in microseconds; a zero time is no bound.
func bounds(after, until time.Time) (int64, int64) {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if !after.IsZero() {
		low = after.UnixMicro()
	}
	if !until.IsZero() {
		high = until.Add(time.Microsecond - 1).UnixMicro() // rounded up
	}
	return low, high
}
