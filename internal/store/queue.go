package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// waitingQueues is a recursive query of the assets and apps with waiting rewards: queues
// (asset_id, app_id), and of the arrivals among them, fresh. It skips from one asset and app to
// the next, so that its cost does not depend on the number of rewards.
const waitingQueues = `waiting (asset_id) AS (
				SELECT min(asset_id) FROM open_rewards WHERE waiting = 1
				UNION ALL
				SELECT (SELECT min(r.asset_id) FROM open_rewards r WHERE r.waiting = 1 AND r.asset_id > w.asset_id)
				  FROM waiting w WHERE w.asset_id IS NOT NULL
			), sorted (asset_id, app_id) AS (
				SELECT w.asset_id, (SELECT r.app_id FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = w.asset_id ORDER BY r.app_id LIMIT 1)
				  FROM waiting w WHERE w.asset_id IS NOT NULL
				UNION ALL
				SELECT q.asset_id, (SELECT r.app_id FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = q.asset_id AND r.app_id > q.app_id ORDER BY r.app_id LIMIT 1)
				  FROM sorted q WHERE q.app_id IS NOT NULL
			), fresh AS MATERIALIZED (
				SELECT asset_id, app_id, oldest, waiting FROM arrived
			), queues (asset_id, app_id) AS (
				SELECT asset_id, app_id FROM sorted WHERE app_id IS NOT NULL
				UNION SELECT asset_id, app_id FROM fresh
			)`

// oldestOfQueue is the oldest reward of a queue q. Arrivals are newer than all others.
const oldestOfQueue = `coalesce((SELECT r.id FROM open_rewards r
					WHERE r.waiting = 1 AND r.asset_id = q.asset_id AND r.app_id = q.app_id
					ORDER BY r.id LIMIT 1), (SELECT f.oldest FROM fresh f
					WHERE f.asset_id = q.asset_id AND f.app_id = q.app_id)) AS oldest`

// orderingApps are the queues whose rewards may be ordered. The rewards of a suspended app
// wait.
const orderingApps = `queues q JOIN apps a ON a.id = q.app_id WHERE a.suspended = 0`

// Pools lists the assets with waiting rewards, the asset of the oldest reward first. Rewards
// of suspended apps do not count. An asset with a quarantined order is blocked.
func (s *Store) Pools(ctx context.Context) ([]rewards.Pool, error) {
	ofApps, err := readAll(ctx, s, func(row Row) (p rewards.Pool, err error) {
		var oldest rewards.RewardID
		p.Apps = make([]rewards.AppID, 1)
		err = row.Scan((*int64)(&p.Asset.ID), &p.Asset.Symbol, toTime{&p.Asset.Doubt.Since},
			toTime{&p.Asset.Hold.From}, toFlag{&p.Blocked}, toID(&p.Apps[0]), toID(&oldest))
		p.Oldest = oldest.Time()
		return p, err
	}, `WITH RECURSIVE `+waitingQueues+`, pools AS MATERIALIZED (
				SELECT q.asset_id, q.app_id, `+oldestOfQueue+`
				  FROM `+orderingApps+`
			)
			SELECT p.asset_id, a.symbol, a.doubt_since, a.hold_from,
				EXISTS (`+quarantinedOrder+`p.asset_id), p.app_id, p.oldest
			  FROM pools p JOIN assets a ON a.id = p.asset_id ORDER BY p.oldest`)
	return rewards.MergePools(ofApps), err
}

// readQueues reads the oldest rewards that wait for an asset, at most limit of each app.
// Suspended apps have none.
func readQueues(ctx context.Context, tx Tx, asset rewards.AssetID, limit int) ([]rewards.Queue, error) {
	waiting, err := fetchAll(ctx, tx, func(row Row) (w rewards.Waiting, err error) {
		err = row.Scan(toID(&w.AppID), toID(&w.RewardID), (*int64)(&w.Pending))
		return w, err
	}, `WITH RECURSIVE queues (app_id) AS (
			SELECT (SELECT r.app_id FROM open_rewards r
				WHERE r.waiting = 1 AND r.asset_id = ?1 ORDER BY r.app_id LIMIT 1)
			UNION ALL
			SELECT (SELECT r.app_id FROM open_rewards r
				WHERE r.waiting = 1 AND r.asset_id = ?1 AND r.app_id > q.app_id ORDER BY r.app_id LIMIT 1)
			  FROM queues q WHERE q.app_id IS NOT NULL
		), parts AS MATERIALIZED (
			SELECT q.app_id, coalesce((SELECT r.id FROM open_rewards r
				WHERE r.waiting = 1 AND r.asset_id = ?1 AND r.app_id = q.app_id
				ORDER BY r.id LIMIT 1 OFFSET ?2), ?3) AS until
			  FROM `+orderingApps+`
		)
		SELECT r.app_id, r.id, r.pending FROM parts l JOIN open_rewards r
			ON r.waiting = 1 AND r.asset_id = ?1 AND r.app_id = l.app_id AND r.id < l.until
		UNION ALL SELECT r.app_id, r.id, r.pending FROM arrivals r JOIN apps a ON a.id = r.app_id
			WHERE r.asset_id = ?1 AND a.suspended = 0`,
		int64(asset), limit, before(rewards.RewardID{}))
	if err != nil {
		return nil, err
	}
	queues := rewards.Queues(waiting)
	for i := range queues {
		q := &queues[i]
		q.More = len(q.Waiting) >= limit
		q.Waiting = q.Waiting[:min(limit, len(q.Waiting))]
	}
	return queues, nil
}
