package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// Columns is a Tx over a database that is far away: it takes whole columns as
// arguments (PostgreSQL's arrays), so that a batch costs a few exchanges and not
// some for each row.
type Columns interface {
	Tx
	// TakesColumns marks the Tx.
	TakesColumns()
}

// requestKey is what a reward is recorded once under.
type requestKey struct {
	app rewards.AppID
	key string
}

func keyOf(r rewards.NewReward) requestKey { return requestKey{r.AppID, r.IdempotencyKey} }

// set is a batch that is recorded by a few statements over whole columns. It decides
// as record does, one request after the other.
type set struct {
	store    *Store
	batch    []rewards.NewReward
	ids      []rewards.RewardID
	known    map[requestKey]keyed                      // stored before, or by this batch
	users    map[rewards.AppID]map[rewards.UserID]bool // that exist
	created  []int
	outcomes []rewards.Outcome
}

// keyed is what is stored under a key.
type keyed struct {
	fingerprint rewards.Fingerprint
	reward      rewards.Reward
}

// recordSet records a batch by columns.
func (s *Store) recordSet(
	ctx context.Context, tx Columns, batch []rewards.NewReward, ids []rewards.RewardID, outcomes []rewards.Outcome,
) error {
	b := &set{
		store: s, batch: batch, ids: ids, outcomes: outcomes,
		known: make(map[requestKey]keyed), users: make(map[rewards.AppID]map[rewards.UserID]bool),
	}
	if err := b.readKeys(ctx, tx); err != nil {
		return err
	}
	if err := b.readUsers(ctx, tx); err != nil {
		return err
	}
	for i := range batch {
		b.outcomes[i] = b.decide(i)
	}
	return b.insert(ctx, tx)
}

// readKeys reads what is stored under the batch's keys.
func (b *set) readKeys(ctx context.Context, tx Tx) error {
	apps, keys := make([][]byte, len(b.batch)), make([]string, len(b.batch))
	for i := range b.batch {
		apps[i], keys[i] = b.batch[i].AppID[:], b.batch[i].IdempotencyKey
	}
	return tx.Query(ctx, func(row Row) error {
		var k keyed
		var err error
		k.reward, err = scanReward(prefixed{row, []any{idScanner{k.fingerprint[:]}}})
		b.known[requestKey{k.reward.AppID, k.reward.IdempotencyKey}] = k
		return err
	}, `SELECT fingerprint, `+rewardColumns+` FROM rewards WHERE (app_id, idempotency_key) IN
		(SELECT * FROM unnest(?1::bytea[], ?2::text[]))`, apps, keys)
}

// readUsers reads which of the batch's users exist.
func (b *set) readUsers(ctx context.Context, tx Tx) error {
	apps, users := make([][]byte, len(b.batch)), make([][]byte, len(b.batch))
	for i := range b.batch {
		apps[i], users[i] = b.batch[i].AppID[:], b.batch[i].UserID[:]
	}
	return tx.Query(ctx, func(row Row) error {
		var app rewards.AppID
		var user rewards.UserID
		err := row.Scan(toID(&app), toID(&user))
		if b.users[app] == nil {
			b.users[app] = make(map[rewards.UserID]bool)
		}
		b.users[app][user] = true
		return err
	}, `SELECT app_id, id FROM users WHERE (app_id, id) IN (SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`,
		apps, users)
}

// decide decides on one request, in the order of the verdicts.
func (b *set) decide(i int) rewards.Outcome {
	r := b.batch[i]
	stored, found := b.known[keyOf(r)]
	switch {
	case found && stored.fingerprint != r.Fingerprint:
		return rewards.Outcome{Verdict: rewards.Conflict}
	case found && !b.ids[i].IsZero() && stored.reward.ID == b.ids[i]:
		return rewards.Outcome{Verdict: rewards.Created, Reward: stored.reward}
	case found:
		return rewards.Outcome{Verdict: rewards.Replay, Reward: stored.reward}
	case !b.users[r.AppID][r.UserID]:
		return rewards.Outcome{Verdict: rewards.NoSuchUser}
	case r.AssetID == 0:
		return rewards.Outcome{Verdict: rewards.NotGiftable}
	}
	if b.ids[i].IsZero() {
		b.ids[i] = rewards.NewID[rewards.Reward](b.store.ids)
	}
	created := newReward(r, b.ids[i])
	b.known[keyOf(r)] = keyed{r.Fingerprint, created}
	b.created = append(b.created, i)
	return rewards.Outcome{Verdict: rewards.Created, Reward: created}
}

// insert stores the requests that create a reward.
func (b *set) insert(ctx context.Context, tx Tx) error {
	n := len(b.created)
	if n == 0 {
		return nil
	}
	apps, ids, users, prints := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	keys, symbols, sources, metadata := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	amounts, assets := make([]int64, n), make([]int64, n)
	for row, i := range b.created {
		r := &b.batch[i]
		apps[row], ids[row], users[row], prints[row] = r.AppID[:], b.ids[i][:], r.UserID[:], r.Fingerprint[:]
		keys[row], symbols[row], sources[row], metadata[row] = r.IdempotencyKey, r.Symbol, r.Source, r.Metadata
		amounts[row], assets[row] = int64(r.Amount), int64(r.AssetID)
	}
	_, err := tx.Exec(ctx, `INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount,
		asset_id, symbol, source, metadata) SELECT * FROM unnest(?1::bytea[], ?2::bytea[], ?3::bytea[], ?4::text[],
		?5::bytea[], ?6::bigint[], ?7::bigint[], ?8::text[], ?9::text[], ?10::text[])`,
		apps, ids, users, keys, prints, amounts, assets, symbols, sources, metadata)
	return err
}
