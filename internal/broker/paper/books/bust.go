package books

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/money"
)

// Bust corrects how many shares an ended buy bought; see paper.Brokerage.Bust.
func (b *Books) Bust(ctx context.Context, clientOrderID string, filled money.Shares, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	return b.update(ctx, func(tx *sql.Tx) error {
		const where = "WHERE client_order_id = ?1"
		o, err := oneOrder(tx.QueryRowContext(ctx, selectOrder+where, clientOrderID), clientOrderID)
		if err != nil {
			return err
		}
		return o.bust(ctx, tx, filled, now)
	})
}

func (o *Order) bust(ctx context.Context, tx *sql.Tx, filled money.Shares, now time.Time) error {
	if o.State == StateOpen || o.Side != SideBuy || o.FilledQty == 0 || filled <= 0 {
		return apierror.Unprocessable("only an ended buy with a fill can be busted, and not to zero shares")
	}
	value, err := money.Value(filled, o.FilledPrice, money.HalfAway)
	if err != nil {
		return apierror.Unprocessable("the quantity is too large")
	}
	p, err := readPosition(ctx, tx, o.Symbol)
	if err != nil {
		return err
	}
	held, err := readHeldShares(ctx, tx, o.Symbol)
	if err != nil {
		return err
	}
	funds, err := readFunds(ctx, tx)
	if err != nil {
		return err
	}
	cost := value - o.FilledValue
	p.Qty, err = money.AddShares(p.Qty, filled-o.FilledQty)
	if err != nil || p.Qty < held || cost > funds.BuyingPower() {
		return apierror.Unprocessable("the account lacks the shares or the cash for this change")
	}
	p.Cost = max(0, p.Cost+cost)
	_, orderErr := tx.ExecContext(ctx, `UPDATE orders SET filled_qty = ?2, filled_value = ?3, updated_at = ?4
		WHERE seq = ?1`, o.seq, filled, value, stored(now))
	_, cashErr := tx.ExecContext(ctx, "UPDATE account SET cash = cash - ?1", cost)
	return errors.Join(orderErr, cashErr, writePosition(ctx, tx, p))
}
