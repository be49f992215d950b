package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// rewardsByRow reads rewards one by one.
func rewardsByRow(ctx context.Context, tx Tx, keys []rewardKey, each func(Row) error) error {
	for i := range keys {
		err := tx.Query(ctx, each, `SELECT `+rewardColumns+` FROM rewards WHERE app_id = ?1 AND id = ?2`,
			keys[i].app[:], keys[i].id[:])
		if err != nil {
			return err
		}
	}
	return nil
}

// holdingsByRow reads what users hold one by one; whether a user exists is asked only
// when it holds nothing.
func holdingsByRow(ctx context.Context, tx Tx, keys []userKey, found map[userKey][]rewards.Holding) error {
	for _, k := range keys {
		var list []rewards.Holding
		err := tx.Query(ctx, func(row Row) error {
			list = append(list, rewards.Holding{})
			h := &list[len(list)-1]
			return row.Scan((*int64)(&h.AssetID), &h.Symbol, (*int64)(&h.Quantity), (*int64)(&h.CostBasis))
		}, `SELECT h.asset_id, a.symbol, h.quantity, h.cost_basis FROM holdings h JOIN assets a ON a.id = h.asset_id
			WHERE h.app_id = ?1 AND h.user_id = ?2`, k.app[:], k.user[:])
		exists := len(list) > 0
		if err == nil && !exists {
			exists, err = hasUser(ctx, tx, k)
		}
		if err != nil {
			return err
		}
		if exists {
			found[k] = list
		}
	}
	return nil
}

func hasUser(ctx context.Context, tx Tx, k userKey) (bool, error) {
	var present int
	return one(ctx, tx, []any{&present}, `SELECT 1 FROM users WHERE app_id = ?1 AND id = ?2`, k.app[:], k.user[:])
}
