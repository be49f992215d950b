package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// QuotedAssets lists the assets that were ever awarded, with their stored prices in the
// same order.
func (s *Store) QuotedAssets(ctx context.Context) (assets []rewards.Asset, quotes []rewards.Quote, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		return tx.Query(ctx, func(row Row) error {
			var q rewards.Quote
			a, err := scanAsset(suffixed{row, []any{
				(*int64)(&q.Price), toTime{&q.TradedAt}, toTime{&q.ConfirmedAt}, (*int64)(&q.Accepted), &q.Generation,
			}})
			q.AssetID, q.Pending = a.ID, a.Hold.Units // see holdAsset
			assets, quotes = append(assets, a), append(quotes, q)
			return err
		}, `SELECT `+assetColumns+`, coalesce(p.price, 0), coalesce(p.traded_at, 0), coalesce(p.confirmed_at, 0),
			coalesce(p.accepted, 0), coalesce(p.price_generation, generation) FROM assets a
			LEFT JOIN (SELECT asset_id, price, traded_at, confirmed_at, accepted, generation AS price_generation
				FROM prices) p
				ON p.asset_id = a.id WHERE a.used = 1 ORDER BY a.symbol`)
	})
	return assets, quotes, err
}

// PriceLevels returns the stored prices of an asset: the last one, and the one that an operator accepted; 0 if unknown.
func (s *Store) PriceLevels(ctx context.Context, asset rewards.AssetID) (levels []money.Price, err error) {
	var last, accepted money.Price
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, tx, []any{(*int64)(&last), (*int64)(&accepted)},
			`SELECT price, accepted FROM prices WHERE asset_id = ?1`, int64(asset))
		return err
	})
	return []money.Price{last, accepted}, err
}

// suffixed is a row with more columns behind those that a scan function knows.
type suffixed struct {
	Row
	last []any
}

// Scan implements Row.
func (x suffixed) Scan(dest ...any) error { return x.Row.Scan(append(dest, x.last...)...) }

// SaveQuotes stores prices. It keeps the level that an operator accepted. A price in the units of
// another generation, or from before the asset's pending units changed, is ignored.
func (s *Store) SaveQuotes(ctx context.Context, quotes []rewards.Quote) error {
	rows := make([][]any, len(quotes))
	for i, q := range quotes {
		rows[i] = []any{
			int64(q.AssetID), int64(q.Price), micros(q.TradedAt), micros(q.ConfirmedAt), q.Generation,
			micros(q.Pending.From), q.Pending.Ratio.Old, q.Pending.Ratio.New,
		}
	}
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.ExecEach(ctx, `INSERT INTO prices (asset_id, price, traded_at, confirmed_at, generation)
			SELECT id, ?2, ?3, ?4, generation FROM assets WHERE id = ?1 AND generation = ?5
			AND pending_from = ?6 AND pending_old = ?7 AND pending_new = ?8
			ON CONFLICT (asset_id) DO UPDATE SET price = excluded.price, traded_at = excluded.traded_at,
			confirmed_at = excluded.confirmed_at, generation = excluded.generation`, rows)
		return err
	})
}

// DoubtAsset stops ordering and valuing an asset because of a price. An existing doubt stays.
func (s *Store) DoubtAsset(ctx context.Context, id rewards.AssetID, price money.Price) error {
	return s.exec(ctx, `UPDATE assets SET doubt_since = ?2, doubt_price = ?3
		WHERE id = ?1 AND doubt_since = 0`, int64(id), micros(s.now()), int64(price))
}
