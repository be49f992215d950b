package store

import (
	"context"
	"fmt"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const assetColumns = `id, broker_id, symbol, name, enabled, gone, doubt_since, doubt_price, hold_from, pending_from,
	pending_old, pending_new, generation, basis_from, basis_old, basis_new, former_broker_id`

func scanAsset(row Row) (a rewards.Asset, err error) {
	err = row.Scan((*int64)(&a.ID), &a.BrokerID, &a.Symbol, &a.Name, toFlag{&a.Enabled}, toFlag{&a.Gone},
		toTime{&a.Doubt.Since}, (*int64)(&a.Doubt.Price), toTime{&a.Hold.From}, toTime{&a.Hold.Units.From},
		&a.Hold.Units.Ratio.Old, &a.Hold.Units.Ratio.New, &a.Generation, toTime{&a.Units.From}, &a.Units.Ratio.Old,
		&a.Units.Ratio.New, &a.FormerID)
	return a, err
}

// Assets implements rewards.Store.
func (s *Store) Assets(ctx context.Context) ([]rewards.Asset, error) {
	return readShared(ctx, s, queryAssets)
}

func queryAssets(ctx context.Context, tx Tx) ([]rewards.Asset, error) {
	return fetchAll(ctx, tx, scanAsset, `SELECT `+assetColumns+` FROM assets ORDER BY symbol`)
}

// oneAsset finds an asset, or fails with CodeNotFound.
func oneAsset(ctx context.Context, tx Tx, query string, args ...any) (rewards.Asset, error) {
	a, found, err := fetchOne(ctx, tx, scanAsset, query, args...)
	if err == nil && !found {
		err = notFound("no asset of that symbol")
	}
	return a, err
}

func assetBySymbol(ctx context.Context, tx Tx, symbol string) (rewards.Asset, error) {
	return oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets WHERE symbol = ?1`, symbol)
}

// CatalogNumber implements rewards.Store.
func (s *Store) CatalogNumber() int64 { return s.catalogs.Load() }

// SeedAssets fills an empty catalog. It does not change one that has assets, so that an
// operator's decisions stay.
func (s *Store) SeedAssets(ctx context.Context, assets []rewards.Asset) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		var present int
		found, err := fetchValues(ctx, tx, []any{&present}, `SELECT 1 FROM assets LIMIT 1`)
		if err != nil || found {
			return err
		}
		for _, a := range assets {
			_, err := tx.Exec(ctx, `INSERT INTO assets (symbol, name) VALUES (?1, ?2)`, a.Symbol, a.Name)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SetEnabled allows or forbids new rewards of an asset. It fails with CodeNotFound.
func (o *Operator) SetEnabled(ctx context.Context, symbol string, enabled bool) error {
	return o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		a, err := assetBySymbol(ctx, tx, symbol)
		if err != nil {
			return nil, err
		}
		before := a.State()
		a.Enabled = enabled
		_, err = tx.Exec(ctx, `UPDATE assets SET enabled = ?2 WHERE id = ?1`, int64(a.ID), flag(enabled))
		return []rewards.Change{{Object: a.Object(), Before: before, After: a.State()}}, err
	})
}

// SyncAssets applies the changes that decide derives from the catalog, in one transaction.
// When decide fails, nothing changes. Orders that were planned under an old symbol, and never
// sent or always refused, get the new one.
func (o *Operator) SyncAssets(
	ctx context.Context, decide func([]rewards.Asset) (rewards.AssetSync, error),
) (sync rewards.AssetSync, err error) {
	err = o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		ours, err := queryAssets(ctx, tx)
		if err != nil {
			return nil, err
		}
		if sync, err = decide(ours); err != nil || len(sync.Changes) == 0 {
			return nil, err
		}
		for _, c := range sync.Changes {
			if err := freeSymbol(ctx, tx, c); err != nil {
				return nil, err
			}
		}
		for _, c := range sync.Changes {
			if err := changeAsset(ctx, tx, c); err != nil {
				return nil, err
			}
		}
		return []rewards.Change{{Object: rewards.ObjectCatalog, After: sync.State()}}, nil
	})
	return sync, err
}

// freeSymbol takes the symbol from a renamed asset, so that another asset can get it in the
// same transaction. Two assets may swap symbols.
func freeSymbol(ctx context.Context, tx Tx, c rewards.AssetChange) error {
	if !c.Renamed() {
		return nil
	}
	free := fmt.Sprintf("renamed %d", c.Before.ID)
	if err := carryConflicts(ctx, tx, c.Before.ID, free); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE assets SET symbol = ?2 WHERE id = ?1`, int64(c.Before.ID), free)
	return err
}

func changeAsset(ctx context.Context, tx Tx, c rewards.AssetChange) error {
	a := c.After
	if c.Added() {
		_, err := tx.Exec(ctx, `INSERT INTO assets (broker_id, symbol, name) VALUES (?1, ?2, ?3)`,
			a.BrokerID, a.Symbol, a.Name)
		return err
	}
	if err := carryConflicts(ctx, tx, a.ID, a.Symbol); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE assets SET broker_id = ?2, symbol = ?3, name = ?4, gone = ?5 WHERE id = ?1`,
		int64(a.ID), a.BrokerID, a.Symbol, a.Name, flag(a.Gone))
	if err == nil && c.Renamed() {
		_, err = tx.Exec(ctx, `UPDATE orders SET symbol = ?2
			WHERE `+liveState+` AND `+unboughtState+` AND asset_id = ?1`,
			int64(a.ID), a.Symbol)
	}
	return err
}

// ConfirmAsset ends the doubt about an asset's price and accepts the price, which it
// returns. Without a doubt it changes nothing. It fails with CodeNotFound.
func (o *Operator) ConfirmAsset(ctx context.Context, symbol string) (money.Price, error) {
	return o.endDoubt(ctx, symbol, true)
}

// RejectAsset is ConfirmAsset without accepting the price: the next one is checked again.
func (o *Operator) RejectAsset(ctx context.Context, symbol string) (money.Price, error) {
	return o.endDoubt(ctx, symbol, false)
}

func (o *Operator) endDoubt(ctx context.Context, symbol string, accept bool) (money.Price, error) {
	var a rewards.Asset
	err := o.change(ctx, func(ctx context.Context, tx Tx) (_ []rewards.Change, err error) {
		if a, err = assetBySymbol(ctx, tx, symbol); err != nil || a.Doubt.Price == 0 {
			return nil, err
		}
		ended := []rewards.Change{a.DoubtEnded(accept)}
		_, err = tx.Exec(ctx, `UPDATE assets SET doubt_since = 0, doubt_price = 0 WHERE id = ?1`, int64(a.ID))
		if err != nil || !accept {
			return ended, err
		}
		_, err = tx.Exec(ctx, `INSERT INTO prices (asset_id, price, traded_at, confirmed_at, accepted, generation)
			SELECT id, 0, 0, 0, ?2, generation FROM assets WHERE id = ?1
			ON CONFLICT (asset_id) DO UPDATE SET accepted = excluded.accepted`,
			int64(a.ID), int64(a.Doubt.Price))
		return ended, err
	})
	return a.Doubt.Price, err
}
