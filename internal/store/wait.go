package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// SaveBrakes stores the limits that the leader orders by. It fails with ErrLostLease.
func (s *Store) SaveBrakes(ctx context.Context, l rewards.Lease, b rewards.Brakes) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		return setSetting(ctx, tx, settingBrakes, b.String())
	})
}

// Waits lists the waiting rewards by asset and app, suspended apps included, oldest first. It
// explains each by the limits of the last leader, once there was one.
func (s *Store) Waits(ctx context.Context) (waits []rewards.Wait, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		stored, err := setting(ctx, tx, settingBrakes)
		if err != nil {
			return err
		}
		if waits, err = queryWaits(ctx, tx); err != nil || stored == "" {
			return err
		}
		brakes, err := rewards.ParseBrakes(stored)
		if err != nil {
			return err
		}
		return s.explain(ctx, tx, waits, brakes)
	})
	return waits, err
}

// explain drafts an order of each asset without storing it, to say why its rewards wait.
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
			if _, err := fetchValues(ctx, tx, []any{(*int64)(&price)}, `SELECT price FROM prices WHERE asset_id = ?1`,
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

const (
	heldByAction = string('0' + rune(rewards.CauseAction))
	quarantine   = string('0' + rune(rewards.CauseQuarantine))
)

func queryWaits(ctx context.Context, tx Tx) ([]rewards.Wait, error) {
	return fetchAll(ctx, tx, func(row Row) (w rewards.Wait, err error) {
		var oldest rewards.RewardID
		err = row.Scan((*int64)(&w.Asset.ID), &w.Asset.Symbol, toTime{&w.Asset.Doubt.Since}, toFlag{&w.Blocked},
			toFlag{&w.FarFill}, toFlag{&w.Held}, toID(&w.App.ID), &w.App.Name, toFlag{&w.App.Suspended}, &w.Count,
			toID(&oldest))
		w.Oldest, w.Count = oldest.Time(), min(w.Count, rewards.MaxCounted)
		return w, err
	}, `WITH RECURSIVE `+waitingQueues+`
		SELECT w.asset_id, w.symbol, w.doubt_since, w.blocked, w.far_fill, w.held, w.app_id, w.name, w.suspended,
			w.waiting, w.oldest FROM (
			SELECT q.asset_id, s.symbol, s.doubt_since,
				EXISTS (`+quarantinedOrder+`q.asset_id) AS blocked,
				EXISTS (SELECT 1 FROM standstills b WHERE b.asset_id = q.asset_id AND b.until = 0 AND b.cause = `+
		quarantine+` AND b.expected <> 0) AS far_fill,
				EXISTS (SELECT 1 FROM standstills b WHERE b.asset_id = q.asset_id AND b.until = 0 AND b.cause = `+
		heldByAction+`) AS held,
				q.app_id, a.name, a.suspended,
				(SELECT count(*) FROM (SELECT 1 FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = q.asset_id AND r.app_id = q.app_id
					ORDER BY r.id LIMIT ?1 + 0) AS counted)
					+ coalesce((SELECT f.waiting FROM fresh f
					WHERE f.asset_id = q.asset_id AND f.app_id = q.app_id), 0) AS waiting,
				`+oldestOfQueue+`
			  FROM queues q JOIN apps a ON a.id = q.app_id JOIN assets s ON s.id = q.asset_id
		) AS w ORDER BY w.oldest`, rewards.MaxCounted)
}
