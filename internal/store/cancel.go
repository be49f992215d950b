package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// ReverseReward takes an award of any app back, or a part of it; amount 0 is all that is left. A reward
// in no order is canceled when it is taken back whole. Of an executed one the running service takes
// the shares in a moment. It fails with CodeNotFound, and as rewards.NewReversal.CheckRepeated and
// Decide.
func (o *Operator) ReverseReward(
	ctx context.Context, id rewards.RewardID, amount money.USD, reason string,
) (v rewards.Reversal, after rewards.Reward, err error) {
	if err := o.checkClock(ctx); err != nil {
		return v, after, err
	}
	err = o.changeFor(ctx, reason, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := rewardOfAnyApp(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		earlier, err := reversalsOf(ctx, tx, before)
		if err != nil {
			return nil, err
		}
		n := rewards.OperatorReversal(before, rewards.NewID[rewards.Reversal](o.ids), amount, reason)
		if err := n.CheckRepeated(earlier); err != nil {
			return nil, err
		}
		reversed := rewards.ReversedBy(earlier)
		if v, err = n.Decide(before, reversed); err != nil {
			return nil, err
		}
		after = before
		switch {
		case before.Status == rewards.Executed:
			v.State = rewards.ReversalOrdered
		case v.Cancels(before, reversed):
			if after, err = o.cancel(ctx, tx, before, v); err != nil {
				return nil, err
			}
			if err := giveBackCanceled(ctx, tx, before); err != nil {
				return nil, err
			}
			v = v.Complete(0, 0, o.now())
		default:
		}
		return []rewards.Change{
			{Object: v.Object(), After: v.LogState()},
			{Object: after.Object(), Before: before.State(), After: after.State()},
		}, o.insertReversal(ctx, tx, v, n.Fingerprint())
	})
	return v, after, err
}

// cancel fails a recorded reward that is taken back whole. All its reversals are then complete. The caller gives back
// what it counts, once for all that the transaction cancels.
func (s *Store) cancel(
	ctx context.Context, tx Tx, r rewards.Reward, v rewards.Reversal,
) (after rewards.Reward, err error) {
	if after, err = r.Cancel(v.FailureText()); err != nil {
		return r, err
	}
	if err := sortArrivals(ctx, tx, 1); err != nil {
		return r, err
	}
	n, err := tx.Exec(ctx, `DELETE FROM open_rewards WHERE app_id = ?1 AND id = ?2 AND status = `+recorded,
		r.AppID[:], r.ID[:])
	if err != nil || n == 0 {
		return r, staleIf(n == 0, err)
	}
	n, err = tx.Exec(ctx, `UPDATE rewards SET status = `+failed+`, failure_reason = ?3
		WHERE app_id = ?1 AND id = ?2 AND status = `+recorded, r.AppID[:], r.ID[:], after.FailureReason)
	if err != nil || n == 0 {
		return r, staleIf(n == 0, err)
	}
	earlier, err := reversalsOf(ctx, tx, r)
	if err != nil {
		return r, err
	}
	if err := s.completeWithout(ctx, tx, earlier); err != nil {
		return r, err
	}
	return after, s.addEvent(ctx, tx, r.AppID, rewards.EventRewardFailed, r.ID[:])
}

// rewardOfAnyApp finds a reward by its id alone, for operators. CROSS makes SQLite look the
// reward up by its key in each app.
func rewardOfAnyApp(ctx context.Context, tx Tx, id rewards.RewardID) (rewards.Reward, error) {
	r, found, err := fetchOne(ctx, tx, scanReward, `SELECT `+rewardColumns+` FROM (SELECT id AS of_app FROM apps) AS a
		CROSS JOIN rewards WHERE app_id = of_app AND id = ?1`, id[:])
	if err == nil && !found {
		err = notFound("no reward of that id")
	}
	return r, err
}
