package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const rewardColumns = `app_id, id, user_id, idempotency_key, amount, asset_id, symbol, source,
	metadata, status, booked, executed_at, failure_reason`

func scanReward(row Row) (rewards.Reward, error) {
	var r rewards.Reward
	err := row.Scan(toID(&r.AppID), toID(&r.ID), toID(&r.UserID), &r.IdempotencyKey, (*int64)(&r.Amount),
		(*int64)(&r.AssetID), &r.Symbol, &r.Source, &r.Metadata, (*int)(&r.Status), (*int64)(&r.Booked),
		toTime{&r.ExecutedAt}, &r.FailureReason)
	return r, err
}

// Rewards implements rewards.Store. Each filter has its index, in the list's order.
func (s *Store) Rewards(
	ctx context.Context, app rewards.AppID, f rewards.RewardFilter, p rewards.Page[rewards.Reward],
) ([]rewards.Reward, error) {
	const list = `SELECT ` + rewardColumns + ` FROM rewards WHERE app_id = ?1 AND id < ?2`
	const newestFirst = ` ORDER BY id DESC LIMIT ?3`
	from := before(p.Before)
	switch {
	case f.UserID == nil && f.Status == 0:
		return s.queryRewards(ctx, list+newestFirst, app[:], from, p.Limit)
	case f.UserID == nil:
		return s.queryRewards(ctx, list+` AND status = ?4`+newestFirst, app[:], from, p.Limit, int(f.Status))
	case f.Status == 0:
		return s.queryRewards(ctx, list+` AND user_id = ?4`+newestFirst, app[:], from, p.Limit, f.UserID[:])
	default:
		// A user's rewards are few next to an app's: +status keeps to the user's index.
		return s.queryRewards(ctx, list+` AND user_id = ?4 AND +status = ?5`+newestFirst,
			app[:], from, p.Limit, f.UserID[:], int(f.Status))
	}
}

func (s *Store) queryRewards(ctx context.Context, query string, args ...any) ([]rewards.Reward, error) {
	var list []rewards.Reward
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		return tx.Query(ctx, func(row Row) error {
			r, err := scanReward(row)
			list = append(list, r)
			return err
		}, query, args...)
	})
	return list, err
}

// CountRewards counts the rewards of an app by status, each up to most: counting on
// would read a table that only grows.
func (s *Store) CountRewards(ctx context.Context, app rewards.AppID, most int) (map[rewards.Status]int, error) {
	counts := make(map[rewards.Status]int)
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		for status := rewards.Recorded; status <= rewards.Failed; status++ {
			var n int
			_, err := one(ctx, tx, []any{&n}, `SELECT count(*) FROM (SELECT id FROM rewards
				WHERE app_id = ?1 AND status = ?2 LIMIT ?3) AS counted`, app[:], int(status), most)
			if err != nil {
				return err
			}
			counts[status] = n
		}
		return nil
	})
	return counts, err
}

// SharesOf tells how many shares each of the app's rewards has got so far; those
// that have none are missing.
func (s *Store) SharesOf(
	ctx context.Context, app rewards.AppID, ids []rewards.RewardID,
) (map[rewards.RewardID]money.Shares, error) {
	shares := make(map[rewards.RewardID]money.Shares, len(ids))
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		for _, id := range ids {
			var sum money.Shares
			_, err := one(ctx, tx, []any{(*int64)(&sum)}, `SELECT coalesce(sum(shares), 0) FROM allocations
				WHERE app_id = ?1 AND reward_id = ?2`, app[:], id[:])
			if err != nil {
				return err
			}
			if sum > 0 {
				shares[id] = sum
			}
		}
		return nil
	})
	return shares, err
}
