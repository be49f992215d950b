package store

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const reversalColumns = `app_id, id, reward_id, user_id, idempotency_key, amount, reason, state, quantity, after_switch,
	completed_at`

func scanReversal(row Row) (r rewards.Reversal, err error) {
	err = row.Scan(toID(&r.AppID), toID(&r.ID), toID(&r.RewardID), toID(&r.UserID), &r.IdempotencyKey,
		(*int64)(&r.Amount), &r.Reason, (*int)(&r.State), (*int64)(&r.Quantity), &r.After, toTime{&r.CompletedAt})
	return r, err
}

// Reversal implements rewards.Store.
func (s *Store) Reversal(ctx context.Context, app rewards.AppID, id rewards.ReversalID) (rewards.Reversal, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (rewards.Reversal, error) {
		r, found, err := fetchOne(ctx, only(tx), scanReversal, `SELECT `+reversalColumns+` FROM reversals
			WHERE app_id = ?1 AND id = ?2`, app[:], id[:])
		if err == nil && !found {
			err = notFound("reversal not found")
		}
		return r, err
	})
}

// Reversals implements rewards.Store. The reward's or the user's reversals are read whole or in part
// and then filtered; each is small.
func (s *Store) Reversals(
	ctx context.Context, app rewards.AppID, f rewards.ReversalFilter, p rewards.Page[rewards.Reversal],
) (list []rewards.Reversal, err error) {
	condition, args := ``, []any{app[:], nil, p.Limit}
	switch {
	case f.RewardID != nil:
		condition, args = ` AND reward_id = ?4`, append(args, f.RewardID[:])
	case f.UserID != nil:
		condition, args = ` AND user_id = ?4`, append(args, f.UserID[:])
	case f.State == rewards.ReversalCompleted:
		condition = ` AND completed_at > 0`
	case f.State != 0:
		condition = ` AND completed_at = 0`
	}
	for more := true; more && len(list) < p.Limit; {
		args[1] = before(p.Before)
		page, err := readAll(ctx, s, scanReversal, `SELECT `+reversalColumns+` FROM reversals
			WHERE app_id = ?1 AND id < ?2`+condition+` ORDER BY id DESC LIMIT ?3 + 0`, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			if p.Before = r.ID; f.Matches(r) && len(list) < p.Limit {
				list = append(list, r)
			}
		}
		more = len(page) == p.Limit
	}
	return list, nil
}

// lotAttempts is how often the lots of awards are computed: a corporate action of the stock begins or ends between two
// attempts.
const lotAttempts = 5

// ReverseRewards answers requests to take awards back in one transaction, as if they had come one by
// one in the order of batch. After an error nothing is stored; with CodeUnavailable that is unknown.
// A request for which nothing can be taken now is refused with CodeUnavailable. When the outcome of a
// commit is unknown it is retried with the same ids.
func (s *Store) ReverseRewards(
	ctx context.Context, batch []rewards.NewReversal,
) (outcomes []rewards.ReversalOutcome, err error) {
	if err := s.CheckClock(); err != nil {
		return nil, err
	}
	r := &reversing{lotKeeper: newLotKeeper(s), ids: make([]rewards.ReversalID, len(batch))}
	for range lotAttempts {
		err = untilKnown(ctx, func() error { return s.reverseOnce(ctx, r, batch) })
		if !errors.Is(err, errNeedsLots) {
			return r.outcomes, err
		}
		if err := r.prepare(ctx); err != nil {
			return nil, err
		}
	}
	return nil, rewards.Unavailable("a corporate action is being applied", err)
}

// reversing is a batch of requests to take awards back.
type reversing struct {
	lotKeeper

	ids      []rewards.ReversalID // made in this process's turn
	outcomes []rewards.ReversalOutcome
	canceled []rewards.Reward
}

func (s *Store) reverseOnce(ctx context.Context, r *reversing, batch []rewards.NewReversal) error {
	change := &holdingChange{cache: s.held}
	err := s.engine.WriteBooks(ctx, func(ctx context.Context, tx Tx) error {
		r.outcomes, r.canceled = make([]rewards.ReversalOutcome, len(batch)), nil
		var needs error
		for i, n := range batch {
			if r.ids[i].IsZero() {
				r.ids[i] = rewards.NewID[rewards.Reversal](s.ids)
			}
			n.ID = r.ids[i]
			outcome, err := r.reverse(ctx, tx, n)
			switch {
			case errors.Is(err, errNeedsLots):
				needs = err
			case err != nil:
				return fmt.Errorf("store: cannot take an award back: %w", err)
			}
			r.outcomes[i] = outcome
		}
		if needs != nil {
			return needs
		}
		if err := giveBackCanceled(ctx, tx, r.canceled...); err != nil {
			return err
		}
		return change.begin(ctx, tx, r.users())
	})
	if err == nil {
		change.committed()
	}
	return err
}

// users lists the users whose holdings may have changed.
func (r *reversing) users() (list []userKey) {
	for _, o := range r.outcomes {
		if v := o.Reversal; o.Refused == nil && !o.Replayed && v.State == rewards.ReversalCompleted {
			list = append(list, userKey{v.AppID, v.UserID})
		}
	}
	return list
}

