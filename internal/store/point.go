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

// readRewards reads rewards by their ids; those that do not exist are missing.
func readRewards(ctx context.Context, tx Tx, keys []rewardKey) (map[rewardKey]rewards.Reward, error) {
	found := make(map[rewardKey]rewards.Reward, len(keys))
	read := rewardsByRow
	if _, far := tx.(ColumnTx); far {
		read = rewardsByColumn
	}
	return found, read(ctx, tx, keys, func(row Row) error {
		r, err := scanReward(row)
		found[rewardKey{r.AppID, r.ID}] = r
		return err
	})
}

// readHoldings reads what users hold, sorted by symbol: an empty list for one who
// holds nothing. Users who do not exist are missing.
func readHoldings(ctx context.Context, tx Tx, keys []userKey) (map[userKey][]rewards.Holding, error) {
	found := make(map[userKey][]rewards.Holding, len(keys))
	read := holdingsByRow
	if _, far := tx.(ColumnTx); far {
		read = holdingsByColumn
	}
	err := read(ctx, tx, keys, found)
	for _, list := range found {
		slices.SortFunc(list, func(a, b rewards.Holding) int { return cmp.Compare(a.Symbol, b.Symbol) })
	}
	return found, err
}
