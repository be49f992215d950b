package store

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Pools lists the assets that rewards wait for, each with the time of the reward
// that has waited longest, oldest first. Rewards of suspended apps do not count,
// and an asset with a quarantined order is marked as blocked.
func (s *Store) Pools(ctx context.Context) ([]rewards.Pool, error) {
	var pools []rewards.Pool
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		return tx.Query(ctx, func(row Row) error {
			var p rewards.Pool
			var oldest rewards.RewardID
			err := row.Scan((*int64)(&p.Asset.ID), &p.Asset.Symbol, toTime{&p.Asset.Doubt.Since}, toFlag{&p.Blocked},
				toID(&oldest))
			p.Oldest = oldest.Time()
			pools = append(pools, p)
			return err
		}, `WITH RECURSIVE waiting (asset_id) AS (
				SELECT min(asset_id) FROM open_rewards WHERE waiting = 1
				UNION ALL
				SELECT (SELECT min(r.asset_id) FROM open_rewards r WHERE r.waiting = 1 AND r.asset_id > w.asset_id)
				  FROM waiting w WHERE w.asset_id IS NOT NULL
			), pools AS (
				SELECT asset_id, (SELECT r.id FROM open_rewards r JOIN apps a ON a.id = r.app_id
					WHERE r.asset_id = w.asset_id AND r.waiting = 1 AND a.suspended = 0
					ORDER BY r.id LIMIT 1) AS oldest
				  FROM waiting w WHERE asset_id IS NOT NULL
			)
			SELECT p.asset_id, a.symbol, a.doubt_since,
				EXISTS (SELECT 1 FROM orders o WHERE o.state < 6 AND o.state = 4 AND o.asset_id = p.asset_id), p.oldest
			  FROM pools p JOIN assets a ON a.id = p.asset_id WHERE p.oldest IS NOT NULL ORDER BY p.oldest`)
	})
	return pools, err
}

// PlanOrder pools the rewards that wait for an asset into an order and stores it
// with its frozen members, or tells why it is to wait. It fails with ErrLostLease.
func (s *Store) PlanOrder(ctx context.Context, l rewards.Lease, r rewards.PlanRequest) (
	o rewards.Order, hold rewards.Hold, err error,
) {
	err = s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		asset, err := assetNow(ctx, tx, r.Asset.ID)
		if err != nil {
			return err
		}
		if asset.Doubt.Exists() {
			hold = rewards.HoldDoubt
			return nil
		}
		waiting, err := queryWaiting(ctx, tx, r.Asset.ID, r.Most())
		if err != nil {
			return err
		}
		id := s.newOrderID(waiting)
		limits, err := limitsLeft(ctx, tx, r.Limits, id.Time())
		if err != nil {
			return err
		}
		var plan rewards.Plan
		if plan, hold, err = rewards.PlanOrder(waiting, limits); err != nil || hold != rewards.NoHold {
			return err
		}
		clientOrderID, err := s.newClientOrderID(r.ClientOrderIDPrefix)
		if err != nil {
			return err
		}
		o, err = s.insertOrder(ctx, tx, id, asset, clientOrderID, plan)
		return err
	})
	return o, hold, err
}

// newOrderID makes an id that is not before any of the rewards, given in order of
// arrival: they may come from another process, whose clock is ahead.
func (s *Store) newOrderID(waiting []rewards.Waiting) rewards.OrderID {
	id := rewards.NewID[rewards.Order](s.ids)
	if len(waiting) == 0 {
		return id
	}
	if newest := waiting[len(waiting)-1].RewardID.Time(); newest.After(id.Time()) {
		s.ids.StartAfter(newest)
		id = rewards.NewID[rewards.Order](s.ids)
	}
	return id
}

// limitsLeft are the limits less what was ordered on the day of that moment.
func limitsLeft(ctx context.Context, tx Tx, l rewards.PlanLimits, at time.Time) (rewards.PlanLimits, error) {
	var notional, house money.USD
	_, err := one(ctx, tx, []any{(*int64)(&notional), (*int64)(&house)},
		`SELECT notional, house FROM spending WHERE day = ?1`, dayOf(at))
	l.DailyLeft -= notional
	l.HouseLeft -= house
	return l, err
}

