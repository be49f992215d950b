package books

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
)

// The life of an order. When it is accepted, all but its price is decided: when it reaches
// the market (at once, or at the next open), and when it falls due after that. An order
// that falls due before the close of its session is filled then, at the exchange's price
// of that instant; another one expires at the close. The fill rejects an order when the
// price has moved so far that the cash or the shares no longer suffice, or when a number
// overflows. A fault can change this life (fate.go), for example with a partial fill after
// which the order falls due again.

// duePerTransaction is the largest number of orders in one transaction, so that other
// writers do not wait for long.
const duePerTransaction = 500

// catchUp carries out all orders and corporate actions that are due, each at its due
// time. It takes the write lock only when something is due.
func (b *Books) catchUp(ctx context.Context, now time.Time) error {
	const orderDue = "EXISTS (SELECT 1 FROM orders WHERE due_at IS NOT NULL AND due_at <= ?1)"
	return b.catchUpIf(ctx, orderDue+" OR "+actionDue, now)
}

const actionDue = "EXISTS (SELECT 1 FROM actions WHERE due_at IS NOT NULL AND due_at <= ?1)"

// actionsCatchUp does the same when a corporate action is due, and otherwise nothing.
func (b *Books) actionsCatchUp(ctx context.Context, now time.Time) error {
	return b.catchUpIf(ctx, actionDue, now)
}

func (b *Books) catchUpIf(ctx context.Context, condition string, now time.Time) error {
	var due bool
	err := b.reader.QueryRowContext(ctx, "SELECT "+condition, stored(now)).Scan(&due)
	for err == nil && due {
		err = b.update(ctx, func(tx *sql.Tx) error {
			due, err = b.settleDue(ctx, tx, now)
			return err
		})
		if err == nil {
			err = b.load(ctx)
		}
	}
	return err
}

// settleDue carries out what fell due first, up to a limit, and reports whether there may
// be more. A corporate action follows the orders that fell due before it. It needs the listings that the transaction
// before has changed, perhaps that of another request or process.
func (b *Books) settleDue(ctx context.Context, tx *sql.Tx, now time.Time) (more bool, err error) {
	if err := b.loadIn(ctx, tx); err != nil {
		return false, err
	}
	next, err := nextAction(ctx, tx, now)
	if err != nil {
		return false, err
	}
	if next != nil {
		now = next.dueAt.Add(-time.Microsecond)
	}
	rows, err := tx.QueryContext(ctx, selectOrder+`WHERE due_at IS NOT NULL AND due_at <= ?1
		ORDER BY due_at, seq LIMIT ?2`, stored(now), duePerTransaction)
	due, err := scanAll(rows, err, scanOrder)
	if err != nil {
		return false, err
	}
	for _, o := range due {
		if err := b.settle(ctx, tx, o); err != nil {
			return false, err
		}
	}
	if len(due) == duePerTransaction || next == nil {
		return len(due) == duePerTransaction, nil
	}
	return true, b.advance(ctx, tx, next)
}

// settle carries out one order as of the time at which it fell due.
func (b *Books) settle(ctx context.Context, tx *sql.Tx, o *Order) error {
	if !o.ExpiresAt.IsZero() && !o.DueAt.Before(o.ExpiresAt) {
		return o.end(ctx, tx, StateExpired, o.DueAt)
	}
	if state, ends := o.ending(); ends {
		return o.end(ctx, tx, state, o.DueAt)
	}
	l := b.Exchange.BySymbol(o.Symbol)
	if l == nil { // it left the catalog while the order was open
		return o.end(ctx, tx, StateRejected, o.DueAt)
	}
	if l.Gone {
		return o.end(ctx, tx, StateCanceled, o.DueAt)
	}
	until := b.Exchange.HaltedUntil(l, o.DueAt)
	if until.IsZero() {
		until = b.Exchange.ClosedUntil(o.DueAt)
	}
	if !until.IsZero() {
		resume := o.byExpiry(until.Add(fillTime(b.seed, o.ID)))
		_, err := tx.ExecContext(ctx, "UPDATE orders SET due_at = ?2 WHERE seq = ?1", o.seq, stored(resume))
		return err
	}
	err := b.fill(ctx, tx, o, l)
	if errors.Is(err, errCannotFill) {
		return o.end(ctx, tx, StateRejected, o.DueAt)
	}
	return err
}

// errCannotFill is the error of an order that must be rejected at its fill.
var errCannotFill = errors.New("cannot fill the order")

type fill struct {
	qty   money.Shares
	price money.Price
	value money.USD
}

