package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stockrewards/internal/rewards"
)

// RecordRewards answers requests to award stock in one transaction (see Durable), as if they had come one by
// one in the order of batch, even when a key occurs twice or its first request is refused.
// After an error no reward is stored; with CodeUnavailable that is unknown. A row that cannot
// be stored fails the whole batch: the caller retries in smaller batches. When the outcome of a
// commit is unknown it is retried: the ids distinguish its rows from those of others.
func (s *Store) RecordRewards(ctx context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error) {
	return s.record(ctx, &recording{store: s, batch: batch, ids: make([]rewards.RewardID, len(batch))})
}

// RecordCashAwards is RecordRewards for the leader, who pays out the cash of an action. It fails with ErrLostLease:
// another leader may have paid the same cash.
func (s *Store) RecordCashAwards(
	ctx context.Context, l rewards.Lease, batch []rewards.NewReward,
) ([]rewards.Outcome, error) {
	return s.record(ctx, &recording{store: s, lease: &l, batch: batch, ids: make([]rewards.RewardID, len(batch))})
}

func (s *Store) record(ctx context.Context, r *recording) ([]rewards.Outcome, error) {
	if err := s.CheckClock(); err != nil {
		return nil, err
	}
	err := untilKnown(ctx, func() error {
		err := s.recordOnce(ctx, r)
		if errors.Is(err, errNotStored) { // a server that took over may lack a user whom this process knows
			s.known.forget(r.batch)
			err = s.recordOnce(ctx, r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.outcomes, nil
}

// untilKnown retries a commit, a few times, while its outcome is unknown.
func untilKnown(ctx context.Context, commit func() error) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		err := commit()
		if err == nil || attempt == attempts || !errors.Is(err, ErrUnknownOutcome) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Store) recordOnce(ctx context.Context, r *recording) error {
	s.engine.pacer.recorded(len(r.batch))
	r.runs = 0
	s.followOthers(ctx)
	err := s.engine.WriteOf(ctx, r.apps(), func(ctx context.Context, tx Tx) error {
		if r.lease != nil {
			if err := s.holdLease(ctx, tx, *r.lease); err != nil {
				return err
			}
		}
		if err := r.run(ctx, tx); err != nil {
			return fmt.Errorf("store: cannot record rewards: %w", err)
		}
		if err := sortArrivals(ctx, tx, s.mostArrivals()); err != nil {
			return err
		}
		return s.markUsed(ctx, tx, r.outcomes)
	})
	if err != nil {
		if r.stored != nil && !errors.Is(err, ErrUnknownOutcome) {
			s.segments.expectNoMore(r.stored)
		}
		return err
	}
	s.index.committed(r)
	for i := range r.outcomes {
		if o := &r.outcomes[i]; o.Verdict == rewards.Created {
			s.used.LoadOrStore(o.Reward.AssetID, true) // mostly there: without a lock
			s.known.add(userKey{o.Reward.AppID, o.Reward.UserID})
		}
	}
	if s.segments.recorded(r) {
		_ = s.beginSegment(ctx, r.known.view) // or after the next batch
	}
	return nil
}

// markUsed marks the assets of created rewards, whose prices are needed from now on.
func (s *Store) markUsed(ctx context.Context, tx Tx, outcomes []rewards.Outcome) error {
	var marked []rewards.AssetID
	for i := range outcomes {
		asset := outcomes[i].Reward.AssetID
		if outcomes[i].Verdict != rewards.Created {
			continue
		}
		if _, known := s.used.Load(asset); known || slices.Contains(marked, asset) {
			continue
		}
		marked = append(marked, asset)
		_, err := tx.Exec(ctx, `UPDATE assets SET used = 1 WHERE id = ?1 AND used = 0`, int64(asset))
		if err != nil {
			return err
		}
	}
	return nil
}

// markAllUsed marks every asset that is held or waits. Some are not marked when the database went back in time, and
// processes remembered marks that it no longer had.
func markAllUsed(ctx context.Context, tx Tx) error {
	_, err := tx.Exec(ctx, `WITH RECURSIVE `+waitingQueues+`
		UPDATE assets SET used = 1 WHERE used = 0
			AND (id IN (SELECT asset_id FROM positions) OR id IN (SELECT asset_id FROM queues))`)
	return err
}

// recording is a batch of requests to award stock.
type recording struct {
	store    *Store
	lease    *rewards.Lease // of the leader that records; nil for clients
	batch    []rewards.NewReward
	ids      []rewards.RewardID // of what the newest attempt stored, made in this process's turn
	outcomes []rewards.Outcome
	runs     int     // of the transaction: it is run again when a commit stored nothing
	created  []int   // requests stored by this transaction, over SQLite in order of their numbers
	first    int64   // number of the first of them; not over a network
	hashes   []int64 // of the keys
	budgets  *knownBudgets
	known    columnState  // over a network: what this process knew
	stored   *rewardBatch // over a network: what this transaction stored
}

// apps are those whose clients can see what it stores.
func (r *recording) apps() (apps []rewards.AppID) {
	for i := range r.batch {
		apps = addApp(apps, r.batch[i].AppID)
	}
	return apps
}

// addApp adds an app to a list that lacks it.
func addApp(apps []rewards.AppID, app rewards.AppID) []rewards.AppID {
	if slices.Contains(apps, app) {
		return apps
	}
	return append(apps, app)
}

// fingerprint is what a request is stored with. While processes of an older version may run,
// it is the version that they compare.
func (r *recording) fingerprint(i int) *rewards.Fingerprint {
	if r.ids[i].Time().Before(r.store.sealedFrom) {
		mark := r.batch[i].FingerprintV1()
		return &mark
	}
	return &r.batch[i].Fingerprint
}

// newID makes the id of a request's reward.
func (r *recording) newID(i int) { r.ids[i] = rewards.NewID[rewards.Reward](r.store.ids) }

// requestKey is an idempotency key in its app.
type requestKey struct {
	app rewards.AppID
	key string
}

func (r *recording) key(i int) requestKey {
	return requestKey{r.batch[i].AppID, r.batch[i].IdempotencyKey}
}

// hashKeys hashes the keys, unless an earlier attempt did.
func (r *recording) hashKeys() {
	if r.hashes != nil {
		return
	}
	r.hashes = make([]int64, len(r.batch))
	for i := range r.batch {
		r.hashes[i] = keyHash(r.batch[i].AppID, r.batch[i].IdempotencyKey)
	}
}

// run answers the requests: first those that repeat what is recorded, if that is quick. Of apps without a budget it
// stores all likely new rewards at once, except those whose key is used or whose user does not exist. Then it decides
// the rest one by one.
func (r *recording) run(ctx context.Context, tx Tx) error {
	r.outcomes, r.created, r.stored = make([]rewards.Outcome, len(r.batch)), nil, nil
	rows, err := r.rows(ctx, tx)
	if err != nil {
		return err
	}
	r.runs++
	if r.runs == 1 {
		if err := rows.recognize(ctx); err != nil || len(r.open()) == 0 {
			return err
		}
		if committed, err := rows.storeAtOnce(ctx); err != nil || committed {
			return err
		}
	}
	changes, err := rows.settings(ctx)
	if err != nil {
		return err
	}
	if r.budgets, err = r.store.budgets.current(ctx, tx, r.store.ids, changes); err != nil {
		return err
	}
	if r.runs == mostRuns { // it was not stored at once, but may be now
		if committed, err := rows.storeAtOnce(ctx); err != nil || committed {
			return err
		}
	}
	if err := r.decide(ctx, rows); err != nil {
		return err
	}
	return rows.end(ctx)
}

// mostRuns is how often a transaction is run that commits all at once.
const mostRuns = 2

// decide decides and stores what storeAtOnce did not.
func (r *recording) decide(ctx context.Context, rows batchRows) error {
	free, budgeted := r.divide()
	if err := r.create(ctx, rows, r.likelyNew(free)); err != nil {
		return err
	}
	var rest []int
	for _, i := range free {
		if r.outcomes[i].Verdict == 0 {
			rest = append(rest, i)
		}
	}
	if len(rest) > 0 {
		if err := r.decideRest(ctx, rows, rest); err != nil {
			return err
		}
	}
	if len(budgeted) == 0 {
		return nil
	}
	return r.spend(ctx, rows, budgeted)
}

func (r *recording) rows(ctx context.Context, tx Tx) (batchRows, error) {
	if _, columns := tx.(ColumnTx); columns {
		return r.byColumn(ctx, tx)
	}
	return r.byRow(ctx, tx)
}

// open lists the requests without an outcome.
func (r *recording) open() (requests []int) {
	for i := range r.batch {
		if r.outcomes[i].Verdict == 0 {
			requests = append(requests, i)
		}
	}
	return requests
}

// likelyNew lists the requests that may create a reward, the first of each key.
func (r *recording) likelyNew(requests []int) []int {
	likely, seen := make([]int, 0, len(requests)), make(map[requestKey]bool, len(requests))
	for _, i := range requests {
		if key := r.key(i); !seen[key] {
			seen[key] = true
			if r.batch[i].Decide(rewards.RewardID{}, nil, true).Verdict == rewards.Created {
				likely = append(likely, i)
			}
		}
	}
	return likely
}

// create stores the rewards of requests whose user exists and whose key is unused.
func (r *recording) create(ctx context.Context, rows batchRows, requests []int) error {
	if len(requests) == 0 {
		return nil
	}
	return rows.insert(ctx, requests, func(i int) { r.outcomes[i] = r.batch[i].Decide(r.ids[i], nil, true) })
}

// decideRest decides requests one by one.
func (r *recording) decideRest(ctx context.Context, rows batchRows, requests []int) error {
	known, err := rows.keyed(ctx, requests)
	if err != nil {
		return err
	}
	for i := range r.outcomes { // earlier requests of the batch used these keys
		if o := &r.outcomes[i]; o.Verdict == rewards.Created {
			known[r.key(i)] = &rewards.KeyedReward{Fingerprint: *r.fingerprint(i), Reward: o.Reward}
		}
	}
	var unused []int // requests whose key is unused
	for _, i := range requests {
		if _, found := known[r.key(i)]; !found {
			unused = append(unused, i)
		}
	}
	users := make(map[userKey]bool)
	if len(unused) > 0 {
		if users, err = rows.users(ctx, unused); err != nil {
			return err
		}
	}
	for _, i := range requests {
		n, stored := &r.batch[i], known[r.key(i)]
		r.outcomes[i] = n.Decide(r.ids[i], stored, users[userKey{n.AppID, n.UserID}])
		if r.outcomes[i].Verdict != rewards.Created || stored != nil {
			continue
		}
		// An earlier request of the batch used this key and was refused.
		r.outcomes[i] = rewards.Outcome{}
		if err := r.create(ctx, rows, []int{i}); err != nil {
			return err
		}
		if r.outcomes[i].Verdict == 0 {
			return errNotStored
		}
		known[r.key(i)] = &rewards.KeyedReward{Fingerprint: n.Fingerprint, Reward: r.outcomes[i].Reward}
	}
	return nil
}

// errNotStored means that the store contradicts itself: a reward with an unused key and an
// existing user was not stored.
var errNotStored = errors.New("a reward was not stored")

// batchRows reads and writes the rows of a batch. Requests are indexes in the batch.
type batchRows interface {
	// recognize answers requests whose key was used before, as far as it finds them by one look.
	recognize(ctx context.Context) error
	// storeAtOnce stores and commits all open requests at once, if every one is a new reward of an
	// app without a budget. It reports whether it did; it may also do nothing.
	storeAtOnce(ctx context.Context) (bool, error)
	// insert stores the rewards of requests whose user exists and whose key is unused, and
	// calls stored for each of them.
	insert(ctx context.Context, requests []int, stored func(i int)) error
	// insertNew stores the rewards of requests that have an id, and that insert would store.
	insertNew(ctx context.Context, requests []int) error
	// keyed finds the stored rewards by the requests' keys.
	keyed(ctx context.Context, requests []int) (map[requestKey]*rewards.KeyedReward, error)
	// users finds out which users exist.
	users(ctx context.Context, requests []int) (map[userKey]bool, error)
	// settings reads what a batch depends on, and returns the changes of budgets. Until then they are as last known.
	settings(ctx context.Context) (budgets string, err error)
	// end stores what finds the rewards that the transaction stored.
	end(ctx context.Context) error
	transaction() Tx
}
