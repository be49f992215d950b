package store

import (
	"context"
	"errors"
	"fmt"

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
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (rewards.Reversal, error) {
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
		page, err := readAllOf(ctx, s, app, scanReversal, `SELECT `+reversalColumns+` FROM reversals
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
	awards   map[rewardKey]*reversedAward
	pending  map[rewards.AppID]int64 // not complete, also those of this batch
}

// reversedAward is what a transaction knows of an award of which it takes something back.
type reversedAward struct {
	rewards.Reversed

	lots *sinceSwitch // of an executed award; nil until it is needed
}

func (s *Store) reverseOnce(ctx context.Context, r *reversing, batch []rewards.NewReversal) error {
	change := &holdingChange{cache: s.held}
	err := s.engine.WriteBooks(ctx, func(ctx context.Context, tx Tx) error {
		r.outcomes, r.canceled = make([]rewards.ReversalOutcome, len(batch)), nil
		r.awards, r.pending = make(map[rewardKey]*reversedAward), make(map[rewards.AppID]int64)
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
	award, err := r.award(ctx, tx, reward)
	if err != nil {
		return o, err
	}
	v, refused := n.Decide(reward, award.Reversed)
	var takings []rewards.Taking
	switch {
	case refused != nil:
	case reward.Status == rewards.Executed:
		v, takings, refused, err = r.takeBack(ctx, tx, reward, award, v)
	case v.Cancels(reward, award.Reversed):
		_, err = r.store.cancel(ctx, tx, reward, v)
		r.canceled = append(r.canceled, reward)
		v = v.Complete(0, 0, r.store.now())
	default:
		refused, err = r.wait(ctx, tx, v)
	}
	if err != nil || refused != nil {
		return rewards.ReversalOutcome{Refused: refused}, err
	}
	award.Reversed = award.With(v)
	if err := r.store.insertReversal(ctx, tx, v, n.Fingerprint()); err != nil {
		return o, err
	}
	return rewards.ReversalOutcome{Reversal: v}, bookTakings(ctx, tx, takenBack{v, takings})
}

// award is what was taken back of a reward, also by this batch.
func (r *reversing) award(ctx context.Context, tx Tx, reward rewards.Reward) (*reversedAward, error) {
	key := rewardKey{reward.AppID, reward.ID}
	if a := r.awards[key]; a != nil {
		return a, nil
	}
	earlier, err := reversalsOf(ctx, tx, reward)
	r.awards[key] = &reversedAward{Reversed: rewards.ReversedBy(earlier)}
	return r.awards[key], err
}

// wait lets a reversal wait for its reward. It refuses it when the app has too many that wait.
func (r *reversing) wait(ctx context.Context, tx Tx, v rewards.Reversal) (refused, err error) {
	n, counted := r.pending[v.AppID]
	if !counted {
		_, err = fetchValues(ctx, tx, []any{&n}, `SELECT count(*) FROM (SELECT 1 FROM reversals
			WHERE app_id = ?1 AND completed_at = 0 LIMIT ?2 + 0) AS waiting`, v.AppID[:], rewards.MaxPendingReversals)
		if err != nil {
			return nil, err
		}
	}
	if n >= rewards.MaxPendingReversals {
		return rewards.TooManyPending(), nil
	}
	r.pending[v.AppID] = n + 1
	return nil, nil
}

// takeBack takes shares of an executed award.
func (r *reversing) takeBack(
	ctx context.Context, tx Tx, reward rewards.Reward, award *reversedAward, v rewards.Reversal,
) (_ rewards.Reversal, takings []rewards.Taking, refused, err error) {
	if award.lots == nil {
		lots, err := r.lotsOf(ctx, tx, reward)
		if rewards.CodeOf(err) == rewards.CodeUnavailable {
			return v, nil, err, nil
		}
		if err != nil {
			return v, nil, nil, err
		}
		award.lots = &lots
	}
	v, takings, err = award.lots.take(v, r.store.now())
	return v, takings, nil, err
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

// saveReversals stores that reversals are complete.
func (s *Store) saveReversals(ctx context.Context, tx Tx, list []rewards.Reversal) error {
	rows := make([][]any, len(list))
	events := make([]rewards.EventRow, len(list))
	now := s.now()
	for i, r := range list {
		rows[i] = []any{r.AppID[:], r.ID[:], int64(r.State), int64(r.Quantity), r.After, micros(r.CompletedAt)}
		events[i] = rewards.EventRow{
			AppID: r.AppID, Last: int64(i), Types: rewards.EventReversalCompleted, Subject: r.ID[:], At: now,
		}
	}
	n, err := execRows(ctx, tx, `UPDATE reversals SET state = ?3, quantity = ?4, after_switch = ?5, completed_at = ?6
		WHERE app_id = ?1 AND id = ?2 AND completed_at = 0`,
		`UPDATE reversals v SET state = c.state, quantity = c.quantity, after_switch = c.after_switch,
			completed_at = c.completed_at
		FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[], ?4::bigint[], ?5::bigint[], ?6::bigint[])
			AS c (app_id, id, state, quantity, after_switch, completed_at)
		WHERE v.app_id = c.app_id AND v.id = c.id AND v.completed_at = 0`, rows)
	if err := staleIf(n < int64(len(list)), err); err != nil {
		return err
	}
	return addEvents(ctx, tx, now, events)
}
