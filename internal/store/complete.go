package store

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"stockrewards/internal/rewards"
)

// completing completes the reversals that wait for rewards which a transaction makes final.
type completing struct {
	store *Store
	index *lotIndex // of this transaction: it sees what is not committed
	users map[userKey]map[rewards.RewardID]*rewards.AwardLots
}

func newCompleting(s *Store) *completing {
	return &completing{store: s, index: newLotIndex(), users: make(map[userKey]map[rewards.RewardID]*rewards.AwardLots)}
}

// order completes the reversals of an order's rewards. It fails with ErrStale while a sweep changes one of a
// reward's stocks.
func (c *completing) order(ctx context.Context, tx Tx, o rewards.OrderID, results []rewards.Result) error {
	pending, err := fetchAll(ctx, tx, scanReversal, `SELECT `+reversalColumns+` FROM (SELECT app_id AS of_app,
		reward_id AS of_reward FROM order_rewards WHERE order_id = ?1) AS members CROSS JOIN reversals
		WHERE app_id = of_app AND reward_id = of_reward AND completed_at = 0`, o[:])
	if err != nil {
		return err
	}
	slices.SortFunc(pending, func(a, b rewards.Reversal) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	of := make(map[rewardKey][]rewards.Reversal)
	for _, v := range pending {
		key := rewardKey{v.AppID, v.RewardID}
		of[key] = append(of[key], v)
	}
	for i := range results {
		r := &results[i]
		key := rewardKey{r.AppID, r.RewardID}
		if r.Waits() || len(of[key]) == 0 {
			continue
		}
		if r.Status == rewards.Failed {
			err = c.store.completeWithout(ctx, tx, of[key])
		} else {
			err = c.award(ctx, tx, key, of[key])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// award takes the shares of reversals whose reward the transaction has executed.
func (c *completing) award(ctx context.Context, tx Tx, key rewardKey, list []rewards.Reversal) error {
	reward, _, err := oneReward(ctx, tx, key)
	if err != nil {
		return err
	}
	lots, err := lotsOf(ctx, tx, reward, nil)
	if errors.Is(err, errNeedsLots) {
		lots, err = c.lotsNow(ctx, tx, reward)
	}
	if rewards.CodeOf(err) == rewards.CodeUnavailable {
		return rewards.ErrStale
	}
	if err != nil {
		return err
	}
	return c.store.complete(ctx, tx, lots, list...)
}

// lotsNow is lotsOf, with all awards of the user.
func (c *completing) lotsNow(ctx context.Context, tx Tx, reward rewards.Reward) (lots sinceSwitch, err error) {
	if lots.number, err = lastSwitch(ctx, tx); err != nil {
		return lots, err
	}
	user := userKey{reward.AppID, reward.UserID}
	if c.users[user] == nil {
		if c.users[user], err = c.index.ofUser(ctx, tx, user, lots.number); err != nil {
			return lots, err
		}
	}
	lots.AwardLots = c.users[user][reward.ID]
	return lotsOf(ctx, tx, reward, &lots)
}

// complete takes the shares of stored reversals of one award, in their order.
func (s *Store) complete(ctx context.Context, tx Tx, lots sinceSwitch, list ...rewards.Reversal) error {
	completed, all := make([]rewards.Reversal, len(list)), make([]takenBack, len(list))
	for i, v := range list {
		v, takings, err := lots.take(v, s.now())
		if err != nil {
			return err
		}
		completed[i], all[i] = v, takenBack{v, takings}
	}
	if err := s.saveReversals(ctx, tx, completed); err != nil {
		return err
	}
	return bookTakings(ctx, tx, all...)
}

// completeWithout completes reversals of a reward that has failed: there is nothing to take.
func (s *Store) completeWithout(ctx context.Context, tx Tx, list []rewards.Reversal) error {
	completed := make([]rewards.Reversal, len(list))
	for i, v := range list {
		completed[i] = v.Complete(0, 0, s.now())
	}
	return s.saveReversals(ctx, tx, completed)
}

// orderedPart is how many reversals of operators one transaction completes.
const orderedPart = 100

// CompleteReversals takes the shares of executed rewards that operators took back, a part of them in
// one transaction, and returns how many. Reversals of stocks that a sweep changes wait. It fails with
// ErrLostLease.
func (s *Store) CompleteReversals(ctx context.Context, l rewards.Lease) (n int, err error) {
	ordered, err := readAll(ctx, s, scanReversal, `SELECT `+reversalColumns+` FROM reversals WHERE state = `+
		orderedState+` LIMIT ?1 + 0`, orderedPart)
	if err != nil || len(ordered) == 0 {
		return 0, err
	}
	k := newLotKeeper(s)
	for range lotAttempts {
		n, err = s.completeOrdered(ctx, l, &k, ordered)
		if !errors.Is(err, errNeedsLots) {
			return n, err
		}
		if err := k.prepare(ctx); err != nil {
			return 0, err
		}
	}
	return 0, rewards.Unavailable("a corporate action is being applied", err)
}

func (s *Store) completeOrdered(
	ctx context.Context, l rewards.Lease, k *lotKeeper, ordered []rewards.Reversal,
) (n int, err error) {
	change := &holdingChange{cache: s.held}
	err = s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		n = 0
		var users []userKey
		var needs error
		for _, v := range ordered {
			reward, _, err := oneReward(ctx, tx, rewardKey{v.AppID, v.RewardID})
			if err != nil {
				return err
			}
			lots, err := k.lotsOf(ctx, tx, reward)
			switch {
			case errors.Is(err, errNeedsLots):
				needs = err
				continue
			case rewards.CodeOf(err) == rewards.CodeUnavailable:
				continue
			case err != nil:
				return err
			}
			if err := s.complete(ctx, tx, lots, v); err != nil {
				return err
			}
			users, n = append(users, userKey{v.AppID, v.UserID}), n+1
		}
		if needs != nil {
			return needs
		}
		return change.begin(ctx, tx, users)
	})
	if err == nil {
		change.committed()
	}
	return n, err
}
