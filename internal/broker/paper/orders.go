package paper

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"
)

// The limits of a list of orders.
const (
	defaultOrders = 50
	maxOrders     = 500
)

// orderFilter says which orders to list.
type orderFilter struct {
	open, closed bool // which of the two are wanted
	after, until time.Time
	descending   bool
	symbols      string // ",AAPL,BRK.B,"; empty for all
	side         string // empty for both
	limit        int
}

// The parts of the query. Each order and kind has its own text, so that each finds
// its index.
const (
	listHead = "SELECT " + orderColumns + " FROM orders WHERE submitted_at > ?1 AND submitted_at < ?2" +
		" AND hidden_until <= ?6"
	listOpen  = " AND due_at IS NOT NULL"
	listEnded = " AND due_at IS NULL"
	listRest  = " AND (?3 = '' OR instr(?3, ',' || symbol || ',') > 0) AND (?4 = '' OR side = ?4)"
	listAsc   = " ORDER BY submitted_at, seq LIMIT ?5"
	listDesc  = " ORDER BY submitted_at DESC, seq DESC LIMIT ?5"
)

func listQuery(open, closed, descending bool) string {
	switch {
	case !closed && descending:
		return listHead + listOpen + listRest + listDesc
	case !closed:
		return listHead + listOpen + listRest + listAsc
	case !open && descending:
		return listHead + listEnded + listRest + listDesc
	case !open:
		return listHead + listEnded + listRest + listAsc
	case descending:
		return listHead + listRest + listDesc
	default:
		return listHead + listRest + listAsc
	}
}

// listOrders lists orders by their time of submission.
func (b *Brokerage) listOrders(ctx context.Context, f orderFilter, now time.Time) ([]*order, error) {
	after, until := int64(math.MinInt64), int64(math.MaxInt64)
	if !f.after.IsZero() {
		after = f.after.UnixMicro()
	}
	if !f.until.IsZero() {
		until = f.until.Add(time.Microsecond - 1).UnixMicro() // rounded up: the bound is exclusive
	}
	query := listQuery(f.open, f.closed, f.descending)
	return scanOrders(b.books.reader.QueryContext(ctx, query,
		after, until, f.symbols, f.side, f.limit, now.UnixMicro()))
}

// orderByID is the order with that id of the brokerage's.
func (b *Brokerage) orderByID(ctx context.Context, id string, now time.Time) (*order, error) {
	return b.oneOrder(ctx, "SELECT "+orderColumns+" FROM orders WHERE id = ?1 AND hidden_until <= ?2", id, now)
}

// orderByClientID is the order that was sent with that client order id.
func (b *Brokerage) orderByClientID(ctx context.Context, id string, now time.Time) (*order, error) {
	const query = "SELECT " + orderColumns + " FROM orders WHERE client_order_id = ?1 AND hidden_until <= ?2"
	return b.oneOrder(ctx, query, id, now)
}

func (b *Brokerage) oneOrder(ctx context.Context, query, id string, now time.Time) (*order, error) {
	o, err := scanOrder(b.books.reader.QueryRowContext(ctx, query, id, now.UnixMicro()))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound("order not found for %s", id)
	}
	return o, err
}

// cancel cancels an order that is still open.
func (b *Brokerage) cancel(ctx context.Context, id string, now time.Time) error {
	return b.books.update(ctx, func(tx *sql.Tx) error {
		o, err := scanOrder(tx.QueryRowContext(ctx, "SELECT "+orderColumns+" FROM orders WHERE id = ?1", id))
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("order not found for %s", id)
		}
		if err != nil {
			return err
		}
		if o.state != stateOpen {
			return unprocessable("order is already in %q state", o.state)
		}
		return end(ctx, tx, o, stateCanceled, now)
	})
}
