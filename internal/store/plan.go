package store

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"stockrewards/internal/rewards"
)

// PlanOrder pools the waiting rewards of an asset into an order and stores it with its frozen
// members, or returns why the asset must wait. It fails with ErrLostLease.
func (s *Store) PlanOrder(ctx context.Context, l rewards.Lease, r rewards.PlanRequest) (
	o rewards.Order, hold rewards.Hold, err error,
) {
	r.MaxMembers = min(r.MemberLimit(), s.engine.pacer.memberLimit())
	var plan rewards.Plan
	err = s.writeOrders(ctx, l, func(ctx context.Context, tx Tx) error {
		o, hold, plan = rewards.Order{}, rewards.NoHold, rewards.Plan{}
		// The asset's price, hold or symbol may have changed since the worker read the pools.
		asset, err := oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets WHERE id = ?1`, int64(r.Asset.ID))
		if err != nil {
			return err
		}
		if hold = asset.HoldAt(r.FilledUntil); hold != rewards.NoHold {
			return nil
		}
		if waits, err := sweeping(ctx, tx, asset.ID); err != nil || waits {
			hold = rewards.HoldAction
			return err
		}
		var id rewards.OrderID
		if plan, id, hold, err = s.draft(ctx, tx, r); err != nil || hold != rewards.NoHold {
			return err
		}
		clientOrderID, err := s.newClientOrderID(r.ClientOrderIDPrefix)
		if err != nil {
			return err
		}
		if o, err = s.insertOrder(ctx, tx, id, asset, clientOrderID, plan); err != nil {
			return err
		}
		return chargeTopUps(ctx, tx, dayOf(id.Time()), plan.TopUps)
	})
	if len(plan.Members) > 0 {
		s.engine.pacer.planned(len(plan.Members))
	}
	return o, hold, err
}

// draft plans an order from the waiting rewards. It reads more of them until they suffice.
func (s *Store) draft(ctx context.Context, tx Tx, r rewards.PlanRequest) (
	plan rewards.Plan, id rewards.OrderID, hold rewards.Hold, err error,
) {
	// First what is in orders: one that is booked in between gives its shares, or takes them, and is in none any more.
	promised, buying, err := houseInOrders(ctx, tx, r.Asset.ID)
	if err != nil {
		return plan, id, hold, err
	}
	has, err := houseShares(ctx, tx, r.Asset.ID)
	if err != nil {
		return plan, id, hold, err
	}
	r.Limits.Shortage = rewards.ShortageCost(-has, r.Limits.Price, buying)
	if r.Limits.UseHouse && has > 0 {
		r.Limits.Offer = rewards.HouseOffer(has, r.Limits.Price, promised)
	}
	for lot, more := r.FirstRead(), true; more; {
		queues, err := readQueues(ctx, tx, r.Asset.ID, lot)
		if err != nil {
			return plan, id, hold, err
		}
		id = s.newOrderID(queues)
		limits, err := limitsLeft(ctx, tx, r.Limits, id.Time())
		if err != nil {
			return plan, id, hold, err
		}
		plan, hold, err = rewards.PlanOrder(queues, r.MemberLimit(), limits)
		if err != nil || !plan.NeedsMore {
			return plan, id, hold, err
		}
		lot, more = rewards.NextRead(lot, len(queues))
	}
	return plan, id, hold, nil
}

// newOrderID makes an id that is later than every reward read. Rewards may come from another
// process, whose clock is ahead.
func (s *Store) newOrderID(queues []rewards.Queue) rewards.OrderID {
	id := rewards.NewID[rewards.Order](s.ids)
	for _, q := range queues {
		newest := q.Waiting[len(q.Waiting)-1].RewardID.Time()
		if newest.After(id.Time()) {
			s.ids.StartAfter(newest)
			id = rewards.NewID[rewards.Order](s.ids)
		}
	}
	return id
}

const clientOrderIDBytes = 12

func (s *Store) newClientOrderID(prefix string) (string, error) {
	random := make([]byte, clientOrderIDBytes)
	if _, err := io.ReadFull(s.random, random); err != nil {
		return "", err
	}
	return prefix + hex.EncodeToString(random), nil
}

// newNumber returns the number of the next order.
func newNumber(ctx context.Context, tx Tx) (number int64, err error) {
	_, err = fetchValues(ctx, tx, []any{&number}, `SELECT coalesce(max(number), 0) + 1 FROM orders WHERE number > 0`)
	return number, err
}

func (s *Store) insertOrder(
	ctx context.Context, tx Tx, id rewards.OrderID, a rewards.Asset, clientOrderID string, p rewards.Plan,
) (rewards.Order, error) {
	o := rewards.NewOrder(id, clientOrderID, a, p)
	var err error
	if o.Number, err = newNumber(ctx, tx); err != nil {
		return o, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO orders (id, number, client_order_id, asset_id, symbol, notional, house,
		members_hash, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`, o.ID[:], o.Number, o.ClientOrderID,
		int64(o.AssetID), o.Symbol, int64(o.Notional), int64(o.House), o.MembersHash[:], int(o.State))
	if err != nil {
		return o, err
	}
	if err := insertMembers(ctx, tx, o, p.Members); err != nil {
		return o, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO spending (day, notional, house, shortage) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (day) DO UPDATE SET notional = spending.notional + excluded.notional,
		house = spending.house + excluded.house, shortage = spending.shortage + excluded.shortage`,
		dayOf(o.CreatedAt()), int64(o.Notional), int64(o.HousePays()), int64(p.Shortage))
	return o, err
}

// BeginAttempt counts an attempt before the order is sent, so that after a crash its outcome
// counts as unknown. The attempt, and all that was written before it, is durable when BeginAttempt returns. It fails
// with ErrStale and ErrLostLease.
func (s *Store) BeginAttempt(
	ctx context.Context, l rewards.Lease, o rewards.Order, next, deadline time.Time,
) (rewards.Order, error) {
	begun := o.Attempt(s.now(), next, deadline)
	return begun, s.engine.durably(ctx, s.writeOrders(ctx, l, func(ctx context.Context, tx Tx) error {
		return updateOrder(ctx, tx, o.State, begun)
	}))
}
