package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// addPosition adds a settled order's shares to the asset's booked total, and the house's part of
// them to its shares.
func addPosition(ctx context.Context, tx Tx, o rewards.Order, results []rewards.Result) error {
	if o.State != rewards.OrderSettled || o.FilledQty == 0 {
		return nil
	}
	err := execLater(ctx, tx, `INSERT INTO positions (asset_id, booked) VALUES (?1, ?2)
		ON CONFLICT (asset_id) DO UPDATE SET booked = positions.booked + excluded.booked`,
		int64(o.AssetID), int64(o.FilledQty))
	if err != nil {
		return err
	}
	house := o.FilledQty
	for i := range results {
		if r := &results[i]; r.ChangesHolding() {
			house -= r.Bought.Shares
		}
	}
	return addHouse(ctx, tx, o.AssetID, house)
}

// Booked lists the booked shares of every asset that was ever bought.
func (s *Store) Booked(ctx context.Context) ([]rewards.BookedPosition, error) {
	return readAll(ctx, s, func(row Row) (b rewards.BookedPosition, err error) {
		err = row.Scan((*int64)(&b.AssetID), &b.BrokerID, &b.Symbol, (*int64)(&b.Quantity),
			(*int64)(&b.Differs), (*int64)(&b.Accepted))
		return b, err
	}, `SELECT a.id, a.broker_id, a.symbol, p.booked, p.differs, p.accepted
		FROM positions p JOIN assets a ON a.id = p.asset_id ORDER BY a.id`)
}

// SaveDifferences stores the broker's positions minus the booked totals. A difference that is gone is
// no longer accepted.
func (s *Store) SaveDifferences(
	ctx context.Context, l rewards.Lease, differences map[rewards.AssetID]money.Shares,
) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		for id, difference := range differences {
			_, err := tx.Exec(ctx, `UPDATE positions SET differs = ?2 WHERE asset_id = ?1`,
				int64(id), int64(difference))
			if err == nil && difference == 0 {
				_, err = tx.Exec(ctx, `UPDATE positions SET accepted = 0 WHERE asset_id = ?1`, int64(id))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
