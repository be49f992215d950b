package books

import (
	"context"
	"database/sql"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/money"
)

// MinNotional is the least that an order may cost.
const MinNotional = money.Dollar

// The time from an order's reaching the market to its fill.
const (
	minFillTime = 80 * time.Millisecond
	maxFillTime = 250 * time.Millisecond
)

// Ticket is a market order to buy or sell, well formed.
type Ticket struct {
	Symbol        string       // or asset id
	Side          string       // SideBuy or SideSell
	Notional      money.USD    // 0 when by quantity
	Qty           money.Shares // 0 when by notional
	ClientOrderID string       // empty: the books make one
}

// Submit accepts an order or refuses it. A client order id that was used is refused as a
// duplicate before anything else is looked at.
func (b *Books) Submit(ctx context.Context, t Ticket, now time.Time) (*Order, error) {
	id, err := b.ids.Next()
	if err == nil && t.ClientOrderID == "" {
		t.ClientOrderID, err = b.ids.Next()
	}
	if err != nil {
		return nil, err
	}
	if err := b.actionsCatchUp(ctx, now); err != nil {
		return nil, err
	}
	var o *Order
	err = b.update(ctx, func(tx *sql.Tx) error {
		for more := true; more; { // here and not by catchUp, to save a commit
			if more, err = b.settleDue(ctx, tx, now); err != nil {
				return err
			}
		}
		last, err := lastSubmission(ctx, tx, t.ClientOrderID)
		if err != nil {
			return err
		}
		l, err := b.tradable(t)
		if err != nil {
			return err
		}
		o = b.newOrder(id, l, t, now)
		o.SubmittedAt = submissionTime(now, last)
		if err := b.hold(ctx, tx, o, l, now); err != nil {
			return err
		}
		if err := o.insert(ctx, tx); err != nil || o.Fate.Kind != faults.Reject {
			return err
		}
		return o.end(ctx, tx, StateRejected, now)
	})
	return o, err
}

