package store

import (
	"context"
	"slices"

	"stockrewards/internal/rewards"
)

// byColumn reads and writes a batch in one statement, with a whole column in each argument.
type byColumn struct {
	*recording
	tx Tx
}

// byColumn begins a batch on a transaction.
func (r *recording) byColumn(ctx context.Context, tx Tx) (b byColumn, err error) {
	r.segments, err = r.store.segments.current(ctx, tx)
	return byColumn{r, tx}, err
}

// The parts of the statements that store requests. userRows has those whose user exists, also of users
// whom this process knows: a server that took over may lack a user. It has none when the budgets or the
// newest segment are not those that this process knows. With notSealed it has none when a sealed segment has a key: the
// last arguments are where filters say that one may be. An award of nothing is never stored.
const (
	intoRewards = `stored AS (INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount,
		asset_id, symbol, source, metadata, counted, segment) `
	userRows = `SELECT n.* FROM (SELECT unnest(?1::bytea[]) AS app_id, unnest(?2::bytea[]),
		unnest(?3::bytea[]) AS user_id, unnest(?4::text[]), unnest(?5::bytea[]), unnest(?6::bigint[]) AS amount,
		unnest(?7::bigint[]), unnest(?8::text[]), unnest(?9::text[]), unnest(?10::text[]), unnest(?11::bigint[]),
		?13::integer
		WHERE coalesce((SELECT s.value FROM settings s WHERE s.name = '` + settingBudgets + `'), '') = ?12
			AND (` + newestMark + `) = ?14`
	notSealed = ` AND NOT EXISTS (SELECT 1
				FROM unnest(?15::integer[], ?16::bytea[], ?17::text[]) AS k (segment, app, key)
				CROSS JOIN rewards r WHERE reward_key(r.segment, r.app_id, r.idempotency_key)
					= reward_key(k.segment, k.app, k.key))`
	ofUsers = `) AS n
		WHERE n.amount > 0 AND EXISTS (SELECT 1 FROM users u WHERE u.app_id = n.app_id AND u.id = n.user_id)`
	openStored = ` RETURNING app_id, id, asset_id, amount),
	opened AS (INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
		SELECT app_id, id, asset_id, ` + recorded + `, 1, amount FROM stored)`
)

// The statements that store requests. There are two of each, because notSealed costs the server 12 µs even when its
// arguments are empty, as for most batches.
const (
	// storeColumns follows WITH. It fails when a key is used: not to look for the keys before costs a
	// tenth less.
	storeColumns   = intoRewards + userRows + ofUsers + openStored
	storeNotSealed = intoRewards + userRows + notSealed + ofUsers + openStored
	// insertColumns passes over the requests whose key is used.
	insertColumns   = `WITH ` + intoRewards + userRows + ofUsers + passOver
	insertNotSealed = `WITH ` + intoRewards + userRows + notSealed + ofUsers + passOver
	passOver        = ` ON CONFLICT (reward_key(segment, app_id, idempotency_key)) DO NOTHING` + openStored +
		` SELECT id FROM stored`
)

// storing returns one of two statements that store requests, and its arguments. The second looks into the sealed
// segments that may have a key.
func (b byColumn) storing(requests []int, plain, looking string) (statement string, args []any) {
	if len(b.suspects(requests)) == 0 {
		return plain, b.columns(requests)
	}
	return looking, append(b.columns(requests), b.places(requests, nil)...)
}

// columns are the arguments of the statements that store requests, without those of notSealed.
func (b byColumn) columns(requests []int) []any {
	n := len(requests)
	apps, ids, users, prints := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	keys, symbols, sources, metadata := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	amounts, assets, counted := make([]int64, n), make([]int64, n), make([]int64, n)
	for row, i := range requests {
		if b.ids[i].IsZero() { // a retry has the same ids
			b.newID(i)
		}
		r, mark := &b.batch[i], b.fingerprint(i)
		apps[row], ids[row], users[row], prints[row] = r.AppID[:], b.ids[i][:], r.UserID[:], mark.Stored()
		keys[row], symbols[row], sources[row], metadata[row] = r.IdempotencyKey, r.Symbol, r.Source, r.Metadata
		amounts[row], assets[row], counted[row] = int64(r.Amount), int64(r.AssetID), int64(flag(!r.Uncounted))
	}
	return []any{
		apps, ids, users, keys, prints, amounts, assets, symbols, sources, metadata, counted, b.budgets.changes,
		b.segments.newest, b.segments.mark,
	}
}

