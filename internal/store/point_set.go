package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// rewardsByColumn reads rewards all at once.
func rewardsByColumn(ctx context.Context, tx Tx, keys []rewardKey, each func(Row) error) error {
	apps, ids := make([][]byte, len(keys)), make([][]byte, len(keys))
	for i := range keys {
		apps[i], ids[i] = keys[i].app[:], keys[i].id[:]
	}
	return tx.Query(ctx, each, `SELECT `+rewardColumns+` FROM rewards WHERE (app_id, id) IN
		(SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`, apps, ids)
}

// holdingsByColumn reads what users hold all at once; one who holds nothing has one row
// with nothing in it.
func holdingsByColumn(ctx context.Context, tx Tx, keys []userKey, found map[userKey][]rewards.Holding) error {
	apps, users := make([][]byte, len(keys)), make([][]byte, len(keys))
	for i := range keys {
		apps[i], users[i] = keys[i].app[:], keys[i].user[:]
	}
	return tx.Query(ctx, func(row Row) error {
		var k userKey
		var h rewards.Holding
		err := row.Scan(toID(&k.app), toID(&k.user), (*int64)(&h.AssetID), &h.Symbol, (*int64)(&h.Quantity),
			(*int64)(&h.CostBasis))
		if h.AssetID != 0 {
			found[k] = append(found[k], h)
		} else {
			found[k] = nil
		}
		return err
	}, `SELECT u.app_id, u.id, coalesce(h.asset_id, 0), coalesce(a.symbol, ''), coalesce(h.quantity, 0),
		coalesce(h.cost_basis, 0) FROM users u LEFT JOIN holdings h ON h.app_id = u.app_id AND h.user_id = u.id
		LEFT JOIN assets a ON a.id = h.asset_id
		WHERE (u.app_id, u.id) IN (SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`, apps, users)
}
