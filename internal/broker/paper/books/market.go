package books

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
)

// MovePrice sets the price of a stock. From then on the model's prices are multiplied by
// the same factor. It fails when the stock is not traded at the time.
func (b *Books) MovePrice(ctx context.Context, symbol string, price money.Price, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	l := b.Exchange.BySymbol(symbol)
	switch {
	case l == nil:
		return apierror.NotFound("asset not found for %s", symbol)
	case l.Gone:
		return apierror.FromStatus(http.StatusConflict, "asset "+symbol+" is no longer listed")
	case !b.Exchange.HaltedUntil(l, now).IsZero():
		return apierror.FromStatus(http.StatusConflict,
			"asset "+symbol+" is not traded until its corporate action happens")
	}
	_, err := b.writer.ExecContext(ctx, `INSERT INTO price_moves (asset_id, at, old_rate, new_rate)
		VALUES (?1, ?2, ?3, ?4)`, l.ID, stored(now), price, b.Exchange.Unrounded(l, now))
	if err != nil {
		return err
	}
	return b.load(ctx)
}

// CloseMarket closes the market until the next session. It does nothing when the market is
// closed.
func (b *Books) CloseMarket(ctx context.Context, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	s := b.Exchange.SessionAt(now)
	if !s.Contains(now) {
		return nil
	}
	_, err := b.writer.ExecContext(ctx, "INSERT INTO closures (closed_at, opens_at) VALUES (?1, ?2)",
		stored(now), stored(b.Exchange.SessionAt(s.Close).Open))
	if err != nil {
		return err
	}
	return b.load(ctx)
}

// OpenMarket ends a closure: orders that wait for its end reach the market now. It does
// nothing when the market is open, and fails when its hours keep it closed.
func (b *Books) OpenMarket(ctx context.Context, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	until := b.Exchange.ClosedUntil(now)
	switch {
	case b.Exchange.SessionAt(now).Contains(now):
		return nil
	case until.IsZero() || !b.Exchange.Timetable.SessionAt(now).Contains(now):
		return apierror.FromStatus(http.StatusConflict, "the market is closed by its hours: advance the clock instead")
	}
	err := b.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE closures SET opens_at = ?1 WHERE closed_at <= ?1 AND opens_at > ?1",
			stored(now))
		if err != nil {
			return err
		}
		return b.reroute(ctx, tx, now)
	})
	if err != nil {
		return err
	}
	return b.load(ctx)
}

// reroute sends all open orders to the market at a time.
func (b *Books) reroute(ctx context.Context, tx *sql.Tx, now time.Time) error {
	rows, err := tx.QueryContext(ctx, selectOrder+"WHERE due_at IS NOT NULL")
	open, err := scanAll(rows, err, scanOrder)
	for _, o := range open {
		o.routedAt = now
		if b.Exchange.Closes() {
			o.ExpiresAt = b.Exchange.Timetable.SessionAt(now).Close
		}
		o.DueAt = o.firstDue(fillTime(b.seed, o.ID))
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE orders SET routed_at = ?2, expires_at = ?3, due_at = ?4
				WHERE seq = ?1`, o.seq, stored(o.routedAt), stored(o.ExpiresAt), stored(o.DueAt))
		}
	}
	return err
}

func readClosures(ctx context.Context, tx *sql.Tx) ([]exchange.Closure, error) {
	rows, err := tx.QueryContext(ctx, "SELECT closed_at, opens_at FROM closures ORDER BY closed_at, opens_at")
	return scanAll(rows, err, func(r row) (c exchange.Closure, err error) {
		err = r.Scan(scanTime{&c.From}, scanTime{&c.Until})
		return c, err
	})
}