// reverse answers one request.
func (r *reversing) reverse(
	ctx context.Context, tx Tx, n rewards.NewReversal,
) (o rewards.ReversalOutcome, err error) {
	stored, found, err := reversalByKey(ctx, tx, n)
	if err != nil || found {
		return n.Replay(stored), err
	}
	reward, found, err := oneReward(ctx, tx, rewardKey{n.AppID, n.RewardID})
	if err != nil || !found {
		if err == nil {
			o.Refused = notFound("reward not found")
		}
		return o, err
	}
	reversed, err := reversedOf(ctx, tx, reward)
	if err != nil {
		return o, err
	}
	v, refused := n.Decide(reward, reversed)
	switch {
	case refused != nil:
		return rewards.ReversalOutcome{Refused: refused}, nil //nolint:nilerr // it is the answer
	case reward.Status == rewards.Executed:
		return r.takeBack(ctx, tx, reward, n, v)
	case v.Cancels(reward, reversed):
		if _, err := r.store.cancel(ctx, tx, reward, v); err != nil {
			return o, err
		}
		r.canceled = append(r.canceled, reward)
		v = v.Complete(0, 0, r.store.now())
	default:
	}
	return rewards.ReversalOutcome{Reversal: v}, r.store.insertReversal(ctx, tx, v, n.Fingerprint())
}

// takeBack takes shares of an executed award.
func (r *reversing) takeBack(
	ctx context.Context, tx Tx, reward rewards.Reward, n rewards.NewReversal, v rewards.Reversal,
) (o rewards.ReversalOutcome, err error) {
	lots, err := r.lotsOf(ctx, tx, reward)
	if rewards.CodeOf(err) == rewards.CodeUnavailable {
		return rewards.ReversalOutcome{Refused: err}, nil
	}
	if err != nil {
		return o, err
	}
	v, takings, err := lots.take(v, r.store.now())
	if err != nil {
		return o, err
	}
	if err := r.store.insertReversal(ctx, tx, v, n.Fingerprint()); err != nil {
		return o, err
	}
	return rewards.ReversalOutcome{Reversal: v}, bookTakings(ctx, tx, v, takings)
}

// oneReward finds a reward.
func oneReward(ctx context.Context, tx Tx, k rewardKey) (rewards.Reward, bool, error) {
	return fetchOne(ctx, tx, scanReward, `SELECT `+rewardColumns+` FROM rewards WHERE app_id = ?1 AND id = ?2`,
		k.app[:], k.id[:])
}

func reversalByKey(ctx context.Context, tx Tx, n rewards.NewReversal) (rewards.KeyedReversal, bool, error) {
	return fetchOne(ctx, tx, func(row Row) (k rewards.KeyedReversal, err error) {
		k.Reversal, err = scanReversal(suffixed{row, []any{toFingerprint{&k.Fingerprint}}})
		return k, err
	}, `SELECT `+reversalColumns+`, fingerprint FROM reversals WHERE app_id = ?1 AND idempotency_key = ?2`,
		n.AppID[:], n.IdempotencyKey)
}

// reversalsOf lists the reversals of a reward, oldest first.
func reversalsOf(ctx context.Context, tx Tx, r rewards.Reward) ([]rewards.Reversal, error) {
	return fetchAll(ctx, tx, scanReversal, `SELECT `+reversalColumns+` FROM reversals
		WHERE app_id = ?1 AND reward_id = ?2 ORDER BY id`, r.AppID[:], r.ID[:])
}

// reversedOf is the sum of a reward's reversals.
func reversedOf(ctx context.Context, tx Tx, r rewards.Reward) (sum money.USD, err error) {
	list, err := reversalsOf(ctx, tx, r)
	return rewards.SumOfReversals(list), err
}

// insertReversal stores a reversal.
func (s *Store) insertReversal(ctx context.Context, tx Tx, r rewards.Reversal, f rewards.Fingerprint) error {
	_, err := tx.Exec(ctx, `INSERT INTO reversals (`+reversalColumns+`, fingerprint)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`, r.AppID[:], r.ID[:], r.RewardID[:], r.UserID[:],
		r.IdempotencyKey, int64(r.Amount), r.Reason, int64(r.State), int64(r.Quantity), r.After, micros(r.CompletedAt),
		f[:])
	if err != nil || r.State != rewards.ReversalCompleted {
		return err
	}
	return s.addEvent(ctx, tx, r.AppID, rewards.EventReversalCompleted, r.ID[:])
}

// saveReversal stores that a reversal is complete.
func (s *Store) saveReversal(ctx context.Context, tx Tx, r rewards.Reversal) error {
	n, err := tx.Exec(ctx, `UPDATE reversals SET state = ?3, quantity = ?4, after_switch = ?5, completed_at = ?6
		WHERE app_id = ?1 AND id = ?2 AND completed_at = 0`, r.AppID[:], r.ID[:], int64(r.State), int64(r.Quantity),
		r.After, micros(r.CompletedAt))
	if err := staleIf(n == 0, err); err != nil {
		return err
	}
	return s.addEvent(ctx, tx, r.AppID, rewards.EventReversalCompleted, r.ID[:])
}
