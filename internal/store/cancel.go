package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// CancelReward cancels a reward of any app that is in no order yet. It fails with
// CodeNotFound, and with CodeConflict when rewards.Reward.Cancel refuses.
func (o *Operator) CancelReward(ctx context.Context, id rewards.RewardID, reason string) (rewards.Reward, error) {
	var canceled rewards.Reward
	err := o.changeFor(ctx, reason, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		r, err := rewardOfAnyApp(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if canceled, err = r.Cancel(reason); err != nil {
			return nil, err
		}
		n, err := tx.Exec(ctx, `UPDATE rewards SET status = `+failed+`, waiting = 0, failure_reason = ?3
			WHERE app_id = ?1 AND id = ?2 AND status = `+recorded+` AND waiting = 1`,
			r.AppID[:], r.ID[:], canceled.FailureReason)
		if err == nil && n == 0 {
			err = rewards.ErrStale
		}
		return []rewards.Change{{Object: r.Object(), Before: r.State(), After: canceled.State()}}, err
	})
	return canceled, err
}

// rewardOfAnyApp finds a reward by its id alone, for operators. CROSS makes SQLite look the
// reward up by its key in each app.
func rewardOfAnyApp(ctx context.Context, tx Tx, id rewards.RewardID) (rewards.Reward, error) {
	r, found, err := fetchOne(ctx, tx, scanReward, `SELECT r.app_id, r.id, r.user_id, r.idempotency_key, r.amount,
		r.asset_id, r.symbol, r.source, r.metadata, r.status, r.booked, r.executed_at, r.failure_reason
		FROM apps a CROSS JOIN rewards r WHERE r.app_id = a.id AND r.id = ?1`, id[:])
	if err == nil && !found {
		err = notFound("no reward of that id")
	}
	return r, err
}
