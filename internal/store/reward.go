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

// executedOf finds the executed rewards of an app before an id: each has an allocation,
// and is told with its last one. CROSS has SQLite walk through the allocations, and not
// through all rewards for each; of_id is the order in which it walks.
const executedOf = ` FROM (SELECT a.app_id AS of_app, a.reward_id AS of_id FROM allocations a
		WHERE a.app_id = ?1 AND a.reward_id < ?2 AND NOT EXISTS (SELECT 1 FROM allocations later
			WHERE later.app_id = a.app_id AND later.reward_id = a.reward_id AND later.order_id > a.order_id)) AS bought
	CROSS JOIN rewards WHERE app_id = of_app AND id = of_id AND id < ?2 AND status = 3`

// Rewards implements rewards.Store. Each filter has its key, in the list's order.
func (s *Store) Rewards(
	ctx context.Context, app rewards.AppID, f rewards.RewardFilter, p rewards.Page[rewards.Reward],
) ([]rewards.Reward, error) {
	args := []any{app[:], before(p.Before), p.Limit}
	if f.UserID != nil {
		return s.rewardsOfUser(ctx, f.Status, append(args, f.UserID[:]))
	}
	switch f.Status {
	case rewards.Recorded, rewards.Executing:
		return s.queryRewards(ctx, `SELECT `+rewardColumns+` FROM (SELECT app_id AS of_app, id AS of_id
			FROM open_rewards WHERE app_id = ?1 AND id < ?2 AND status = ?4`+newestFirst+`) AS listed
			JOIN rewards ON app_id = of_app AND id = of_id ORDER BY id DESC`, append(args, int(f.Status))...)
	case rewards.Executed:
		return s.queryRewards(ctx, `SELECT `+rewardColumns+executedOf+` ORDER BY of_id DESC LIMIT ?3`, args...)
	case rewards.Failed:
		return s.queryRewards(ctx, listRewards+` AND failure_reason <> ''`+newestFirst, args...)
	default:
		return s.queryRewards(ctx, listRewards+newestFirst, args...)
	}
}

const (
	listRewards = `SELECT ` + rewardColumns + ` FROM rewards WHERE app_id = ?1 AND id < ?2`
	newestFirst = ` ORDER BY id DESC LIMIT ?3`
)

// rewardsOfUser lists a user's rewards; the user is the fourth argument.
func (s *Store) rewardsOfUser(ctx context.Context, status rewards.Status, args []any) ([]rewards.Reward, error) {
	switch status {
	case rewards.Recorded, rewards.Executing:
		return s.queryRewards(ctx, openOfUser, append(args, int(status))...)
	case rewards.Executed:
		return s.queryRewards(ctx, executedOfUser, append(args, int(status))...)
	case rewards.Failed:
		return s.queryRewards(ctx, listRewards+` AND user_id = ?4 AND failure_reason <> ''`+newestFirst, args...)
	default:
		return s.queryRewards(ctx, listRewards+` AND user_id = ?4`+newestFirst, args...)
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
	const open = ` FROM open_rewards WHERE app_id = ?1 AND id < ?2 AND status = `
	counts := make(map[rewards.Status]int)
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		for status, of := range map[rewards.Status]string{
			rewards.Recorded: open + `1`, rewards.Executing: open + `2`, rewards.Executed: executedOf,
			rewards.Failed: ` FROM rewards WHERE app_id = ?1 AND id < ?2 AND failure_reason <> ''`,
		} {
			var n int
			_, err := one(ctx, tx, []any{&n}, `SELECT count(*) FROM (SELECT 1`+of+` LIMIT ?3) AS counted`,
				app[:], before(rewards.RewardID{}), most)
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
