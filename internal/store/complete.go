package store

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"stockrewards/internal/rewards"
)

// completeReversals completes the reversals that wait for rewards which an order made final. It
// fails with ErrStale while a sweep changes one of a reward's stocks.
func (s *Store) completeReversals(ctx context.Context, tx Tx, o rewards.OrderID, results []rewards.Result) error {
	pending, err := fetchAll(ctx, tx, scanReversal, `SELECT `+reversalColumns+` FROM (SELECT app_id AS of_app,
		reward_id AS of_reward FROM order_rewards WHERE order_id = ?1) AS members CROSS JOIN reversals
		WHERE app_id = of_app AND reward_id = of_reward AND completed_at = 0`, o[:])
	if err != nil {
		return err
	}
	slices.SortFunc(pending, func(a, b rewards.Reversal) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	final := make(map[rewardKey]rewards.Status)
	for i := range results {
		if r := &results[i]; !r.Waits() {
			final[rewardKey{r.AppID, r.RewardID}] = r.Status
		}
	}
	for _, v := range pending {
		switch final[rewardKey{v.AppID, v.RewardID}] {
		case rewards.Executed:
			err = s.completeOne(ctx, tx, v)
		case rewards.Failed:
			err = s.saveReversal(ctx, tx, v.Complete(0, 0, s.now()))
		default:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// completeOne takes the shares of a reversal whose reward the transaction has made final.
func (s *Store) completeOne(ctx context.Context, tx Tx, v rewards.Reversal) error {
	key := rewardKey{v.AppID, v.RewardID}
	reward, _, err := oneReward(ctx, tx, key)
	if err != nil {
		return err
	}
	lots, err := lotsOf(ctx, tx, reward, nil)
	if errors.Is(err, errNeedsLots) { // a part was bought before a corporate action
		lots, err = lotsNow(ctx, tx, reward)
	}
	if rewards.CodeOf(err) == rewards.CodeUnavailable {
		return rewards.ErrStale
	}
	if err != nil {
		return err
	}
	return s.complete(ctx, tx, lots, v)
}

// lotsNow is lotsOf, with all awards of the user.
func lotsNow(ctx context.Context, tx Tx, reward rewards.Reward) (lots sinceSwitch, err error) {
	if lots.number, err = lastSwitch(ctx, tx); err != nil {
		return lots, err
	}
	all, err := newLotIndex().ofUser(ctx, tx, userKey{reward.AppID, reward.UserID}, lots.number)
	if err != nil {
		return lots, err
	}
	lots.AwardLots = all[reward.ID]
	return lotsOf(ctx, tx, reward, &lots)
}

// complete takes the shares of a stored reversal.
func (s *Store) complete(ctx context.Context, tx Tx, lots sinceSwitch, v rewards.Reversal) error {
	v, takings, err := lots.take(v, s.now())
	if err != nil {
		return err
	}
	if err := s.saveReversal(ctx, tx, v); err != nil {
		return err
	}
	return bookTakings(ctx, tx, v, takings)
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
