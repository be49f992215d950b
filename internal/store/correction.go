package store

import (
	"context"
	"math"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// CorrectOrder books what the broker corrected the fill of a settled order to. The difference is
// the house's, in the units of now. The same correction again changes nothing. It fails with
// ErrStale when the order is not settled, and with ErrLostLease.
func (s *Store) CorrectOrder(
	ctx context.Context, l rewards.Lease, o rewards.Order, b rewards.BrokerOrder, activity string,
) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		o, err := orderByID(ctx, tx, o.ID)
		if err != nil || !o.Corrects(b) {
			return err
		}
		if waits, err := sweeping(ctx, tx, o.AssetID); err != nil || waits {
			return staleIf(waits, err)
		}
		since, err := switchesSince(ctx, tx, o.AssetID, o.Generation)
		if err != nil {
			return err
		}
		change, err := rewards.ChangeInUnitsOfNow(o.Corrected, b.FilledQty, since)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO order_corrections (order_id, number, filled_qty, change, activity_id, at)
			SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5 FROM order_corrections WHERE order_id = ?1`,
			o.ID[:], int64(b.FilledQty), int64(change), activity, micros(s.now()))
		if err != nil {
			return err
		}
		if err := movePosition(ctx, tx, o.AssetID, change, 0); err != nil {
			return err
		}
		return addHouse(ctx, tx, o.AssetID, change)
	})
}

// switchesSince lists the switches of an asset after a generation, oldest first.
func switchesSince(ctx context.Context, tx Tx, asset rewards.AssetID, generation int64) ([]rewards.Switch, error) {
	return fetchAll(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches
		WHERE asset_id = ?1 AND generation > ?2 ORDER BY number`, int64(asset), generation)
}

// recounted returns what the fills that were corrected since a switch change more once w takes that back: they were
// booked in its units, and their orders are from before it.
func recounted(ctx context.Context, tx Tx, since, w rewards.Switch) (more money.Shares, err error) {
	type fill struct {
		generation int64
		from, to   money.Shares
	}
	corrected, err := fetchAll(ctx, tx, func(row Row) (f fill, err error) {
		err = row.Scan(&f.generation, (*int64)(&f.from), (*int64)(&f.to))
		return f, err
	}, `SELECT o.generation, coalesce((SELECT b.filled_qty FROM order_corrections b WHERE b.order_id = c.order_id
			AND b.number = c.number - 1), o.filled_qty), c.filled_qty
		FROM order_corrections c JOIN orders o ON o.id = c.order_id
		WHERE c.at >= ?1 AND o.asset_id = ?2 AND o.generation < ?3`,
		micros(since.At), int64(since.AssetID), since.Generation)
	if err != nil {
		return 0, err
	}
	w.Number = math.MaxInt64 // it comes next
	for _, f := range corrected {
		switches, err := switchesSince(ctx, tx, since.AssetID, f.generation)
		if err != nil {
			return 0, err
		}
		booked, err := rewards.ChangeInUnitsOfNow(f.from, f.to, switches)
		if err != nil {
			return 0, err
		}
		change, err := rewards.ChangeInUnitsOfNow(f.from, f.to, append(switches, w))
		if err != nil {
			return 0, err
		}
		more += change - booked
	}
	return more, nil
}

// Corrections lists the corrections of fills since a moment, oldest first.
func (s *Store) Corrections(ctx context.Context, since time.Time) ([]rewards.Correction, error) {
	return readAll(ctx, s, func(row Row) (c rewards.Correction, err error) {
		err = row.Scan(toID(&c.OrderID), &c.ClientOrderID, &c.Symbol, (*int64)(&c.FilledQty), (*int64)(&c.Change),
			toTime{&c.At})
		return c, err
	}, `SELECT c.order_id, o.client_order_id, o.symbol, c.filled_qty, c.change, c.at
		FROM order_corrections c JOIN orders o ON o.id = c.order_id WHERE c.at >= ?1 ORDER BY c.at, c.number`,
		micros(since))
}

// CorrectPosition books the broker's corrections of a stock's position that are not booked yet,
// when they explain the difference to its position: the shares are the house's. It reports whether
// they did. It fails with ErrLostLease.
func (s *Store) CorrectPosition(
	ctx context.Context, l rewards.Lease, b rewards.BookedPosition, difference money.Shares,
) (booked bool, err error) {
	err = s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		list, err := fetchAll(ctx, tx, scanActivity, `SELECT `+activityColumns+` FROM broker_activities
			WHERE symbol = ?1 AND status = '`+rewards.ActivityCorrect+`' AND qty <> 0 AND problem = ''
			AND NOT EXISTS (SELECT 1 FROM position_corrections c WHERE c.activity_id = broker_activities.id)`, b.Symbol)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(n rewards.Activity) bool { return !n.MovesPosition() })
		sum := money.Shares(0)
		for _, n := range list {
			if sum, err = money.AddShares(sum, n.Qty); err != nil {
				return err
			}
		}
		if booked = sum == difference && sum != 0; !booked {
			return nil
		}
		for _, n := range list {
			if _, err := tx.Exec(ctx, `INSERT INTO position_corrections (activity_id, asset_id, change, at)
				VALUES (?1, ?2, ?3, ?4)`, n.ID, int64(b.AssetID), int64(n.Qty), micros(s.now())); err != nil {
				return err
			}
		}
		if err := movePosition(ctx, tx, b.AssetID, sum, 0); err != nil {
			return err
		}
		return addHouse(ctx, tx, b.AssetID, sum)
	})
	return booked, err
}
