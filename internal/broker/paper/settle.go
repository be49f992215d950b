package paper

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/money"
)

// The life of an order. When it is accepted everything is decided but the price:
// when the market gets it (at once, or at the next open), and when it falls due
// after that. An order that falls due before the close of its session is filled
// then, at the model's price of that instant; another expires at the close. It can
// still be rejected at its fill, when the price has moved so far that the cash or
// the shares do not suffice, or that a number does not fit the books. A fault can
// give it another life (fate.go): a part is filled, and it falls due again.
//
// Nothing happens by itself: progress carries out what has fallen due, and each
// request that looks at the books calls it first (a new order does the same in its
// own transaction, to save a commit). The books then are as if it all
// had happened at its instant.

// duePerTransaction bounds how long one transaction keeps other writers waiting.
const duePerTransaction = 500

// progress brings all orders and corporate actions up to date.
func (b *Brokerage) progress(ctx context.Context, now time.Time) error {
	var due bool
	const look = `SELECT EXISTS (SELECT 1 FROM orders WHERE due_at IS NOT NULL AND due_at <= ?1)
		OR EXISTS (SELECT 1 FROM actions WHERE state = 'announced' AND happens_at <= ?1)`
	err := b.books.reader.QueryRowContext(ctx, look, now.UnixMicro()).Scan(&due)
	for err == nil && due { // usually nothing is, and the write lock is not needed
		err = b.books.update(ctx, func(tx *sql.Tx) error {
			due, err = b.settleDue(ctx, tx, now)
			return err
		})
	}
	return err
}

// settleDue carries out what has fallen due first, up to a limit, and says whether
// there may be more. A corporate action comes after the orders that fell due before it.
func (b *Brokerage) settleDue(ctx context.Context, tx *sql.Tx, now time.Time) (more bool, err error) {
	next, err := nextAction(ctx, tx, now)
	if err != nil {
		return false, err
	}
	if next != nil {
		now = next.happensAt.Add(-time.Microsecond)
	}
	more, err = b.settleOrders(ctx, tx, now)
	if err != nil || more || next == nil {
		return more, err
	}
	return true, happen(ctx, tx, next)
}

// settleOrders carries out the orders that have fallen due first, up to a limit, and
// says whether there may be more.
func (b *Brokerage) settleOrders(ctx context.Context, tx *sql.Tx, now time.Time) (more bool, err error) {
	due, err := scanOrders(tx.QueryContext(ctx, `SELECT `+orderColumns+` FROM orders
		WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at, seq LIMIT ?2`,
		now.UnixMicro(), duePerTransaction))
	if err != nil {
		return false, err
	}
	for _, o := range due {
		if err := b.settle(ctx, tx, o); err != nil {
			return false, err
		}
	}
	return len(due) == duePerTransaction, nil
}

// settle carries out one order at the instant it fell due.
func (b *Brokerage) settle(ctx context.Context, tx *sql.Tx, o *order) error {
	if !o.expiresAt.IsZero() && !o.dueAt.Before(o.expiresAt) {
		return end(ctx, tx, o, stateExpired, o.dueAt)
	}
	if state, ends := o.ending(); ends {
		return end(ctx, tx, o, state, o.dueAt)
	}
	l := b.market.bySymbol[o.symbol]
	if l == nil { // it left the catalog while the order was open
		return end(ctx, tx, o, stateRejected, o.dueAt)
	}
	if until := b.market.dark(o.symbol, o.dueAt); !until.IsZero() {
		return o.postpone(ctx, tx, until.Add(fillTime(b.books.seed, o.id)))
	}
	price := b.market.price(l, o.dueAt)
	var err error
	if o.side == sideBuy {
		err = fillBuy(ctx, tx, o, price)
	} else {
		err = fillSell(ctx, tx, o, price)
	}
	if errors.Is(err, errCannotFill) {
		return end(ctx, tx, o, stateRejected, o.dueAt)
	}
	return err
}

// postpone lets an order wait that falls due while its stock is not traded.
func (o *order) postpone(ctx context.Context, tx *sql.Tx, due time.Time) error {
	if !o.expiresAt.IsZero() && o.expiresAt.Before(due) {
		due = o.expiresAt
	}
	_, err := tx.ExecContext(ctx, "UPDATE orders SET due_at = ?2 WHERE seq = ?1", o.seq, due.UnixMicro())
	return err
}

// errCannotFill says that an order is to be rejected at its fill.
var errCannotFill = errors.New("the order can't be filled")

