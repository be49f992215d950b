package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// byColumn reads and writes a batch in one statement, with a whole column in each argument.
type byColumn struct {
	*recording
	tx Tx
}

func (b byColumn) insert(ctx context.Context, requests []int, stored func(int)) error {
	n := len(requests)
	apps, ids, users, prints := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	keys, symbols, sources, metadata := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	amounts, assets := make([]int64, n), make([]int64, n)
	place := make(map[rewards.RewardID]int, n)
	for row, i := range requests {
		if b.ids[i].IsZero() { // a retry has the same ids
			b.newID(i)
		}
		r, mark := &b.batch[i], b.fingerprint(i)
		place[b.ids[i]] = i
		apps[row], ids[row], users[row], prints[row] = r.AppID[:], b.ids[i][:], r.UserID[:], mark[:]
		keys[row], symbols[row], sources[row], metadata[row] = r.IdempotencyKey, r.Symbol, r.Source, r.Metadata
		amounts[row], assets[row] = int64(r.Amount), int64(r.AssetID)
	}
	const insert = `INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol,
			source, metadata) SELECT n.* FROM unnest(?1::bytea[], ?2::bytea[], ?3::bytea[], ?4::text[], ?5::bytea[],
			?6::bigint[], ?7::bigint[], ?8::text[], ?9::text[], ?10::text[]) AS n (app_id, id, user_id)
			WHERE EXISTS (SELECT 1 FROM users u WHERE u.app_id = n.app_id AND u.id = n.user_id)
			ON CONFLICT (app_id, idempotency_key) DO NOTHING RETURNING id`
	args := []any{apps, ids, users, keys, prints, amounts, assets, symbols, sources, metadata}
	if b.mayCommit(requests) {
		committed, err := commitAll(ctx, b.tx, n, insert, args...)
		if err != nil {
			return err
		}
		if committed {
			for _, i := range requests {
				stored(i)
			}
			return nil
		}
	}
	return b.tx.Query(ctx, func(row Row) error {
		var id rewards.RewardID
		err := row.Scan(toID(&id))
		stored(place[id])
		return err
	}, insert, args...)
}

// mayCommit reports whether nothing remains to be done once these requests are stored.
func (b byColumn) mayCommit(requests []int) bool {
	for _, i := range requests {
		if _, used := b.store.used.Load(b.batch[i].AssetID); !used {
			return false
		}
	}
	return len(requests) == len(b.batch)
}

func (b byColumn) keyed(ctx context.Context, requests []int) (map[requestKey]*rewards.KeyedReward, error) {
	apps, keys := make([][]byte, len(requests)), make([]string, len(requests))
	for row, i := range requests {
		apps[row], keys[row] = b.batch[i].AppID[:], b.batch[i].IdempotencyKey
	}
	known := make(map[requestKey]*rewards.KeyedReward, len(requests))
	err := fetchEach(ctx, b.tx, scanKeyed, func(k rewards.KeyedReward) error {
		known[requestKey{k.Reward.AppID, k.Reward.IdempotencyKey}] = &k
		return nil
	}, `SELECT fingerprint, `+rewardColumns+` FROM rewards WHERE (app_id, idempotency_key) IN
			(SELECT * FROM unnest(?1::bytea[], ?2::text[]))`, apps, keys)
	return known, err
}

func (b byColumn) users(ctx context.Context, requests []int) (map[userKey]bool, error) {
	apps, users := make([][]byte, len(requests)), make([][]byte, len(requests))
	for row, i := range requests {
		apps[row], users[row] = b.batch[i].AppID[:], b.batch[i].UserID[:]
	}
	exist := make(map[userKey]bool, len(requests))
	err := b.tx.Query(ctx, func(row Row) error {
		var k userKey
		err := row.Scan(toID(&k.app), toID(&k.user))
		exist[k] = true
		return err
	}, `SELECT app_id, id FROM users WHERE (app_id, id) IN (SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`,
		apps, users)
	return exist, err
}
