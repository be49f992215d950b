package store

import (
	"cmp"
	"context"
	"slices"

	"stockrewards/internal/rewards"
)

// What is asked for most, one reward and one user's holdings, is read by these.

type rewardKey struct {
	app rewards.AppID
	id  rewards.RewardID
}

// Reward implements rewards.Store.
func (s *Store) Reward(ctx context.Context, app rewards.AppID, id rewards.RewardID) (rewards.Reward, error) {
	r, found, err := s.rewards.get(ctx, rewardKey{app, id})
	if err == nil && !found {
		err = &rewards.Error{Code: rewards.CodeNotFound, Message: "reward not found"}
	}
	return r, err
}

// Holdings implements rewards.Store.
func (s *Store) Holdings(ctx context.Context, app rewards.AppID, user rewards.UserID) ([]rewards.Holding, error) {
	list, found, err := s.holdings.get(ctx, userKey{app, user})
	if err == nil && !found {
		err = errNoUser()
	}
	return list, err
}

// readRewards reads rewards by their ids.
func readRewards(ctx context.Context, tx Tx, keys []rewardKey) (map[rewardKey]rewards.Reward, error) {
	found := make(map[rewardKey]rewards.Reward, len(keys))
	each := func(row Row) error {
		r, err := scanReward(row)
		found[rewardKey{r.AppID, r.ID}] = r
		return err
	}
	const from = `SELECT ` + rewardColumns + ` FROM rewards WHERE `
	return found, byKeys(ctx, tx, each, from+`app_id = ?1 AND id = ?2`, from+`(app_id, id) IN `+pairs, keys,
		func(k *rewardKey) ([]byte, []byte) { return k.app[:], k.id[:] })
}

// readHoldings reads what users hold, sorted by symbol; one who holds nothing has an
// empty list.
func readHoldings(ctx context.Context, tx Tx, keys []userKey) (map[userKey][]rewards.Holding, error) {
	found := make(map[userKey][]rewards.Holding, len(keys))
	each := func(row Row) error {
		var k userKey
		var h rewards.Holding
		err := row.Scan(toID(&k.app), toID(&k.user), (*int64)(&h.AssetID), &h.Symbol, (*int64)(&h.Quantity),
			(*int64)(&h.CostBasis))
		if h.AssetID == 0 {
			found[k] = nil
		} else {
			found[k] = append(found[k], h)
		}
		return err
	}
	const from = `SELECT u.app_id, u.id, coalesce(h.asset_id, 0), coalesce(a.symbol, ''), coalesce(h.quantity, 0),
		coalesce(h.cost_basis, 0) FROM users u LEFT JOIN holdings h ON h.app_id = u.app_id AND h.user_id = u.id
		LEFT JOIN assets a ON a.id = h.asset_id WHERE `
	err := byKeys(ctx, tx, each, from+`u.app_id = ?1 AND u.id = ?2`, from+`(u.app_id, u.id) IN `+pairs, keys,
		func(k *userKey) ([]byte, []byte) { return k.app[:], k.user[:] })
	for _, list := range found {
		slices.SortFunc(list, func(a, b rewards.Holding) int { return cmp.Compare(a.Symbol, b.Symbol) })
	}
	return found, err
}

// pairs are two columns of keys.
const pairs = `(SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`

// byKeys reads the rows of keys of two parts: with the first query for each, or with
// the second for whole columns of them.
func byKeys[K any](
	ctx context.Context, tx Tx, each func(Row) error, one, many string, keys []K, parts func(*K) ([]byte, []byte),
) error {
	if _, far := tx.(Columns); !far {
		for i := range keys {
			a, b := parts(&keys[i])
			if err := tx.Query(ctx, each, one, a, b); err != nil {
				return err
			}
		}
		return nil
	}
	first, second := make([][]byte, len(keys)), make([][]byte, len(keys))
	for i := range keys {
		first[i], second[i] = parts(&keys[i])
	}
	return tx.Query(ctx, each, many, first, second)
}
