package books

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// State is an order's state in the books. Alpaca's more detailed words for an open order
// follow from the time; see Order.Status.
type State string

// The states of an order; all but the first are final.
const (
	StateOpen     State = "open"
	StateFilled   State = "filled"
	StateCanceled State = "canceled"
	StateExpired  State = "expired"
	StateRejected State = "rejected"
)

// The sides of an order.
const (
	SideBuy  = "buy"
	SideSell = "sell"
)

// Order is an order in the books.
type Order struct {
	ID            string
	ClientOrderID string
	Symbol        string // a rename changes that of an open order only
	AssetID       string
	Side          string
	Notional      money.USD    // 0 for an order by quantity
	Qty           money.Shares // 0 for an order by notional
	State         State
	SubmittedAt   time.Time
	ExpiresAt     time.Time // zero when the market never closes
	DueAt         time.Time // when something happens to it next; zero when it has ended
	UpdatedAt     time.Time
	EndedAt       time.Time // zero while it is open
	FilledAt      time.Time // zero until it is complete
	FilledQty     money.Shares
	FilledPrice   money.Price // the average
	FilledValue   money.USD   // the dollars that moved
	Fate          faults.Fault

	seq         int64
	hold        money.USD    // while it is an open buy
	holdQty     money.Shares // while it is an open sell
	routedAt    time.Time    // when it reaches the market: at once, or at the next open
	hiddenUntil time.Time    // neither listed nor found before
}

// Status returns Alpaca's word for the order's state at a time.
func (o *Order) Status(now time.Time) string {
	const routingTime = 20 * time.Millisecond
	switch {
	case o.State != StateOpen:
		return string(o.State)
	case o.FilledQty > 0:
		return "partially_filled"
	case now.Before(o.routedAt):
		return "accepted" // it waits for the market to open
	case now.Before(o.routedAt.Add(routingTime)):
		return "pending_new"
	}
	return "new"
}

const selectOrder = `SELECT seq, id, client_order_id, symbol, side, coalesce(notional, 0), coalesce(qty, 0), state,
	hold, hold_qty, submitted_at, routed_at, expires_at, due_at, updated_at, ended_at, filled_at,
	filled_qty, filled_avg_price, filled_value, hidden_until, fate, asset_id FROM orders `

func scanOrder(r row) (*Order, error) {
	var o Order
	var fate string
	err := r.Scan(&o.seq, &o.ID, &o.ClientOrderID, &o.Symbol, &o.Side, &o.Notional, &o.Qty, &o.State,
		&o.hold, &o.holdQty, scanTime{&o.SubmittedAt}, scanTime{&o.routedAt}, scanTime{&o.ExpiresAt},
		scanTime{&o.DueAt}, scanTime{&o.UpdatedAt}, scanTime{&o.EndedAt}, scanTime{&o.FilledAt},
		&o.FilledQty, &o.FilledPrice, &o.FilledValue, scanTime{&o.hiddenUntil}, &fate, &o.AssetID)
	if err == nil && fate != "" {
		o.Fate, err = faults.Parse(fate)
	}
	if o.AssetID == "" { // it is older than the column
		o.AssetID = exchange.AssetID(o.Symbol)
	}
	return &o, err
}

// oneOrder scans the order with that id. It fails with apierror.NotFound if it is missing.
func oneOrder(r *sql.Row, id string) (*Order, error) {
	o, err := scanOrder(r)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, apierror.NotFound("order not found for %s", id)
	}
	return o, err
}

// Order returns the order with an id that the brokerage gave it.
func (b *Books) Order(ctx context.Context, id string, now time.Time) (*Order, error) {
	if err := b.catchUp(ctx, now); err != nil {
		return nil, err
	}
	const where = "WHERE id = ?1 AND hidden_until <= ?2"
	return oneOrder(b.reader.QueryRowContext(ctx, selectOrder+where, id, stored(now)), id)
}

// OrderByClientID returns the order with a client order id.
func (b *Books) OrderByClientID(ctx context.Context, id string, now time.Time) (*Order, error) {
	o, err := b.ActualOrder(ctx, id, now)
	if err == nil && o.hiddenUntil.After(now) {
		return nil, apierror.NotFound("order not found for %s", id)
	}
	return o, err
}

// ActualOrder returns the order with a client order id, even one that a fault hides.
func (b *Books) ActualOrder(ctx context.Context, id string, now time.Time) (*Order, error) {
	if err := b.catchUp(ctx, now); err != nil {
		return nil, err
	}
	return oneOrder(b.reader.QueryRowContext(ctx, selectOrder+"WHERE client_order_id = ?1", id), id)
}

// OrderFilter says which orders to list, by their time of submission.
type OrderFilter struct {
	Open, Closed bool // at least one
	After, Until time.Time
	Descending   bool
	Symbols      string // ",AAPL,BRK.B,"; empty for all
	Side         string // empty for both
	Limit        int
}

// query returns separate SQL for each kind and direction, so that each uses its index.
func (f OrderFilter) query() string {
	query := selectOrder + `WHERE submitted_at > ?1 AND submitted_at < ?2 AND hidden_until <= ?6
		AND (?3 = '' OR instr(?3, ',' || symbol || ',') > 0) AND (?4 = '' OR side = ?4)`
	switch {
	case !f.Closed:
		query += " AND due_at IS NOT NULL"
	case !f.Open:
		query += " AND due_at IS NULL"
	}
	if f.Descending {
		return query + " ORDER BY submitted_at DESC, seq DESC LIMIT ?5"
	}
	return query + " ORDER BY submitted_at, seq LIMIT ?5"
}

// Orders lists orders.
func (b *Books) Orders(ctx context.Context, f OrderFilter, now time.Time) ([]*Order, error) {
	if err := b.catchUp(ctx, now); err != nil {
		return nil, err
	}
	after, until := bounds(f.After, f.Until)
	rows, err := b.reader.QueryContext(ctx, f.query(), after, until, f.Symbols, f.Side, f.Limit, stored(now))
	return scanAll(rows, err, scanOrder)
}

// Cancel cancels an order that is still open.
func (b *Books) Cancel(ctx context.Context, id string, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	return b.update(ctx, func(tx *sql.Tx) error {
		o, err := oneOrder(tx.QueryRowContext(ctx, selectOrder+"WHERE id = ?1", id), id)
		if err != nil {
			return err
		}
		if o.State != StateOpen {
			return apierror.Unprocessable("order is already in %q state", o.State)
		}
		return o.end(ctx, tx, StateCanceled, now)
	})
}

// end closes an order without a further fill and frees what it held.
func (o *Order) end(ctx context.Context, tx *sql.Tx, s State, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE orders SET state = ?2, due_at = NULL, ended_at = ?3, updated_at = ?3,
		hold = 0, hold_qty = 0 WHERE seq = ?1`, o.seq, s, stored(at))
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE account SET held = held - ?1", o.hold)
	}
	o.State, o.DueAt, o.EndedAt, o.UpdatedAt = s, time.Time{}, at, at
	o.hold, o.holdQty = 0, 0
	return err
}
