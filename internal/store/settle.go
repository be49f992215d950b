package store

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/rewards"
)

// SettleOrder books the end of an order: in one transaction its broker's final
// figures, what each member got, the users' holdings and the house's shares. book
// decides, given the members in order of arrival; its error is returned and
// nothing is booked. It fails with ErrStale when the order is not in the state
// from any more, and with ErrLostLease.
func (s *Store) SettleOrder(
	ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order,
	book func([]rewards.Claim) (rewards.Settlement, error),
) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		claims, err := queryClaims(ctx, tx, o.ID)
		if err != nil {
			return err
		}
		settlement, err := book(claims)
		if err != nil {
			return err
		}
		o.State, o.Reason, o.HouseShares = settlement.State, settlement.Reason, settlement.HouseShares
		o.SettledAt = latest(s.now(), o.FirstAttemptAt)
		if err := updateOrder(ctx, tx, from, o); err != nil {
			return err
		}
		for _, r := range settlement.Results {
			if err := bookResult(ctx, tx, o, r); err != nil {
				return fmt.Errorf("store: book reward %s of order %s: %w", r.RewardID, o.ID, err)
			}
		}
		return nil
	})
}

// errNotExecuting says that the books contradict themselves: the order is not
// booked, but its member does not wait for it. Trying again would not help.
var errNotExecuting = errors.New("the reward is not executing in this order")

// bookResult books what an order brought to one member.
func bookResult(ctx context.Context, tx Tx, o rewards.Order, r rewards.Result) error {
	n, err := tx.Exec(ctx, `UPDATE rewards SET status = ?3, waiting = ?4, booked = booked + ?5,
		executed_at = ?6, failure_reason = ?7
		WHERE app_id = ?1 AND id = ?2 AND status = 2 AND waiting = 0`, r.AppID[:], r.RewardID[:],
		int(r.Status), flag(r.Waits()), int64(r.Bought.Amount), micros(r.ExecutedAt), r.Reason)
	if err != nil {
		return err
	}
	if n != 1 {
		return errNotExecuting
	}
	if r.Bought.Amount == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO allocations (app_id, reward_id, order_id, amount, shares)
		VALUES (?1, ?2, ?3, ?4, ?5)`,
		r.AppID[:], r.RewardID[:], o.ID[:], int64(r.Bought.Amount), int64(r.Bought.Shares))
	if err != nil || r.Status == rewards.Failed {
		return err
	}
	cost := r.RewardAmount
	if r.Status != rewards.Executed {
		cost = 0 // counted when the reward is complete
	}
	if r.Bought.Shares == 0 && cost == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis)
		VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (app_id, user_id, asset_id) DO UPDATE SET
		quantity = holdings.quantity + excluded.quantity,
		cost_basis = holdings.cost_basis + excluded.cost_basis`,
		r.AppID[:], r.UserID[:], int64(o.AssetID), int64(r.Bought.Shares), int64(cost))
	return err
}
