package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// byRow reads and writes row by row, which is fastest for a database in this process.
type byRow struct {
	*recording
	tx         Tx
	inSegments bool // segments find rewards by their keys, not an index of the database

	found map[int]*rewards.KeyedReward // what insert found by the keys of requests
}

// byRow begins a batch on a transaction.
func (r *recording) byRow(ctx context.Context, tx Tx) (byRow, error) {
	index := r.store.index
	inSegments, err := index.load(ctx, tx)
	b := byRow{r, tx, inSegments, make(map[int]*rewards.KeyedReward)}
	if err != nil || !inSegments {
		return b, err
	}
	err = index.catchUp(ctx, tx)
	r.first = index.firstNew()
	r.hashKeys()
	return b, err
}

func (b byRow) recognize(context.Context) error { return nil } // a look costs no exchange

func (b byRow) insert(ctx context.Context, requests []int, stored func(int)) error {
	unused := make([]int, 0, len(requests))
	for _, i := range requests {
		known, err := b.find(ctx, i)
		if err != nil {
			return err
		}
		if known != nil {
			b.found[i] = known
			continue
		}
		n := &b.batch[i]
		exists, err := b.store.userExistsByRow(ctx, b.tx, userKey{n.AppID, n.UserID})
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		b.newID(i) // also in a retry: others may have recorded since, and ids grow with the numbers
		unused = append(unused, i)
	}
	if err := b.insertNew(ctx, unused); err != nil {
		return err
	}
	for _, i := range unused {
		stored(i)
	}
	return nil
}

func (b byRow) insertNew(ctx context.Context, requests []int) error {
	rows := make([][]any, len(requests))
	for row, i := range requests {
		n, mark := &b.batch[i], b.fingerprint(i)
		rows[row] = []any{
			toID(&n.AppID), toID(&b.ids[i]), toID(&n.UserID), &n.IdempotencyKey, mark.Stored(), (*int64)(&n.Amount),
			(*int64)(&n.AssetID), &n.Symbol, &n.Source, &n.Metadata, flag(!n.Uncounted),
		}
	}
	_, err := b.tx.ExecEach(ctx, `INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount,
		asset_id, symbol, source, metadata, counted, room)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, x'0000000000000000000000000000000000000000')`, rows)
	if err == nil {
		b.created = append(b.created, requests...)
	}
	return err
}

// storeAtOnce does nothing: a commit of a database in this process needs no exchange.
func (byRow) storeAtOnce(context.Context) (bool, error) { return false, nil }

// end does nothing: the rewards are in memory after the commit, and follow from the rows.
func (byRow) end(context.Context) error { return nil }

func (b byRow) transaction() Tx { return b.tx }

func (b byRow) settings(ctx context.Context) (budgets string, err error) {
	return setting(ctx, b.tx, settingBudgets)
}

// find finds the reward that an earlier transaction stored by a request's key, or nil.
func (b byRow) find(ctx context.Context, i int) (*rewards.KeyedReward, error) {
	key := b.key(i)
	if b.inSegments {
		return b.store.index.byKey(ctx, b.tx, key, b.hashes[i])
	}
	k, found, err := fetchOne(ctx, b.tx, scanKeyed, `SELECT fingerprint, `+rewardColumns+` FROM rewards
		WHERE app_id = ?1 AND idempotency_key = ?2`, key.app[:], key.key)
	if !found {
		return nil, err
	}
	return &k, err
}

func (b byRow) keyed(ctx context.Context, requests []int) (map[requestKey]*rewards.KeyedReward, error) {
	known := make(map[requestKey]*rewards.KeyedReward, len(requests))
	for _, i := range requests {
		k := b.found[i] // no other transaction writes meanwhile
		if k == nil {
			var err error
			if k, err = b.find(ctx, i); err != nil {
				return nil, err
			}
		}
		if k != nil {
			known[b.key(i)] = k
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
func scanKeyed(row Row) (k rewards.KeyedReward, err error) {
	k.Reward, err = scanReward(prefixed{row, []any{toFingerprint{&k.Fingerprint}}})
	return k, err
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
