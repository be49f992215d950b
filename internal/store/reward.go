package store

import (
	"bytes"
	"context"
	"slices"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// rewardColumns are for a statement that calls the table rewards. Until a reward is final, its row has
// the status recorded, and open_rewards says whether an order has it.
const rewardColumns = beforeStatus + afterStatus

// listColumns are the rewardColumns in a list of the app ?1. A look into open_rewards costs as much as a third
// of a row, so it is left out for rewards before all that are in orders.
const listColumns = beforeStatus + ` AND id >= (SELECT e.id FROM open_rewards e WHERE e.app_id = ?1
		AND e.status = ` + executing + ` ORDER BY e.id LIMIT 1)` + afterStatus

const (
	beforeStatus = `app_id, id, user_id, idempotency_key, amount, asset_id, symbol, source, metadata,
	CASE WHEN status = ` + recorded
	afterStatus = ` THEN coalesce((SELECT o.status FROM open_rewards o WHERE o.app_id = rewards.app_id
		AND o.status = ` + executing + ` AND o.id = rewards.id), ` + recorded + `) ELSE status END,
	booked, executed_at, failure_reason`
)

func scanReward(row Row) (rewards.Reward, error) { return scanRewards()(row) }

// scanRewards returns a scanReward that reuses its memory from row to row. Columns may come before those of a reward.
func scanRewards(before ...any) func(Row) (rewards.Reward, error) {
	var r rewards.Reward
	columns := before
	columns = append(columns,
		toID(&r.AppID), toID(&r.ID), toID(&r.UserID), &r.IdempotencyKey, (*int64)(&r.Amount), (*int64)(&r.AssetID),
		&r.Symbol, &r.Source, &r.Metadata, (*int)(&r.Status), (*int64)(&r.Booked),
		toTime{&r.ExecutedAt},
		&r.FailureReason,
	)
	return func(row Row) (rewards.Reward, error) {
		err := row.Scan(columns...)
		return r, err
	}
}

type rewardKey struct {
	app rewards.AppID
	id  rewards.RewardID
}

func (k rewardKey) ofApp() rewards.AppID { return k.app }

// Reward implements rewards.Store.
func (s *Store) Reward(ctx context.Context, app rewards.AppID, id rewards.RewardID) (rewards.Reward, error) {
	r, found, err := s.rewards.get(ctx, rewardKey{app, id})
	if err == nil && !found {
		err = notFound("reward not found")
	}
	return r, err
}

// readRewards reads rewards by their ids. Unknown ids are missing.
func readRewards(ctx context.Context, tx Tx, keys []rewardKey) (map[rewardKey]rewards.Reward, error) {
	found := make(map[rewardKey]rewards.Reward, len(keys))
	add := func(r rewards.Reward) error {
		found[rewardKey{r.AppID, r.ID}] = r
		return nil
	}
	if _, columns := tx.(ColumnTx); columns {
		return found, rewardsByColumn(ctx, tx, keys, add)
	}
	return found, rewardsByRow(ctx, tx, keys, add)
}

func rewardsByRow(ctx context.Context, tx Tx, keys []rewardKey, each func(rewards.Reward) error) error {
	scan := scanRewards()
	for i := range keys {
		err := fetchEach(ctx, tx, scan, each, `SELECT `+rewardColumns+` FROM rewards
			WHERE app_id = ?1 AND id = ?2`, keys[i].app[:], keys[i].id[:])
		if err != nil {
			return err
		}
	}
	return nil
}

func rewardsByColumn(ctx context.Context, tx Tx, keys []rewardKey, each func(rewards.Reward) error) error {
	apps, ids := columnsOfKeys(keys)
	return fetchEach(ctx, only(tx), scanRewards(), each, `SELECT `+rewardColumns+` FROM rewards WHERE (app_id, id) IN
		(SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`, apps, ids)
}

// Rewards implements rewards.Store. An index in the order of the list serves each filter, so a list
// ends with its page or at the first reward that is too old.
func (s *Store) Rewards(
	ctx context.Context, app rewards.AppID, f rewards.RewardFilter, p rewards.Page[rewards.Reward],
) ([]rewards.Reward, error) {
	p, some := f.Narrow(p)
	if !some {
		return nil, nil
	}
	if f.IdempotencyKey != "" {
		return s.rewardWithKey(ctx, app, f, p)
	}
	list, err := s.rewardsBefore(ctx, app, f, p)
	if old := slices.IndexFunc(list, func(r rewards.Reward) bool { return !f.Begins(r) }); old >= 0 {
		list = list[:old]
	}
	return list, err
}

// rewardsBefore lists rewards by the filter's user and status, one of them, or neither.
func (s *Store) rewardsBefore(
	ctx context.Context, app rewards.AppID, f rewards.RewardFilter, p rewards.Page[rewards.Reward],
) ([]rewards.Reward, error) {
	args := []any{app[:], before(p.Before), p.Limit}
	if f.UserID != nil {
		return s.rewardsOfUser(ctx, app, f, p, append(args, f.UserID[:]))
	}
	switch f.Status {
	case rewards.Recorded, rewards.Executing:
		return readAllOf(ctx, s, app, scanRewards(),
			`SELECT `+listColumns+` FROM (`+openOf(`id < ?2 AND status = ?4`, `?3 + 0`)+`) AS listed
			JOIN rewards ON app_id = ?1 AND id = of_id ORDER BY id DESC`, append(args, int(f.Status))...)
	case rewards.Executed:
		return readOf(ctx, s, app, func(ctx context.Context, tx Tx) ([]rewards.Reward, error) {
			return executedRewards(ctx, tx, app, before(p.Before), p.Limit)
		})
	case rewards.Failed:
		return readAllOf(ctx, s, app, scanRewards(), listRewards+` AND failure_reason <> ''`+newestFirst, args...)
	default:
		return readAllOf(ctx, s, app, scanRewards(), listRewards+newestFirst, args...)
	}
}

const (
	listRewards = `SELECT ` + listColumns + ` FROM rewards WHERE app_id = ?1 AND id < ?2`
	newestFirst = ` ORDER BY id DESC LIMIT ?3 + 0`
)

// rewardsOfUser lists a user's rewards. The user is the fourth argument.
func (s *Store) rewardsOfUser(
	ctx context.Context, app rewards.AppID, f rewards.RewardFilter, p rewards.Page[rewards.Reward], args []any,
) ([]rewards.Reward, error) {
	if f.Status == rewards.Failed {
		return readAllOf(ctx, s, app, scanRewards(),
			listRewards+` AND user_id = ?4 AND failure_reason <> ''`+newestFirst, args...)
	}
	inSegments, err := s.inSegments(ctx)
	if err != nil {
		return nil, err
	}
	if inSegments {
		page := s.index.newUserPage(app, *f.UserID, f.Status)
		return readOf(ctx, s, app, func(ctx context.Context, tx Tx) ([]rewards.Reward, error) {
			return page.read(ctx, tx, p)
		})
	}
	if s.index.loaded() == indexInColumns {
		return s.ofUserInColumns(ctx, app, f, p)
	}
	switch f.Status { // an older store
	case rewards.Recorded, rewards.Executing:
		return readAllOf(ctx, s, app, scanRewards(), openOfUser(), append(args, int(f.Status))...)
	case rewards.Executed:
		return readAllOf(ctx, s, app, scanRewards(), executedOfUser(), args...)
	default:
		return readAllOf(ctx, s, app, scanRewards(), listRewards+` AND user_id = ?4`+newestFirst, args...)
	}
}

// LoadIndex reads what finds rewards into memory, so that the first requests need not wait for it: all filters, and
// over SQLite up to two segments of rewards.
func (s *Store) LoadIndex(ctx context.Context) error {
	_, err := s.inSegments(ctx)
	if err == nil && s.index.loaded() == indexInColumns {
		ctx, cancel := context.WithTimeout(ctx, sealTimeout) // of a store whose segments could not be sealed for long
		defer cancel()
		if _, err = s.readSegments(ctx); err == nil {
			s.segments.merge()
		}
	}
	return err
}

// inSegments reports whether segments find rewards.
func (s *Store) inSegments(ctx context.Context) (bool, error) {
	if use := s.index.loaded(); use != indexUnknown {
		return use == indexInSegments, nil
	}
	return read(ctx, s, s.index.load)
}

// rewardWithKey lists the reward with an idempotency key, if the filter and the page have it.
func (s *Store) rewardWithKey(
	ctx context.Context, app rewards.AppID, f rewards.RewardFilter, p rewards.Page[rewards.Reward],
) (list []rewards.Reward, err error) {
	inSegments, err := s.inSegments(ctx)
	if err != nil {
		return nil, err
	}
	key := requestKey{app, f.IdempotencyKey}
	switch {
	case inSegments:
		page := s.index.newKeyPage(key, keyHash(app, f.IdempotencyKey))
		list, err = readOf(ctx, s, app, page.read)
	case s.index.loaded() == indexInColumns:
		list, err = s.byKeyInColumns(ctx, key)
	default: // an older store
		list, err = readAllOf(ctx, s, app, scanReward, `SELECT `+rewardColumns+` FROM rewards
			WHERE app_id = ?1 AND idempotency_key = ?2`, app[:], f.IdempotencyKey)
	}
	before := before(p.Before)
	return slices.DeleteFunc(list, func(r rewards.Reward) bool {
		return !f.Matches(r) || bytes.Compare(r.ID[:], before) >= 0
	}), err
}

// CountRewards counts the rewards of an app by status, each up to limit, so that its cost does
// not grow with the store.
func (s *Store) CountRewards(ctx context.Context, app rewards.AppID, limit int) (map[rewards.Status]int, error) {
	open := func(status string) string {
		return ` FROM (` + openOf(`id < ?2 AND status = `+status, `?3 + 0`) + `) AS listed`
	}
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (map[rewards.Status]int, error) {
		n, err := countExecuted(ctx, tx, app, limit)
		counts := map[rewards.Status]int{rewards.Executed: n}
		if err != nil {
			return nil, err
		}
		for status, of := range map[rewards.Status]string{
			rewards.Recorded: open(recorded), rewards.Executing: open(executing),
			rewards.Failed: ` FROM rewards WHERE app_id = ?1 AND id < ?2 AND failure_reason <> ''`,
		} {
			var n int
			_, err := fetchValues(ctx, tx, []any{&n}, `SELECT count(*) FROM (SELECT 1`+of+` LIMIT ?3 + 0) AS counted`,
				app[:], before(rewards.RewardID{}), limit)
			if err != nil {
				return nil, err
			}
			counts[status] = n
		}
		return counts, nil
	})
}

// SharesOf returns how many shares were bought for each of the app's rewards so far. Rewards
// without shares are missing.
func (s *Store) SharesOf(
	ctx context.Context, app rewards.AppID, ids []rewards.RewardID,
) (map[rewards.RewardID]money.Shares, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (map[rewards.RewardID]money.Shares, error) {
		shares := make(map[rewards.RewardID]money.Shares, len(ids))
		for _, id := range ids {
			var sum money.Shares
			_, err := fetchValues(ctx, tx, []any{(*int64)(&sum)}, `SELECT shares + coalesce((SELECT sum(a.shares)
				FROM past_allocations a WHERE a.app_id = ?1 AND a.reward_id = ?2), 0) FROM rewards
				WHERE app_id = ?1 AND id = ?2`, app[:], id[:])
			if err != nil {
				return nil, err
			}
			if sum > 0 {
				shares[id] = sum
			}
		}
		return shares, nil
	})
}