// lastSubmission returns when the last order was submitted, zero before the first. It
// fails when the client order id has been used.
func lastSubmission(ctx context.Context, tx *sql.Tx, clientOrderID string) (last time.Time, err error) {
	var used bool
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM orders WHERE client_order_id = ?1),
		(SELECT submitted_at FROM orders ORDER BY seq DESC LIMIT 1)`, clientOrderID).Scan(&used, scanTime{&last})
	if err == nil && used {
		err = apierror.DuplicateOrder()
	}
	return last, err
}

// submissionTime returns now, or the microsecond after the last submission when now is
// not later. So orders of one instant have distinct times, by which lists can be paged.
// After a clock that was set back by a second or more, it returns now.
func submissionTime(now, last time.Time) time.Time {
	const sameInstant = time.Second
	if !now.After(last) && last.Sub(now) < sameInstant {
		return last.Add(time.Microsecond)
	}
	return now
}

// tradable returns the listing of the ticket when it can be ordered that way.
func (b *Books) tradable(t Ticket) (*exchange.Listing, error) {
	l := b.Exchange.Find(t.Symbol)
	switch {
	case l == nil:
		return nil, apierror.Unprocessable("asset %q not found", t.Symbol)
	case l.NotTradable:
		return nil, apierror.Unprocessable("asset %q is not tradable", l.Symbol)
	case l.NotFractionable && t.Qty%money.Share != 0, l.NotFractionable && t.Notional != 0:
		return nil, apierror.Forbidden("asset %q is not fractionable", l.Symbol)
	}
	return l, nil
}

// newOrder decides when the order reaches the market, its fate, and when it falls due.
func (b *Books) newOrder(id string, l *exchange.Listing, t Ticket, now time.Time) *Order {
	o := &Order{
		ID: id, ClientOrderID: t.ClientOrderID, Symbol: l.Symbol, AssetID: l.ID, Side: t.Side,
		Notional: t.Notional, Qty: t.Qty, State: StateOpen,
		SubmittedAt: now, UpdatedAt: now, routedAt: now, hiddenUntil: time.UnixMicro(0),
	}
	s := b.Exchange.SessionAt(now)
	if now.Before(s.Open) {
		o.routedAt = s.Open.UTC()
	}
	if b.Exchange.Closes() {
		o.ExpiresAt = s.Close.UTC()
	}
	o.Fate = b.faults.StrikeOrder(l.Symbol, now)
	if f := b.faults.StrikeVisibility(l.Symbol, now); f.Kind != "" {
		o.hiddenUntil = now.Add(f.By)
	}
	o.DueAt = o.firstDue(fillTime(b.seed, id))
	return o
}

// fillTime returns how long the market takes to fill the order, to the microsecond.
func fillTime(seed uint64, id string) time.Duration {
	const span = uint64((maxFillTime - minFillTime) / time.Microsecond)
	return minFillTime + time.Duration(random.Hash(seed, id)%(span+1))*time.Microsecond
}

// hold sets the order's dollars or shares aside, or refuses it when they are missing.
func (b *Books) hold(ctx context.Context, tx *sql.Tx, o *Order, l *exchange.Listing, now time.Time) error {
	price := b.Exchange.Price(l, b.Exchange.MomentOf(l, b.Exchange.Moment(now)).Trade)
	if o.Side == SideSell {
		return o.holdShares(ctx, tx, price)
	}
	o.hold = o.Notional
	if o.Qty > 0 {
		const headroom = 10 // percent, since the price of the fill is not known yet
		value, err := money.Value(o.Qty, price, money.Down)
		if err == nil && value < MinNotional {
			return apierror.TooSmall()
		}
		if err == nil {
			o.hold, err = money.AddUSD(value, value/100*headroom)
		}
		if err != nil {
			return apierror.Unprocessable("qty is too large")
		}
	}
	f, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	if o.hold > f.BuyingPower() {
		return apierror.NoBuyingPower(f.BuyingPower().String(), o.hold.String())
	}
	_, err = tx.ExecContext(ctx, "UPDATE account SET held = held + ?1", o.hold)
	return err
}

func (o *Order) holdShares(ctx context.Context, tx *sql.Tx, price money.Price) error {
	p, err := readPosition(ctx, tx, o.Symbol)
	if err != nil {
		return err
	}
	held, err := readHeldShares(ctx, tx, o.Symbol)
	if err != nil {
		return err
	}
	o.holdQty = o.Qty
	if o.Notional > 0 {
		if o.holdQty, err = money.SharesFor(o.Notional, price); err != nil {
			return apierror.Unprocessable("notional is too large")
		}
	}
	available := p.Qty - held
	if o.holdQty > available {
		e := apierror.Forbidden("insufficient qty available for order (requested: %s, available: %s)",
			o.holdQty, available)
		e.Details = []apierror.Detail{
			{Name: "available", Value: available.String()},
			{Name: "existing_qty", Value: p.Qty.String()},
			{Name: "held_for_orders", Value: held.String()},
			{Name: "symbol", Value: o.Symbol},
		}
		return e
	}
	return nil
}

func (o *Order) insert(ctx context.Context, tx *sql.Tx) error {
	result, err := tx.ExecContext(ctx, `INSERT INTO orders
		(id, client_order_id, symbol, side, notional, qty, state, hold, hold_qty,
		submitted_at, routed_at, expires_at, due_at, updated_at, hidden_until, fate, asset_id)
		VALUES (?1, ?2, ?3, ?4, nullif(?5, 0), nullif(?6, 0), ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`,
		o.ID, o.ClientOrderID, o.Symbol, o.Side, o.Notional, o.Qty, o.State, o.hold, o.holdQty,
		stored(o.SubmittedAt), stored(o.routedAt), stored(o.ExpiresAt), stored(o.DueAt), stored(o.UpdatedAt),
		stored(o.hiddenUntil), o.Fate.String(), o.AssetID)
	if err == nil {
		o.seq, err = result.LastInsertId()
	}
	return err
}