// fill fills the order, or a part of it, at the price of the time at which it fell due.
func (b *Books) fill(ctx context.Context, tx *sql.Tx, o *Order, l *exchange.Listing) error {
	funds, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	p, err := readPosition(ctx, tx, o.Symbol)
	if err != nil {
		return err
	}
	f := fill{price: b.Exchange.Price(l, o.DueAt)}
	if f.qty, err = o.fillable(f.price); err != nil {
		return err
	}
	if o.Side == SideSell {
		held, err := readHeldShares(ctx, tx, o.Symbol)
		if err != nil {
			return err
		}
		if o.Notional > 0 {
			f.qty = min(f.qty, p.Qty-held+o.holdQty)
		}
	}
	f.value, err = money.Value(f.qty, f.price, money.HalfAway)
	if err != nil || f.qty <= 0 {
		return errCannotFill
	}
	cash := f.value
	if o.Side == SideBuy {
		cash = -f.value
		p, err = p.bought(f, funds.BuyingPower()+o.hold)
	} else {
		p, err = p.sold(f, funds.Cash)
	}
	if err != nil {
		return err
	}
	return o.book(ctx, tx, f, cash, p)
}

// fillable returns how many shares to buy or sell now: the rest of the order, or a part
// of that when its fate is a partial fill.
func (o *Order) fillable(price money.Price) (money.Shares, error) {
	const whole = 100
	portion := int64(whole)
	if o.partial() {
		portion = o.Fate.Share
	}
	if o.Qty > 0 {
		qty, err := money.MulDiv(int64(o.Qty-o.FilledQty), portion, whole, money.Down)
		return money.Shares(qty), err
	}
	notional, err := money.MulDiv(int64(o.Notional-o.FilledValue), portion, whole, money.Down)
	if err != nil {
		return 0, errCannotFill
	}
	qty, err := money.SharesFor(money.USD(notional), price)
	if err != nil {
		return 0, errCannotFill
	}
	return qty, nil
}

// bought returns the position after a buy that may cost up to a limit.
func (p Position) bought(f fill, limit money.USD) (Position, error) {
	var qtyErr, costErr error
	p.Qty, qtyErr = money.AddShares(p.Qty, f.qty)
	p.Cost, costErr = money.AddUSD(p.Cost, f.value)
	if qtyErr != nil || costErr != nil || f.value > limit {
		return p, errCannotFill
	}
	return p, nil
}

// sold returns the position after a sale into an account with that cash.
func (p Position) sold(f fill, cash money.USD) (Position, error) {
	if f.qty > p.Qty {
		return p, errCannotFill
	}
	_, cashErr := money.AddUSD(cash, f.value)
	cost, costErr := money.MulDiv(int64(p.Cost), int64(f.qty), int64(p.Qty), money.Down)
	if cashErr != nil || costErr != nil {
		return p, errCannotFill
	}
	p.Cost -= money.USD(cost)
	p.Qty -= f.qty
	return p, nil
}

// book stores a fill: the order, the account's cash, the position, and the activity.
func (o *Order) book(ctx context.Context, tx *sql.Tx, f fill, cash money.USD, p Position) error {
	total, price, err := o.average(f)
	if err != nil {
		return err
	}
	state, next, ended := StateFilled, o.nextDue(), o.DueAt
	freed, freedQty := o.hold, o.holdQty
	if !next.IsZero() {
		state, ended = StateOpen, time.Time{}
		freed, freedQty = min(freed, f.value), min(freedQty, f.qty)
	}
	_, err = tx.ExecContext(ctx, `UPDATE orders SET state = ?2, due_at = ?3, ended_at = ?4, filled_at = ?4,
		updated_at = ?5, filled_qty = ?6, filled_avg_price = ?7, filled_value = filled_value + ?8,
		hold = hold - ?9, hold_qty = hold_qty - ?10 WHERE seq = ?1`,
		o.seq, state, stored(next), stored(ended), stored(o.DueAt), total, price, f.value, freed, freedQty)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE account SET cash = cash + ?1, held = held - ?2", cash, freed)
	if err != nil {
		return err
	}
	if err := o.activity(f, total, state).insert(ctx, tx); err != nil {
		return err
	}
	return writePosition(ctx, tx, p)
}

// average returns the order's quantity after a fill and the average price of all of it.
func (o *Order) average(f fill) (money.Shares, money.Price, error) {
	if o.FilledQty == 0 {
		return f.qty, f.price, nil
	}
	total, qtyErr := money.AddShares(o.FilledQty, f.qty)
	price, priceErr := AveragePrice(o.FilledValue+f.value, total)
	if qtyErr != nil || priceErr != nil {
		return 0, 0, errCannotFill
	}
	return total, price, nil
}

// AveragePrice returns the price of a share, rounded to billionths. It fails when the
// quantity is zero or the price overflows.
func AveragePrice(value money.USD, qty money.Shares) (money.Price, error) {
	const scale = 1_000_000_000_000 // millionths of a dollar per billionth of a share, to billionths of a dollar
	price, err := money.MulDiv(int64(value), scale, int64(qty), money.HalfAway)
	return money.Price(price), err
}
