package store

import (
	"context"
	"errors"
	"slices"

	"stockrewards/internal/rewards"
)

// byColumn reads and writes a batch in one statement, with a whole column in each argument.
type byColumn struct {
	*recording
	tx     Tx
	search *keySearch
	found  map[requestKey]*rewards.KeyedReward // by the keys that were looked for; nil: by none

	upToDate bool // it knows what others recorded
}

// byColumn begins a batch on a transaction.
func (r *recording) byColumn(ctx context.Context, tx Tx) (*byColumn, error) {
	r.hashKeys()
	b := &byColumn{recording: r, tx: tx, found: make(map[requestKey]*rewards.KeyedReward)}
	b.know(r.store.segments.search())
	if r.known.view != nil {
		return b, nil
	}
	err := b.catchUp(ctx)
	return b, err
}

func (b *byColumn) know(s *keySearch) { b.search, b.known = s, s.columnState }

// catchUp reads what others recorded since this process did. They exclude each other.
func (b *byColumn) catchUp(ctx context.Context) error {
	for {
		search, err := b.store.segments.catchUp(ctx, b.tx, false)
		if err != nil {
			return err
		}
		if search != nil {
			b.know(search)
			return nil
		}
	}
}

// The statements that store requests, and their parts. They store those whose user exists, also of users whom this
// process knows: a server that took over may lack a user. They store nothing when the budgets are not those that this
// process knows, or when a batch came that it does not know: any one for isNewest, one with a key of the requests or of
// another segment for noneUsed. An award of nothing is never stored.
const (
	intoRewards = `stored AS (INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount,
		asset_id, symbol, source, metadata, counted, segment)
		SELECT n.* FROM (SELECT unnest(?1::bytea[]) AS app_id, unnest(?2::bytea[]),
		unnest(?3::bytea[]) AS user_id, unnest(?4::text[]), unnest(?5::bytea[]), unnest(?6::bigint[]) AS amount,
		unnest(?7::bigint[]), unnest(?8::text[]), unnest(?9::text[]), unnest(?10::text[]), unnest(?11::bigint[]),
		?13::integer
		WHERE coalesce((SELECT s.value FROM settings s WHERE s.name = '` + settingBudgets + `'), '') = ?12
			AND `
	ofUsers = `) AS n
		WHERE n.amount > 0 AND EXISTS (SELECT 1 FROM users u WHERE u.app_id = n.app_id AND u.id = n.user_id)
		RETURNING app_id, id, asset_id, amount),
	opened AS (INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
		SELECT app_id, id, asset_id, ` + recorded + `, 1, amount FROM stored)`

	// insertColumns stores the rewards. storeColumns and storeBeside, which follow WITH, also store the batch: the
	// next one after what is known, or one after some that others stored meanwhile and that have none of its keys.
	insertColumns = `WITH ` + intoRewards + noneUsed + ofUsers + ` SELECT id FROM stored`
	storeColumns  = intoRewards + isNewest + ofUsers + `, batched AS (
		INSERT INTO reward_batches (segment, number, mark, keys, users, ids) VALUES (?13, ?15, ?16, ?17, ?18, ?19))`
	storeBeside = intoRewards + noneUsed + ofUsers + `, batched AS (
		INSERT INTO reward_batches (segment, number, mark, keys, users, ids)
		SELECT ?13, max(number) + 1, ?17, ?18, ?19, ?20 FROM reward_batches)`

	isNewest = `(SELECT b.mark FROM reward_batches b ORDER BY b.number DESC LIMIT 1) = ?14`
	noneUsed = `EXISTS (SELECT 1 FROM reward_batches b WHERE b.number = ?15 AND b.mark = ?14)
			AND (SELECT max(number) FROM reward_batches) <= ?15 + 64
			AND NOT EXISTS (SELECT 1 FROM reward_batches b CROSS JOIN unnest(?16::bytea[]) AS k (hash)
				WHERE b.number > ?15 AND b.number <= ?15 + 64
					AND (b.segment <> ?13 OR position(k.hash IN b.keys) > 0))`
)

