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
// the shares do not suffice, or that a number does not fit the books.
//
// Nothing happens by itself: progress carries out what has fallen due, and each
// request that looks at the books calls it first (a new order does the same in its
// own transaction, to save a commit). The books then are as if it all
// had happened at its instant.

// duePerTransaction bounds how long one transaction keeps other writers waiting.
const duePerTransaction = 500

// progress brings all orders up to date.
func (b *Brokerage) progress(ctx context.Context, now time.Time) error {
	var due bool
	const look = "SELECT EXISTS (SELECT 1 FROM orders WHERE due_at IS NOT NULL AND due_at <= ?1)"
	err := b.books.reader.QueryRowContext(ctx, look, now.UnixMicro()).Scan(&due)
	for err == nil && due { // usually nothing is, and the write lock is not needed
		err = b.books.update(ctx, func(tx *sql.Tx) error {
			due, err = b.settleDue(ctx, tx, now)
			return err
		})
	}
	return err
}

// settleDue carries out the orders that have fallen due first, up to a limit, and
// says whether there may be more.
func (b *Brokerage) settleDue(ctx context.Context, tx *sql.Tx, now time.Time) (more bool, err error) {
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
	l := b.market.bySymbol[o.symbol]
	if l == nil { // it left the catalog while the order was open
		return end(ctx, tx, o, stateRejected, o.dueAt)
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

// errCannotFill says that an order is to be rejected at its fill.
var errCannotFill = errors.New("the order can't be filled")

// fillBuy fills a buy: by dollars, as many billionths of a share as they pay for.
func fillBuy(ctx context.Context, tx *sql.Tx, o *order, price money.Price) error {
	qty := o.qty
	if qty == 0 {
		var err error
		if qty, err = money.SharesFor(o.notional, price); err != nil {
			return errCannotFill
		}
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
	qty := o.qty
	if qty == 0 {
		wanted, err := money.SharesFor(o.notional, price)
		if err != nil {
			return errCannotFill
		}
		qty = min(wanted, p.qty-heldQty+o.holdQty)
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

// fill is what filling an order does to the books.
type fill struct {
	qty      money.Shares
	price    money.Price
	value    money.USD
	cash     money.USD // added to the account's
	position position  // as it is afterwards
}

// book enters a fill: the order, the account and the position in one transaction.
func book(ctx context.Context, tx *sql.Tx, o *order, f fill) error {
	_, err := tx.ExecContext(ctx, `UPDATE orders SET state = 'filled', due_at = NULL,
		ended_at = ?2, updated_at = ?2, filled_at = ?2, filled_qty = ?3, filled_avg_price = ?4,
		filled_value = ?5 WHERE seq = ?1`,
		o.seq, o.dueAt.UnixMicro(), int64(f.qty), int64(f.price), int64(f.value))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE account SET cash = cash + ?1, held = held - ?2`,
		int64(f.cash), int64(o.hold))
	if err != nil {
		return err
	}
	return writePosition(ctx, tx, f.position)
}

// end closes an order of which nothing was filled and frees what it held.
func end(ctx context.Context, tx *sql.Tx, o *order, s state, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE orders SET state = ?2, due_at = NULL, ended_at = ?3, updated_at = ?3
		WHERE seq = ?1`, o.seq, string(s), at.UnixMicro())
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE account SET held = held - ?1`, int64(o.hold))
	return err
}
