package store

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/rewards"
)

// RecordRewards answers requests to give stock in one transaction, as if they had
// come one by one in the order given: also when a key stands twice among them or
// its first copy is refused. An error means that none of them was stored (or, with
// CodeUnavailable, that it is not known); a single row that cannot be stored fails
// them all, and the caller tries them in smaller groups.
//
// When it is not known whether it was committed it is run again: its own rows bear
// the ids that it gave them, so that they are told from those of another request.
func (s *Store) RecordRewards(ctx context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error) {
	if err := s.CheckClock(); err != nil {
		return nil, err
	}
	r := &recording{store: s, batch: batch, ids: make([]rewards.RewardID, len(batch))}
	if err := untilKnown(ctx, func() error { return s.recordOnce(ctx, r) }); err != nil {
		return nil, err
	}
	return r.outcomes, nil
}

// untilKnown runs a commit again while it is not known whether it happened, a few times.
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
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		if err := r.run(ctx, tx); err != nil {
			return fmt.Errorf("store: record rewards: %w", err)
		}
		return s.markUsed(ctx, tx, r.outcomes)
	})
	if err != nil {
		return err
	}
	for i := range r.outcomes {
		if o := &r.outcomes[i]; o.Verdict == rewards.Created {
			s.used.Store(o.Reward.AssetID, true)
		}
	}
	return nil
}

// markUsed makes the prices of newly given assets needed.
func (s *Store) markUsed(ctx context.Context, tx Tx, outcomes []rewards.Outcome) error {
	marked := make(map[rewards.AssetID]bool)
	for i := range outcomes {
		asset := outcomes[i].Reward.AssetID
		if outcomes[i].Verdict != rewards.Created || marked[asset] {
			continue
		}
		marked[asset] = true
		if _, known := s.used.Load(asset); known {
			continue
		}
		_, err := tx.Exec(ctx, `UPDATE assets SET used = 1 WHERE id = ?1 AND used = 0`, int64(asset))
		if err != nil {
			return err
		}
	}
	return nil
}

// recording is a batch of requests on its way into the books.
type recording struct {
	store    *Store
	batch    []rewards.NewReward
	ids      []rewards.RewardID // given once, in this process's turn: its ids grow from one commit to the next
	outcomes []rewards.Outcome
}

// fingerprint is what a request is recorded with: that of an older program while one may
// still run and compare it.
func (r *recording) fingerprint(i int) rewards.Fingerprint {
	if r.ids[i].Time().Before(r.store.sealedFrom) {
		return r.batch[i].FingerprintV1()
	}
	return r.batch[i].Fingerprint
}

// requestKey is what a reward is recorded once under.
type requestKey struct {
	app rewards.AppID
	key string
}

func (r *recording) key(i int) requestKey {
	return requestKey{r.batch[i].AppID, r.batch[i].IdempotencyKey}
}

// run decides on the requests. Most create a reward: those are stored at once, while
// a key that is taken and a user that does not exist are left out. Then what is left
// is decided one after the other.
func (r *recording) run(ctx context.Context, tx Tx) error {
	r.outcomes = make([]rewards.Outcome, len(r.batch))
	var books batchBooks = byRow{r, tx}
	if _, far := tx.(ColumnTx); far {
		books = byColumn{r, tx}
	}
	if err := r.create(ctx, books, r.likelyNew()); err != nil {
		return err
	}
	var rest []int
	for i := range r.outcomes {
		if r.outcomes[i].Verdict == 0 {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return r.decideRest(ctx, books, rest)
}

// likelyNew lists the requests that may create a reward: each the first of its key.
func (r *recording) likelyNew() []int {
	likely, seen := make([]int, 0, len(r.batch)), make(map[requestKey]bool, len(r.batch))
	for i := range r.batch {
		if key := r.key(i); !seen[key] {
			seen[key] = true
			if r.batch[i].Decide(rewards.RewardID{}, nil, true).Verdict == rewards.Created {
				likely = append(likely, i)
			}
		}
	}
	return likely
}

// create stores requests whose user exists and whose key is free.
func (r *recording) create(ctx context.Context, books batchBooks, requests []int) error {
	if len(requests) == 0 {
		return nil
	}
	for _, i := range requests {
		if r.ids[i].IsZero() {
			r.ids[i] = rewards.NewID[rewards.Reward](r.store.ids)
		}
	}
	return books.insert(ctx, requests, func(i int) { r.outcomes[i] = r.batch[i].Decide(r.ids[i], nil, true) })
}

// decideRest decides on requests in turn.
func (r *recording) decideRest(ctx context.Context, books batchBooks, requests []int) error {
	known, err := books.keyed(ctx, requests)
	if err != nil {
		return err
	}
	var unknown []int // under whose key nothing was stored before
	for _, i := range requests {
		if _, found := known[r.key(i)]; !found {
			unknown = append(unknown, i)
		}
	}
	users := make(map[userKey]bool)
	if len(unknown) > 0 {
		if users, err = books.users(ctx, unknown); err != nil {
			return err
		}
	}
	for _, i := range requests {
		n, stored := &r.batch[i], known[r.key(i)]
		r.outcomes[i] = n.Decide(r.ids[i], stored, users[userKey{n.AppID, n.UserID}])
		if r.outcomes[i].Verdict != rewards.Created || stored != nil {
			continue
		}
		// The first request with this key was refused, so that this one was not tried.
		r.outcomes[i] = rewards.Outcome{}
		if err := r.create(ctx, books, []int{i}); err != nil {
			return err
		}
		if r.outcomes[i].Verdict == 0 {
			return errNotStored
		}
		known[r.key(i)] = &rewards.KeyedReward{Fingerprint: n.Fingerprint, Reward: r.outcomes[i].Reward}
	}
	return nil
}

// errNotStored says that the books contradict themselves: nothing was in the way of a
// reward, and it was not stored.
var errNotStored = errors.New("a reward was not stored")

type userKey struct {
	app  rewards.AppID
	user rewards.UserID
}

// batchBooks is how a batch reads and writes the books; requests are told by their
// place in the batch.
type batchBooks interface {
	// insert stores requests whose user exists and whose key is free, and calls stored
	// for each of those.
	insert(ctx context.Context, requests []int, stored func(i int)) error
	// keyed reads what is stored under the keys.
	keyed(ctx context.Context, requests []int) (map[requestKey]*rewards.KeyedReward, error)
	// users reads which users exist.
	users(ctx context.Context, requests []int) (map[userKey]bool, error)
}