// commitAll commits unless the budgets have changed, so that an app without one costs no exchange.
func (b byColumn) commitAll(ctx context.Context) (bool, error) {
	if !b.noneBudgeted() || !b.assetsUsed() {
		return false, nil
	}
	all := b.likelyNew(allOf(b.batch))
	if len(all) < len(b.batch) {
		return false, nil
	}
	statement, args := b.storing(all, storeColumns, storeNotSealed)
	committed, err := commitAll(ctx, b.tx, len(all), statement, args...)
	if committed {
		for _, i := range all {
			b.outcomes[i] = b.batch[i].Decide(b.ids[i], nil, true)
		}
	}
	return committed, err
}

// assetsUsed reports whether every asset of the batch is marked, so that nothing remains to be
// done once the requests are stored.
func (b byColumn) assetsUsed() bool {
	b.store.recall()
	for i := range b.batch {
		if _, used := b.store.used.Load(b.batch[i].AssetID); !used {
			return false
		}
	}
	return true
}

func allOf(batch []rewards.NewReward) []int {
	all := make([]int, len(batch))
	for i := range all {
		all[i] = i
	}
	return all
}

// suspects lists the requests whose key a sealed segment may have.
func (b byColumn) suspects(requests []int) (list []int) {
	for _, i := range requests {
		if len(b.segments.mayHave(b.key(i))) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// unsealed leaves out the requests whose key a sealed segment has. The index of the newest segment passes over those
// whose key it has.
func (b byColumn) unsealed(ctx context.Context, requests []int) ([]int, error) {
	suspects := b.suspects(requests)
	if len(suspects) == 0 {
		return requests, nil
	}
	known, err := b.keyed(ctx, suspects)
	return slices.DeleteFunc(slices.Clone(requests), func(i int) bool { return known[b.key(i)] != nil }), err
}

func (b byColumn) insert(ctx context.Context, requests []int, stored func(int)) error {
	requests, err := b.unsealed(ctx, requests)
	if err != nil || len(requests) == 0 {
		return err
	}
	statement, args := b.storing(requests, insertColumns, insertNotSealed)
	place := make(map[rewards.RewardID]int, len(requests))
	for _, i := range requests {
		place[b.ids[i]] = i
	}
	return b.tx.Query(ctx, func(row Row) error {
		var id rewards.RewardID
		err := row.Scan(toID(&id))
		stored(place[id])
		return err
	}, statement, args...)
}

func (b byColumn) insertNew(ctx context.Context, requests []int) error {
	if b.assetsUsed() { // it comes last
		statement, args := b.storing(requests, storeColumns, storeNotSealed)
		if committed, err := commitAll(ctx, b.tx, len(requests), statement, args...); err != nil || committed {
			return err
		}
	}
	statement, args := b.storing(requests, insertColumns, insertNotSealed)
	n, err := b.tx.Exec(ctx, statement, args...)
	if err == nil && n != int64(len(requests)) {
		err = errNotStored
	}
	return err
}

func (b byColumn) transaction() Tx { return b.tx }

func (b byColumn) keyed(ctx context.Context, requests []int) (map[requestKey]*rewards.KeyedReward, error) {
	known := make(map[requestKey]*rewards.KeyedReward, len(requests))
	err := fetchEach(ctx, b.tx, scanKeyed, func(k rewards.KeyedReward) error {
		known[requestKey{k.Reward.AppID, k.Reward.IdempotencyKey}] = &k
		return nil
	}, `SELECT fingerprint, `+rewardColumns+` FROM rewards WHERE reward_key(segment, app_id, idempotency_key)
			IN (SELECT reward_key(k.segment, k.app, k.key)
				FROM unnest(?1::integer[], ?2::bytea[], ?3::text[]) AS k (segment, app, key))`,
		b.places(requests, []int64{b.segments.newest})...)
	return known, err
}

// places lists where the keys of requests may be: in sealed segments, and also in others. It returns a column of
// segments, of apps, and of keys.
func (b byColumn) places(requests []int, also []int64) []any {
	segments, apps, keys := []int64{}, [][]byte{}, []string{}
	for _, i := range requests {
		for _, number := range append(b.segments.mayHave(b.key(i)), also...) {
			segments, apps = append(segments, number), append(apps, b.batch[i].AppID[:])
			keys = append(keys, b.batch[i].IdempotencyKey)
		}
	}
	return []any{segments, apps, keys}
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

// settings reads what may have changed since this process read it: the segments, and the budgets.
func (b byColumn) settings(ctx context.Context) (budgets string, err error) {
	var mark int64
	_, err = fetchValues(ctx, b.tx, []any{&budgets, &mark}, `SELECT coalesce((SELECT value FROM settings
		WHERE name = '`+settingBudgets+`'), ''), (`+newestMark+`)`)
	if err == nil && mark != b.segments.mark {
		b.segments, err = b.store.segments.read(ctx, b.tx)
	}
	return budgets, err
}
