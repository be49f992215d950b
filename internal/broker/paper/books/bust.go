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
		if l := b.Exchange.ByID(o.AssetID); l != nil {
			o.Symbol = l.Symbol // it may have been renamed
		}
		change, err := o.changeNow(ctx, tx, filled)
		if err != nil {
			return err
		}
		if err := o.bust(ctx, tx, filled, change, now); err != nil {
			return err
		}
		key, err := b.ids.Next()
		if err != nil {
			return err
		}
		return o.correction(ctx, tx, filled, change, key, now)
	})
}

// changeNow is what the position changes by when the order bought another number of shares, in the units of now: the
// splits and stock dividends since then have multiplied what it bought.
func (o *Order) changeNow(ctx context.Context, tx *sql.Tx, filled money.Shares) (money.Shares, error) {
	rows, err := tx.QueryContext(ctx, selectAction+`WHERE asset_id = ?1 AND state = ?2 AND happens_at > ?3
		ORDER BY happens_at, seq`, o.AssetID, ActionHappened, stored(o.EndedAt))
	since, err := scanAll(rows, err, scanAction)
	if err != nil {
		return 0, err
	}
	before, after := o.FilledQty, filled
	for _, a := range since {
		if !a.multiplied() {
			continue
		}
		t, err := ReadTerms(a.Type, a.Terms)
		if err != nil {
			return 0, err
		}
		for _, qty := range []*money.Shares{&before, &after} {
			a.counted = *qty
			if *qty, err = a.result(t); err != nil {
				return 0, apierror.Unprocessable("the quantity is too large")
			}
		}
	}
	return after - before, nil
}

func (o *Order) bust(ctx context.Context, tx *sql.Tx, filled, change money.Shares, now time.Time) error {
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
	p.Qty, err = money.AddShares(p.Qty, change)
	if err != nil || p.Qty < held || cost > funds.BuyingPower() {
		return apierror.Unprocessable("the account lacks the shares or the cash for this change")
	}
	p.Cost = max(0, p.Cost+cost)
	_, orderErr := tx.ExecContext(ctx, `UPDATE orders SET filled_qty = ?2, filled_value = ?3, updated_at = ?4
		WHERE seq = ?1`, o.seq, filled, value, stored(now))
	_, cashErr := tx.ExecContext(ctx, "UPDATE account SET cash = cash - ?1", cost)
	return errors.Join(orderErr, cashErr, writePosition(ctx, tx, p))
}

// correction writes the activity of a bust, or of a correction to more shares. It names the
// latest activity of the order as the one that it corrects.
func (o *Order) correction(
	ctx context.Context, tx *sql.Tx, filled, change money.Shares, key string, now time.Time,
) error {
	var previous sql.NullString // null: the fill is older than the activities
	err := tx.QueryRowContext(ctx, "SELECT max(id) FROM activities WHERE type = ?1 AND body ->> '$.order_id' = ?2",
		ActivityFill, o.ID).Scan(&previous)
	if err != nil {
		return err
	}
	kind := "trade_bust"
	if filled > o.FilledQty {
		kind = "trade_correct"
	}
	a := activity{ActivityFill, now, key, map[string]string{
		"order_id": o.ID, "order_status": string(o.State), "type": kind, "side": o.Side, "symbol": o.Symbol,
		"qty": change.String(), "price": o.FilledPrice.String(), "cum_qty": filled.String(),
		"leaves_qty": "0", "transaction_time": now.Format(time.RFC3339Nano),
	}}
	if previous.Valid {
		a.body["previous_id"] = previous.String
	}
	return a.insert(ctx, tx)
}
