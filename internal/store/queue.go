package store

import (
	"bytes"
	"context"

	"stockrewards/internal/rewards"
)

// waitingQueues lists the stocks and apps that rewards wait for: queues (asset_id, app_id).
// It jumps from one to the next in what waits; the last row of each stock has no app.
const waitingQueues = `waiting (asset_id) AS (
				SELECT min(asset_id) FROM open_rewards WHERE waiting = 1
				UNION ALL
				SELECT (SELECT min(r.asset_id) FROM open_rewards r WHERE r.waiting = 1 AND r.asset_id > w.asset_id)
				  FROM waiting w WHERE w.asset_id IS NOT NULL
			), queues (asset_id, app_id) AS (
				SELECT w.asset_id, (SELECT r.app_id FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = w.asset_id ORDER BY r.app_id LIMIT 1)
				  FROM waiting w WHERE w.asset_id IS NOT NULL
				UNION ALL
				SELECT q.asset_id, (SELECT r.app_id FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = q.asset_id AND r.app_id > q.app_id ORDER BY r.app_id LIMIT 1)
				  FROM queues q WHERE q.app_id IS NOT NULL
			)`

// Pools lists the assets that rewards wait for, each with the time of the reward
// that has waited longest, oldest first. Rewards of suspended apps do not count,
// and an asset with a quarantined order is marked as blocked. It jumps from app to app and
// from stock to stock in what waits.
func (s *Store) Pools(ctx context.Context) ([]rewards.Pool, error) {
	var pools []rewards.Pool
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		err := tx.Query(ctx, func(row Row) error {
			var p rewards.Pool
			var oldest rewards.RewardID
			err := row.Scan((*int64)(&p.Asset.ID), &p.Asset.Symbol, toTime{&p.Asset.Doubt.Since},
				toTime{&p.Asset.Hold.From}, toFlag{&p.Blocked}, toID(&oldest))
			p.Oldest, p.Apps = oldest.Time(), 1
			pools = append(pools, p)
			return err
		}, `WITH RECURSIVE `+waitingQueues+`, pools AS MATERIALIZED (
				SELECT q.asset_id, (SELECT r.id FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = q.asset_id AND r.app_id = q.app_id
					ORDER BY r.id LIMIT 1) AS oldest
				  FROM queues q JOIN apps a ON a.id = q.app_id WHERE a.suspended = 0
			)
			SELECT p.asset_id, a.symbol, a.doubt_since, a.hold_from,
				EXISTS (SELECT 1 FROM orders o WHERE o.state < 6 AND o.state = 4 AND o.asset_id = p.asset_id), p.oldest
			  FROM pools p JOIN assets a ON a.id = p.asset_id WHERE p.oldest IS NOT NULL ORDER BY p.oldest`)
		pools = rewards.MergePools(pools)
		return err
	})
	return pools, err
}

// readQueues reads the oldest rewards that wait for an asset, so many of each app.
// Suspended apps have none.
func readQueues(ctx context.Context, tx Tx, asset rewards.AssetID, lot int) ([]rewards.Queue, error) {
	var waiting []rewards.Waiting
	afterAll := bytes.Repeat([]byte{0xff}, len(rewards.RewardID{}))
	err := tx.Query(ctx, func(row Row) error {
		var w rewards.Waiting
		err := row.Scan(toID(&w.AppID), toID(&w.RewardID), (*int64)(&w.Pending))
		waiting = append(waiting, w)
		return err
	}, `WITH RECURSIVE queues (app_id) AS (
			SELECT (SELECT r.app_id FROM open_rewards r
				WHERE r.waiting = 1 AND r.asset_id = ?1 ORDER BY r.app_id LIMIT 1)
			UNION ALL
			SELECT (SELECT r.app_id FROM open_rewards r
				WHERE r.waiting = 1 AND r.asset_id = ?1 AND r.app_id > q.app_id ORDER BY r.app_id LIMIT 1)
			  FROM queues q WHERE q.app_id IS NOT NULL
		), lots AS MATERIALIZED (
			SELECT q.app_id, coalesce((SELECT r.id FROM open_rewards r
				WHERE r.waiting = 1 AND r.asset_id = ?1 AND r.app_id = q.app_id
				ORDER BY r.id LIMIT 1 OFFSET ?2), ?3) AS until
			  FROM queues q JOIN apps a ON a.id = q.app_id WHERE a.suspended = 0
		)
		SELECT r.app_id, r.id, r.pending FROM lots l JOIN open_rewards r
			ON r.waiting = 1 AND r.asset_id = ?1 AND r.app_id = l.app_id AND r.id < l.until`,
		int64(asset), lot, afterAll)
	if err != nil {
		return nil, err
	}
	queues := rewards.Queues(waiting)
	for i := range queues {
		queues[i].More = len(queues[i].Waiting) == lot
	}
	return queues, nil
}
