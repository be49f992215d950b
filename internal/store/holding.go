package store

import (
	"cmp"
	"context"
	"slices"

	"stockrewards/internal/rewards"
)

// Holdings implements rewards.Store.
func (s *Store) Holdings(ctx context.Context, app rewards.AppID, user rewards.UserID) ([]rewards.Holding, error) {
	list, found, err := s.holdings.get(ctx, userKey{app, user})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoUser()
	}
	s.known.add(userKey{app, user})
	return list, nil
}

// readHoldings reads users' holdings, sorted by symbol. A user without holdings has an empty
// list. Unknown users are missing.
func (s *Store) readHoldings(ctx context.Context, tx Tx, keys []userKey) (map[userKey][]rewards.Holding, error) {
	found := make(map[userKey][]rewards.Holding, len(keys))
	readInto := s.holdingsByRow
	if _, columns := tx.(ColumnTx); columns {
		readInto = holdingsByColumn
	}
	err := readInto(ctx, tx, keys, found)
	for _, list := range found {
		slices.SortFunc(list, func(a, b rewards.Holding) int { return cmp.Compare(a.Symbol, b.Symbol) })
	}
	return found, err
}

// holdingsByRow reads one user after the other. It checks that the user exists only when
// there are no holdings.
func (s *Store) holdingsByRow(ctx context.Context, tx Tx, keys []userKey, found map[userKey][]rewards.Holding) error {
	for _, k := range keys {
		list, err := fetchAll(ctx, tx, func(row Row) (h rewards.Holding, err error) {
			err = row.Scan((*int64)(&h.AssetID), &h.Symbol, (*int64)(&h.Quantity), (*int64)(&h.CostBasis))
			return h, err
		}, `SELECT h.asset_id, a.symbol, h.quantity, h.cost_basis FROM holdings h JOIN assets a ON a.id = h.asset_id
			WHERE h.app_id = ?1 AND h.user_id = ?2`, k.app[:], k.user[:])
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
