package store

import (
	"context"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// byKey finds the reward with an idempotency key, or nil, in a transaction that has caught up.
func (x *rewardIndex) byKey(ctx context.Context, tx Tx, key requestKey) (*rewards.KeyedReward, error) {
	numbers, err := x.numbersByKey(ctx, tx, keyHash(key.app, key.key))
	if err != nil {
		return nil, err
	}
	for _, number := range numbers {
		k, found, err := fetchOne(ctx, tx, scanKeyed, `SELECT fingerprint, `+rewardColumns+` FROM rewards
			WHERE rowid = ?1 AND app_id = ?2 AND idempotency_key = ?3`, number, key.app[:], key.key)
		if err != nil || found {
			return &k, err
		}
	}
	return nil, nil //nolint:nilnil // an unused key is the usual case
}

// numbersByKey finds the rewards whose key has a hash: almost always none, or the one.
func (x *rewardIndex) numbersByKey(ctx context.Context, tx Tx, hash int64) (numbers []int64, err error) {
	x.mu.RLock()
	for _, tail := range x.tails {
		numbers = tail.ByKey(numbers, hash)
	}
	filters := x.filters
	x.mu.RUnlock()
	if len(filters) == 0 {
		return numbers, nil
	}
	probe := segment.NewProbe(hash)
	for _, f := range filters {
		if !f.MayHave(probe) {
			continue
		}
		for sealed := f.First; sealed <= f.Last; sealed++ {
			found, err := fetchAll(ctx, tx, scanNumber,
				`SELECT number FROM reward_keys WHERE segment = ?1 AND hash = ?2`, sealed, hash)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, found...)
		}
	}
	return numbers, nil
}
