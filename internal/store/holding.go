package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// Holdings implements rewards.Store.
func (s *Store) Holdings(ctx context.Context, app rewards.AppID, user rewards.UserID) ([]rewards.Holding, error) {
	k := userKey{app, user}
	entered := s.held.enter(k)
	if entered != nil && entered.filled {
		return entered.holdings, nil
	}
	list, found, err := s.holdings.get(ctx, k)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoUser()
	}
	s.known.add(k)
	s.held.fill(k, entered, list)
	return list, nil
}

// readHoldings reads users' holdings. A user without holdings has an empty list. Unknown users
// are missing.
func (s *Store) readHoldings(ctx context.Context, tx Tx, keys []userKey) (map[userKey][]rewards.Holding, error) {
	found := make(map[userKey][]rewards.Holding, len(keys))
	if _, columns := tx.(ColumnTx); columns {
		return found, holdingsByColumn(ctx, tx, keys, found)
	}
	return found, s.holdingsByRow(ctx, tx, keys, found)
}

// holdingsByRow reads one user after the other. It checks that the user exists only when
// there are no holdings.
func (s *Store) holdingsByRow(ctx context.Context, tx Tx, keys []userKey, found map[userKey][]rewards.Holding) error {
	for _, k := range keys {
		list, err := fetchAll(ctx, tx, func(row Row) (h rewards.Holding, err error) {
			err = row.Scan((*int64)(&h.AssetID), (*int64)(&h.Quantity), (*int64)(&h.CostBasis))
			return h, err
		}, `SELECT asset_id, quantity, cost_basis FROM holdings
			WHERE app_id = ?1 AND user_id = ?2`, k.app[:], k.user[:])
		exists := len(list) > 0
		if err == nil && !exists {
			exists, err = s.userExistsByRow(ctx, tx, k)
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

// holdingsByColumn reads all users at once. A user without holdings has one row of zeros.
func holdingsByColumn(ctx context.Context, tx Tx, keys []userKey, found map[userKey][]rewards.Holding) error {
	apps, users := make([][]byte, len(keys)), make([][]byte, len(keys))
	for i := range keys {
		apps[i], users[i] = keys[i].app[:], keys[i].user[:]
	}
	return only(tx).Query(ctx, func(row Row) error {
		var k userKey
		var h rewards.Holding
		err := row.Scan(toID(&k.app), toID(&k.user),
			(*int64)(&h.AssetID), (*int64)(&h.Quantity), (*int64)(&h.CostBasis))
		if h.AssetID != 0 {
			found[k] = append(found[k], h)
		} else {
			found[k] = nil
		}
		return err
	}, `SELECT u.app_id, u.id, coalesce(h.asset_id, 0), coalesce(h.quantity, 0), coalesce(h.cost_basis, 0)
		FROM users u LEFT JOIN holdings h ON h.app_id = u.app_id AND h.user_id = u.id
		WHERE (u.app_id, u.id) IN (SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`, apps, users)
}