// fillBuy fills a buy: by dollars, as many billionths of a share as they pay for.
func fillBuy(ctx context.Context, tx *sql.Tx, o *order, price money.Price) error {
	qty, err := o.wanted(price)
	if err != nil {
		return err
	}
	value, err := money.Value(qty, price, money.HalfAway)
	if err != nil || qty == 0 {
		return errCannotFill
	}
	funds, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	if value > funds.cash-funds.held+o.hold {
		return errCannotFill
	}
	p, err := readPosition(ctx, tx, o.symbol)
	if err != nil {
		return err
	}
	var qtyErr, costErr error
	p.qty, qtyErr = money.AddShares(p.qty, qty)
	p.cost, costErr = money.AddUSD(p.cost, value)
	if qtyErr != nil || costErr != nil {
		return errCannotFill
	}
	return book(ctx, tx, o, fill{qty: qty, price: price, value: value, cash: -value, position: p})
}

// fillSell fills a sell: by dollars, as many shares as bring them, but never more
// than are there.
func fillSell(ctx context.Context, tx *sql.Tx, o *order, price money.Price) error {
	p, err := readPosition(ctx, tx, o.symbol)
	if err != nil {
		return err
	}
	heldQty, err := readHeldShares(ctx, tx, o.symbol)
	if err != nil {
		return err
	}
	qty, err := o.wanted(price)
	if err != nil {
		return err
	}
	if o.notional > 0 {
		qty = min(qty, p.qty-heldQty+o.holdQty)
	}
	value, err := money.Value(qty, price, money.HalfAway)
	if err != nil || qty <= 0 || qty > p.qty {
		return errCannotFill
	}
	funds, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	if _, err := money.AddUSD(funds.cash, value); err != nil {
		return errCannotFill
	}
	cost, err := money.MulDiv(int64(p.cost), int64(qty), int64(p.qty), money.Down)
	if err != nil {
		return errCannotFill
	}
	p.cost -= money.USD(cost)
	p.qty -= qty
	return book(ctx, tx, o, fill{qty: qty, price: price, value: value, cash: value, position: p})
}

// wanted is how many shares are to be bought or sold now: the rest of the order,
// or a portion of that.
func (o *order) wanted(price money.Price) (money.Shares, error) {
	const whole = 100
	portion := o.portion()
	if o.qty > 0 {
		qty, err := money.MulDiv(int64(o.qty-o.filledQty), portion, whole, money.Down)
		return money.Shares(qty), err
	}
	dollars, err := money.MulDiv(int64(o.notional-o.filledValue), portion, whole, money.Down)
	if err != nil {
		return 0, errCannotFill
	}
	qty, err := money.SharesFor(money.USD(dollars), price)
	if err != nil {
		return 0, errCannotFill
	}
	return qty, nil
}

// fill is what filling an order, or a part of it, does to the books.
type fill struct {
	qty      money.Shares
	price    money.Price
	value    money.USD
	cash     money.USD // added to the account's
	position position  // as it is afterwards
}

// book enters a fill: the order, the account and the position in one transaction.
func book(ctx context.Context, tx *sql.Tx, o *order, f fill) error {
	total, price, err := o.average(f)
	if err != nil {
		return err
	}
	state, next, ended := stateFilled, o.nextDue(), o.dueAt
	freed, freedQty := o.hold, o.holdQty
	if !next.IsZero() {
		state, ended = stateOpen, time.Time{}
		freed, freedQty = min(freed, f.value), min(freedQty, f.qty)
	}
	_, err = tx.ExecContext(ctx, `UPDATE orders SET state = ?2, due_at = ?3, ended_at = ?4, filled_at = ?4,
		updated_at = ?5, filled_qty = ?6, filled_avg_price = ?7, filled_value = filled_value + ?8,
		hold = hold - ?9, hold_qty = hold_qty - ?10 WHERE seq = ?1`,
		o.seq, string(state), nullMicros(next), nullMicros(ended), o.dueAt.UnixMicro(),
		int64(total), int64(price), int64(f.value), int64(freed), int64(freedQty))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE account SET cash = cash + ?1, held = held - ?2`,
		int64(f.cash), int64(freed))
	if err != nil {
		return err
	}
	if err := insertActivity(ctx, tx, o.activity(f, total, state)); err != nil {
		return err
	}
	return writePosition(ctx, tx, f.position)
}

// average is the order's quantity after the fill and the average price of all of it.
func (o *order) average(f fill) (money.Shares, money.Price, error) {
	if o.filledQty == 0 {
		return f.qty, f.price, nil
	}
	total, err := money.AddShares(o.filledQty, f.qty)
	if err != nil {
		return 0, 0, errCannotFill
	}
	price, err := money.MulDiv(int64(o.filledValue+f.value), averageScale, int64(total), money.HalfAway)
	if err != nil {
		return 0, 0, errCannotFill
	}
	return total, money.Price(price), nil
}

// end closes an order of which no more is filled and frees what it held.
func end(ctx context.Context, tx *sql.Tx, o *order, s state, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE orders SET state = ?2, due_at = NULL, ended_at = ?3, updated_at = ?3,
		hold = 0, hold_qty = 0 WHERE seq = ?1`, o.seq, string(s), at.UnixMicro())
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE account SET held = held - ?1`, int64(o.hold))
	return err
}
