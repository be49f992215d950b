package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// byRow reads and writes row by row, which is fastest for a database in this process.
type byRow struct {
	*recording
	tx Tx
}

func (b byRow) insert(ctx context.Context, requests []int, stored func(int)) error {
	for _, i := range requests {
		n := &b.batch[i]
		found, err := b.store.userExistsByRow(ctx, b.tx, userKey{n.AppID, n.UserID})
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		mark := b.fingerprint(i)
		inserted, err := b.tx.Exec(ctx, `INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint,
			amount, asset_id, symbol, source, metadata) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
			ON CONFLICT (app_id, idempotency_key) DO NOTHING`,
			n.AppID[:], b.ids[i][:], n.UserID[:], n.IdempotencyKey, mark[:], int64(n.Amount),
			int64(n.AssetID), n.Symbol, n.Source, n.Metadata)
		if err != nil {
			return err
		}
		if inserted == 1 {
			stored(i)
		}
	}
	return nil
}

func (b byRow) keyed(ctx context.Context, requests []int) (map[requestKey]*rewards.KeyedReward, error) {
	known := make(map[requestKey]*rewards.KeyedReward, len(requests))
	for _, i := range requests {
		err := b.tx.Query(ctx, func(row Row) error { return scanKeyed(row, known) }, `SELECT fingerprint, `+
			rewardColumns+` FROM rewards WHERE app_id = ?1 AND idempotency_key = ?2`,
			b.batch[i].AppID[:], b.batch[i].IdempotencyKey)
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

func (b byRow) users(ctx context.Context, requests []int) (map[userKey]bool, error) {
	exist := make(map[userKey]bool, len(requests))
	for _, i := range requests {
		u := userKey{b.batch[i].AppID, b.batch[i].UserID}
		found, err := b.store.userExistsByRow(ctx, b.tx, u)
		if err != nil {
			return nil, err
		}
		exist[u] = found
	}
	return exist, nil
}

// scanKeyed reads a fingerprint and the reward behind it.
func scanKeyed(row Row, known map[requestKey]*rewards.KeyedReward) error {
	var k rewards.KeyedReward
	var err error
	k.Reward, err = scanReward(prefixed{row, []any{idScanner{k.Fingerprint[:]}}})
	known[requestKey{k.Reward.AppID, k.Reward.IdempotencyKey}] = &k
	return err
}

// prefixed is a row with more columns before those that a scan function knows.
type prefixed struct {
	Row
	first []any
}

// Scan implements Row.
func (p prefixed) Scan(dest ...any) error {
	return p.Row.Scan(append(p.first[:len(p.first):len(p.first)], dest...)...)
}