// insertArgs are the arguments of insertColumns.
func (b *byColumn) insertArgs(requests []int) []any {
	return append(b.columns(requests), b.known.last.number, b.newBatch(requests).hashes())
}

// columns are the arguments that the statements have in common.
func (b *byColumn) columns(requests []int) []any {
	n := len(requests)
	apps, ids, users, prints := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	keys, symbols, sources, metadata := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	amounts, assets, counted := make([]int64, n), make([]int64, n), make([]int64, n)
	for row, i := range requests {
		r, mark := &b.batch[i], b.fingerprint(i)
		apps[row], ids[row], users[row], prints[row] = r.AppID[:], b.ids[i][:], r.UserID[:], mark.Stored()
		keys[row], symbols[row], sources[row], metadata[row] = r.IdempotencyKey, r.Symbol, r.Source, r.Metadata
		amounts[row], assets[row], counted[row] = int64(r.Amount), int64(r.AssetID), int64(flag(!r.Uncounted))
	}
	return []any{
		apps, ids, users, keys, prints, amounts, assets, symbols, sources, metadata, counted, b.budgets.changes,
		b.known.newest(), b.known.last.mark,
	}
}

// mayLackUsers reports whether a user of some requests may not exist. It asks only when the batch was not stored at
// once, although this process knows what others recorded, and for eight batches after one with such a user: they come
// in bursts.
func (b *byColumn) mayLackUsers(requests []int) bool {
	const often = 8
	left := b.store.doubted.Load()
	if !b.upToDate && left == 0 || b.usersKnown(requests) {
		return false
	}
	if b.upToDate {
		b.store.doubted.Store(often)
	} else {
		b.store.doubted.CompareAndSwap(left, left-1)
	}
	return true
}

// usersKnown reports whether every user of some requests is known to exist.
func (b *byColumn) usersKnown(requests []int) bool {
	return !slices.ContainsFunc(requests, func(i int) bool {
		return !b.store.known.has(userKey{b.batch[i].AppID, b.batch[i].UserID})
	})
}

// recognize reads the rewards that many of the requests probably repeat. An answer to them needs nothing else.
func (b *byColumn) recognize(ctx context.Context) error {
	look := b.search.look(b.soughtKeys(b.open()))
	if look == nil {
		return nil
	}
	known, err := look.read(ctx, b.tx)
	for i := range b.batch {
		if stored := known[b.key(i)]; stored != nil {
			b.outcomes[i] = b.batch[i].Decide(b.ids[i], stored, true)
		}
	}
	return err
}

// storeAtOnce commits unless the budgets have changed, so that an app without one costs no exchange.
func (b *byColumn) storeAtOnce(ctx context.Context) (bool, error) {
	open := b.open()
	if !b.noneBudgeted(open) || !b.assetsUsed(open) || b.mayLackUsers(open) {
		return false, nil
	}
	all := b.likelyNew(open)
	if len(all) < len(open) {
		return false, nil
	}
	if used, err := b.search.used(ctx, b.tx, b.soughtKeys(all)); used || err != nil {
		return false, err
	}
	b.identify(all)
	committed, err := b.commit(ctx, all)
	if committed {
		for _, i := range all {
			b.outcomes[i] = b.batch[i].Decide(b.ids[i], nil, true)
		}
	}
	return committed, err
}

// commit stores requests and, with those that this transaction stored before, the batch. It commits, or does nothing.
func (b *byColumn) commit(ctx context.Context, requests []int) (committed bool, err error) {
	created := slices.Concat(b.created, requests)
	batch := b.newBatch(created)
	b.store.segments.expect(batch)
	args := b.columns(requests)
	if b.upToDate || !b.store.segments.beside() {
		args = append(args, batch.number, batch.mark)
		args = append(args, batch.columns()...)
		committed, err = commitAll(ctx, b.tx, len(requests), storeColumns, args...)
	} else {
		args = append(args, b.known.last.number, batch.hashes(), batch.mark)
		args = append(args, batch.columns()...)
		committed, err = commitAll(ctx, b.tx, len(requests), storeBeside, args...)
		batch.number = 0 // it is not known
	}
	if committed {
		b.created, b.stored = created, batch
	} else if !errors.Is(err, ErrUnknownOutcome) {
		b.store.segments.expectNoMore(batch)
	}
	return committed, err
}

