package paper

import (
	"database/sql"
	"time"

	"stockrewards/internal/money"
)

// state is where an order stands in the books. Alpaca's more detailed words for
// an open order follow from the time; see order.status.
type state string

const (
	stateOpen     state = "open"
	stateFilled   state = "filled"
	stateCanceled state = "canceled"
	stateExpired  state = "expired"
	stateRejected state = "rejected"
)

const (
	sideBuy  = "buy"
	sideSell = "sell"
)

// routingTime is how long an order is pending_new before it is new.
const routingTime = 20 * time.Millisecond

// order is a row of the orders.
type order struct {
	seq           int64
	id            string
	clientOrderID string
	symbol        string
	side          string
	notional      money.USD    // 0 for an order by quantity
	qty           money.Shares // 0 for an order by dollars
	state         state
	hold          money.USD
	holdQty       money.Shares
	submittedAt   time.Time
	routedAt      time.Time
	expiresAt     time.Time // zero when it does not expire
	dueAt         time.Time // zero when it is not open
	updatedAt     time.Time
	endedAt       time.Time // zero while it is open
	filledAt      time.Time // zero while nothing is filled
	filledQty     money.Shares
	filledPrice   money.Price
	filledValue   money.USD
	hiddenUntil   time.Time
	fate          Fault // without a kind: none
}

// status is Alpaca's word for the order at that time.
func (o *order) status(now time.Time) string {
	switch {
	case o.state != stateOpen:
		return string(o.state)
	case o.filledQty > 0:
		return "partially_filled"
	case now.Before(o.routedAt):
		return "accepted" // it waits for the market to open
	case now.Before(o.routedAt.Add(routingTime)):
		return "pending_new"
	default:
		return "new"
	}
}

const orderColumns = `seq, id, client_order_id, symbol, side, notional, qty, state, hold, hold_qty,
	submitted_at, routed_at, expires_at, due_at, updated_at, ended_at, filled_at,
	filled_qty, filled_avg_price, filled_value, hidden_until, fate`

// scanOrder reads the order columns of a row.
func scanOrder(row interface{ Scan(dest ...any) error }) (*order, error) {
	var (
		o                                   order
		notional, qty                       sql.NullInt64
		submitted, routed, updated          int64
		expires, due, ended, filled         sql.NullInt64
		hold, holdQty, fQty, fPrice, fValue int64
		hidden                              int64
		fate                                string
	)
	err := row.Scan(&o.seq, &o.id, &o.clientOrderID, &o.symbol, &o.side, &notional, &qty, &o.state,
		&hold, &holdQty, &submitted, &routed, &expires, &due, &updated, &ended,
		&filled, &fQty, &fPrice, &fValue, &hidden, &fate)
	if err == nil && fate != "" {
		o.fate, err = ParseFault(fate)
	}
	if err != nil {
		return nil, err
	}
	o.hiddenUntil = fromMicros(hidden)
	o.notional, o.qty = money.USD(notional.Int64), money.Shares(qty.Int64)
	o.hold, o.holdQty = money.USD(hold), money.Shares(holdQty)
	o.submittedAt, o.routedAt, o.updatedAt = fromMicros(submitted), fromMicros(routed), fromMicros(updated)
	o.expiresAt, o.dueAt = optionalTime(expires), optionalTime(due)
	o.endedAt, o.filledAt = optionalTime(ended), optionalTime(filled)
	o.filledQty, o.filledPrice, o.filledValue = money.Shares(fQty), money.Price(fPrice), money.USD(fValue)
	return &o, nil
}

func scanOrders(rows *sql.Rows, err error) ([]*order, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var list []*order
	for rows.Next() {
		o, err := scanOrder(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, rows.Err()
}

func optionalTime(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return fromMicros(n.Int64)
}

// nullMicros is a time as the books keep it, null for the zero time.
func nullMicros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// nullQuantity is a quantity as the books keep it, null for zero.
func nullQuantity[Q ~int64](q Q) sql.NullInt64 {
	return sql.NullInt64{Int64: int64(q), Valid: q != 0}
}
