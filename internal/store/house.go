package store

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// houseShares reads what the house has of a stock; negative: it owes.
func houseShares(ctx context.Context, tx Tx, asset rewards.AssetID) (has money.Shares, err error) {
	_, err = fetchValues(ctx, tx, []any{(*int64)(&has)},
		`SELECT quantity FROM house_holdings WHERE asset_id = ?1`, int64(asset))
	return has, err
}

// houseInOrders adds up, of the orders that are not booked, the dollars that the house's own shares pay for, and those
// for which they buy shares for the house.
func houseInOrders(ctx context.Context, tx Tx, asset rewards.AssetID) (promised, buying money.USD, err error) {
	_, err = fetchValues(ctx, tx, []any{(*int64)(&promised), (*int64)(&buying)},
		`SELECT CAST(coalesce(sum(CASE WHEN house < 0 THEN -house ELSE 0 END), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN house > 0 THEN house ELSE 0 END), 0) AS bigint)
		FROM orders WHERE `+liveState+` AND asset_id = ?1 AND house <> 0`, int64(asset))
	return promised, buying, err
}

// Shortages lists the stocks whose shares the house owes to users.
func (s *Store) Shortages(ctx context.Context) ([]rewards.Shortage, error) {
	return readAll(ctx, s, func(row Row) (h rewards.Shortage, err error) {
		h.Asset, err = scanAsset(suffixed{row, []any{(*int64)(&h.Owed), toTime{&h.Since}}})
		return h, err
	}, `SELECT `+assetColumns+`, owed, short_since FROM assets
		JOIN (SELECT asset_id, -quantity AS owed, short_since FROM house_holdings WHERE quantity < 0) h
			ON h.asset_id = id
		ORDER BY id`)
}

// MarkShort stores since when the house owes shares of a stock, at the broker's time. It fails with
// ErrLostLease.
func (s *Store) MarkShort(ctx context.Context, l rewards.Lease, asset rewards.AssetID, since time.Time) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `UPDATE house_holdings SET short_since = ?2 WHERE asset_id = ?1 AND short_since = 0
			AND quantity < 0`, int64(asset), micros(since))
		return err
	})
}