// end stores the batch of what this transaction stored.
func (b *byColumn) end(ctx context.Context) error {
	if len(b.created) == 0 || b.stored != nil {
		return nil
	}
	b.stored = b.newBatch(b.created)
	b.store.segments.expect(b.stored)
	args := []any{b.stored.segment, b.stored.number, b.stored.mark}
	return execLater(ctx, b.tx, `INSERT INTO reward_batches (segment, number, mark, keys, users, ids)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, append(args, b.stored.columns()...)...)
}

// identify makes the ids of requests' rewards. A retry has the same ids.
func (b *byColumn) identify(requests []int) {
	for _, i := range requests {
		if b.ids[i].IsZero() {
			b.newID(i)
		}
	}
}

// assetsUsed reports whether every asset of some requests is marked, so that nothing remains to be
// done once they are stored.
func (b *byColumn) assetsUsed(requests []int) bool {
	b.store.recall()
	for _, i := range requests {
		if _, used := b.store.used.Load(b.batch[i].AssetID); !used {
			return false
		}
	}
	return true
}

func (b *byColumn) insert(ctx context.Context, requests []int, stored func(int)) error {
	if err := b.find(ctx, requests); err != nil {
		return err
	}
	requests = slices.DeleteFunc(slices.Clone(requests), func(i int) bool { return b.found[b.key(i)] != nil })
	if len(requests) == 0 {
		return nil
	}
	b.identify(requests)
	place := make(map[rewards.RewardID]int, len(requests))
	for _, i := range requests {
		place[b.ids[i]] = i
	}
	return b.tx.Query(ctx, func(row Row) error {
		var id rewards.RewardID
		err := row.Scan(toID(&id))
		i := place[id]
		b.created = append(b.created, i)
		stored(i)
		return err
	}, insertColumns, b.insertArgs(requests)...)
}

func (b *byColumn) insertNew(ctx context.Context, requests []int) error {
	if b.runs <= mostRuns && b.assetsUsed(slices.Concat(b.created, requests)) { // it comes last
		if committed, err := b.commit(ctx, requests); err != nil || committed {
			return err
		}
	}
	n, err := b.tx.Exec(ctx, insertColumns, b.insertArgs(requests)...)
	if err == nil && n != int64(len(requests)) {
		err = errNotStored
	}
	b.created = append(b.created, requests...)
	return err
}

func (b *byColumn) transaction() Tx { return b.tx }

func (b *byColumn) keyed(ctx context.Context, requests []int) (map[requestKey]*rewards.KeyedReward, error) {
	known := make(map[requestKey]*rewards.KeyedReward, len(requests))
	err := b.find(ctx, requests)
	for _, i := range requests {
		if k := b.found[b.key(i)]; k != nil {
			known[b.key(i)] = k
		}
	}
	return known, err
}

// find looks for the requests' keys, unless it has done so.
func (b *byColumn) find(ctx context.Context, requests []int) error {
	rest := slices.DeleteFunc(slices.Clone(requests), func(i int) bool {
		_, done := b.found[b.key(i)]
		return done
	})
	known, err := b.search.find(ctx, b.tx, b.soughtKeys(rest))
	for _, i := range rest {
		b.found[b.key(i)] = known[b.key(i)]
	}
	return err
}

func (b *byColumn) users(ctx context.Context, requests []int) (map[userKey]bool, error) {
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

// settings reads what may have changed since this process read it: the newest rewards, and the budgets.
func (b *byColumn) settings(ctx context.Context) (budgets string, err error) {
	err = b.catchUp(ctx)
	b.upToDate = err == nil
	return b.search.budgets, err
}