// assetNow is an asset as it stands in this transaction: its price may have come
// into doubt, or its symbol changed, since the pool was seen.
func assetNow(ctx context.Context, tx Tx, id rewards.AssetID) (rewards.Asset, error) {
	return oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets WHERE id = ?1`, int64(id))
}

// dayOf is the UTC day of a moment, as it is kept.
func dayOf(t time.Time) int64 {
	const day = 24 * time.Hour
	return micros(t.UTC().Truncate(day))
}

func queryWaiting(ctx context.Context, tx Tx, asset rewards.AssetID, most int) ([]rewards.Waiting, error) {
	var waiting []rewards.Waiting
	err := tx.Query(ctx, func(row Row) error {
		var w rewards.Waiting
		err := row.Scan(toID(&w.AppID), toID(&w.RewardID), (*int64)(&w.Pending))
		waiting = append(waiting, w)
		return err
	}, `SELECT r.app_id, r.id, r.pending FROM open_rewards r JOIN apps a ON a.id = r.app_id
		WHERE r.asset_id = ?1 AND r.waiting = 1 AND a.suspended = 0 ORDER BY r.id LIMIT ?2`,
		int64(asset), most)
	return waiting, err
}

const clientOrderIDBytes = 12

func (s *Store) newClientOrderID(prefix string) (string, error) {
	random := make([]byte, clientOrderIDBytes)
	if _, err := io.ReadFull(s.random, random); err != nil {
		return "", err
	}
	return prefix + hex.EncodeToString(random), nil
}

func (s *Store) insertOrder(
	ctx context.Context, tx Tx, id rewards.OrderID, a rewards.Asset, clientOrderID string, p rewards.Plan,
) (rewards.Order, error) {
	o := rewards.Order{
		ID: id, ClientOrderID: clientOrderID,
		AssetID: a.ID, AssetBrokerID: a.BrokerID, Symbol: a.Symbol, Notional: p.Notional, House: p.House,
		MembersHash: rewards.HashMembers(p.Members), State: rewards.OrderPlanned,
	}
	_, err := tx.Exec(ctx, `INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house,
		members_hash, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`, o.ID[:], o.ClientOrderID,
		int64(o.AssetID), o.Symbol, int64(o.Notional), int64(o.House), o.MembersHash[:], int(o.State))
	if err != nil {
		return o, err
	}
	if err := insertMembers(ctx, tx, o.ID, p.Members); err != nil {
		return o, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO spending (day, notional, house) VALUES (?1, ?2, ?3)
		ON CONFLICT (day) DO UPDATE SET notional = spending.notional + excluded.notional,
		house = spending.house + excluded.house`, dayOf(o.CreatedAt()), int64(o.Notional), int64(o.House))
	return o, err
}

// insertMembers freezes the members of an order; their rewards wait no more.
func insertMembers(ctx context.Context, tx Tx, order rewards.OrderID, members []rewards.Member) error {
	frozen, taken := make([][]any, len(members)), make([][]any, len(members))
	for i := range members {
		m := &members[i]
		frozen[i] = []any{order[:], int64(i), m.AppID[:], m.RewardID[:], int64(m.Amount)}
		taken[i] = []any{m.AppID[:], m.RewardID[:]}
	}
	_, err := execRows(ctx, tx, `INSERT INTO order_rewards (order_id, position, app_id, reward_id, amount)
		VALUES (?1, ?2, ?3, ?4, ?5)`, `INSERT INTO order_rewards (order_id, position, app_id, reward_id, amount)
		SELECT * FROM unnest(?1::bytea[], ?2::bigint[], ?3::bytea[], ?4::bytea[], ?5::bigint[])`, frozen)
	if err != nil {
		return err
	}
	// Joined sideways: each reward is looked up by its key, whatever the statistics say.
	n, err := execRows(ctx, tx, `UPDATE rewards SET status = 2, waiting = 0
		WHERE app_id = ?1 AND id = ?2 AND waiting = 1 AND status IN (1, 2)`,
		`UPDATE rewards r SET status = 2, waiting = 0
		FROM unnest(?1::bytea[], ?2::bytea[]) AS taken (app_id, id) CROSS JOIN LATERAL (SELECT f.ctid AS place
			FROM rewards f WHERE f.app_id = taken.app_id AND f.id = taken.id AND f.waiting = 1 AND f.status IN (1, 2)
			OFFSET 0) AS found
		WHERE r.ctid = found.place`, taken)
	if err == nil && n != int64(len(members)) {
		err = ErrStale
	}
	return err
}

// BeginAttempt counts a send of an order before it is made: after a crash the
// order is known to have been sent, perhaps. It fails with ErrStale and ErrLostLease.
func (s *Store) BeginAttempt(
	ctx context.Context, l rewards.Lease, o rewards.Order, next, deadline time.Time,
) (rewards.Order, error) {
	from := o.State
	o.State = rewards.OrderSubmitted
	o.Attempts++
	o.NextAttemptAt = next
	if o.FirstAttemptAt.IsZero() {
		o.FirstAttemptAt = latest(s.now(), o.CreatedAt())
	}
	if o.Deadline.IsZero() {
		o.Deadline = deadline
	}
	return o, s.SaveOrder(ctx, l, from, o)
}
