package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// SaveBrakes keeps the limits that the leader orders by. It fails with ErrLostLease.
func (s *Store) SaveBrakes(ctx context.Context, l rewards.Lease, b rewards.Brakes) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		return setSetting(ctx, tx, settingBrakes, b.String())
	})
}

// Waits lists what waits by stock and app, suspended apps included, longest waiting first,
// and why: by the limits of the process that led last. Nothing is explained before one led.
func (s *Store) Waits(ctx context.Context) (waits []rewards.Wait, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		text, err := setting(ctx, tx, settingBrakes)
		if err != nil {
			return err
		}
		if waits, err = queryWaits(ctx, tx); err != nil || text == "" {
			return err
		}
		brakes, err := rewards.ParseBrakes(text)
		if err != nil {
			return err
		}
		return s.explain(ctx, tx, waits, brakes)
	})
	return waits, err
}

// explain plans an order of each stock without making it, and says what that means.
func (s *Store) explain(ctx context.Context, tx Tx, waits []rewards.Wait, b rewards.Brakes) error {
	type outcome struct {
		plan rewards.Plan
		hold rewards.Hold
	}
	planned := make(map[rewards.AssetID]outcome)
	left, err := limitsLeft(ctx, tx, b.Limits(0, rewards.SmallPoolTimer{}), s.now())
	if err != nil {
		return err
	}
	for i := range waits {
		w := &waits[i]
		o, known := planned[w.Asset.ID]
		if !known {
			var price money.Price
			if _, err := one(ctx, tx, []any{(*int64)(&price)}, `SELECT price FROM prices WHERE asset_id = ?1`,
				int64(w.Asset.ID)); err != nil {
				return err
			}
			request := rewards.PlanRequest{
				Asset: w.Asset, MaxMembers: b.MaxMembers,
				Limits: b.Limits(price, rewards.SmallPoolTimer{Now: s.now(), Wait: b.SmallPoolWait}),
			}
			if o.plan, _, o.hold, err = s.draft(ctx, tx, request); err != nil {
				return err
			}
			planned[w.Asset.ID] = o
		}
		w.Why = w.Explain(o.plan, o.hold, b, left)
	}
	return nil
}

func queryWaits(ctx context.Context, tx Tx) (waits []rewards.Wait, err error) {
	err = tx.Query(ctx, func(row Row) error {
		var w rewards.Wait
		var oldest rewards.RewardID
		err := row.Scan((*int64)(&w.Asset.ID), &w.Asset.Symbol, toTime{&w.Asset.Doubt.Since}, toFlag{&w.Blocked},
			toID(&w.App.ID), &w.App.Name, toFlag{&w.App.Suspended}, &w.Count, toID(&oldest))
		w.Oldest = oldest.Time()
		waits = append(waits, w)
		return err
	}, `WITH RECURSIVE `+waitingQueues+`
		SELECT w.asset_id, w.symbol, w.doubt_since, w.blocked, w.app_id, w.name, w.suspended, w.waiting, w.oldest FROM (
			SELECT q.asset_id, s.symbol, s.doubt_since,
				EXISTS (SELECT 1 FROM orders o
					WHERE o.state < 6 AND o.state = 4 AND o.asset_id = q.asset_id) AS blocked,
				q.app_id, a.name, a.suspended,
				(SELECT count(*) FROM (SELECT 1 FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = q.asset_id AND r.app_id = q.app_id
					ORDER BY r.id LIMIT ?1) AS counted) AS waiting,
				(SELECT r.id FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = q.asset_id AND r.app_id = q.app_id
					ORDER BY r.id LIMIT 1) AS oldest
			  FROM queues q JOIN apps a ON a.id = q.app_id JOIN assets s ON s.id = q.asset_id
		) AS w ORDER BY w.oldest`, rewards.MaxCounted)
	return waits, err
}
