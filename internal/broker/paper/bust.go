package paper

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"stockrewards/internal/money"
)

// Bust changes, as an exchange does that breaks a trade or corrects it, how many
// shares of a stock an order bought that had ended long: the order, the position and
// the cash, at the order's average price. It fails when there is no such order, when
// it is not an ended buy with a fill, when nothing would be left of the fill, and
// when the shares or the cash to change are not there.
func (b *Brokerage) Bust(ctx context.Context, clientOrderID string, filled money.Shares) error {
	now := b.clock.micros()
	if err := b.progress(ctx, now); err != nil {
		return err
	}
	return b.books.update(ctx, func(tx *sql.Tx) error {
		o, err := scanOrder(tx.QueryRowContext(ctx,
			"SELECT "+orderColumns+" FROM orders WHERE client_order_id = ?1", clientOrderID))
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("order not found for %s", clientOrderID)
		}
		if err != nil {
			return err
		}
		return bust(ctx, tx, o, filled, now)
	})
}

// bust changes an order as it is in this transaction.
func bust(ctx context.Context, tx *sql.Tx, o *order, filled money.Shares, now time.Time) error {
	if o.state == stateOpen || o.side != sideBuy || o.filledQty == 0 || filled <= 0 {
		return unprocessable("only an ended buy with a fill can be busted, and not to nothing")
	}
	value, err := money.Value(filled, o.filledPrice, money.HalfAway)
	if err != nil {
		return unprocessable("the quantity is too large")
	}
	p, err := readPosition(ctx, tx, o.symbol)
	if err != nil {
		return err
	}
	held, err := readHeldShares(ctx, tx, o.symbol)
	if err != nil {
		return err
	}
	funds, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	cost := value - o.filledValue
	p.qty, err = money.AddShares(p.qty, filled-o.filledQty)
	if err != nil || p.qty < held || cost > funds.buyingPower() {
		return unprocessable("the account has not what the change takes")
	}
	p.cost = max(0, p.cost+cost)
	_, orderErr := tx.ExecContext(ctx, `UPDATE orders SET filled_qty = ?2, filled_value = ?3, updated_at = ?4
		WHERE seq = ?1`, o.seq, int64(filled), int64(value), now.UnixMicro())
	_, cashErr := tx.ExecContext(ctx, "UPDATE account SET cash = cash - ?1", int64(cost))
	return errors.Join(orderErr, cashErr, writePosition(ctx, tx, p))
}

// bustOrder busts an order, and tells it as the books have it then.
func (b *Brokerage) bustOrder(r *http.Request) (any, error) {
	var in struct {
		FilledQty string `json:"filled_qty"`
	}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	filled, err := money.ParseShares(in.FilledQty)
	if err != nil {
		return nil, badRequest(`filled_qty must be a number of shares such as "1.5"`)
	}
	if err := b.Bust(r.Context(), r.PathValue("id"), filled); err != nil {
		return nil, err
	}
	return b.getRecord(r)
}
