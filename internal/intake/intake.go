// Package intake commits rewards, users and reversals in batches without waiting to fill them: requests
// that arrive during a commit are committed together by the next one, and a single request
// commits at once. Apps are served in turn. The queue is bounded in requests and bytes, per
// app and in total. A request is answered only after its commit.
package intake

import (
	"context"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// Store commits batches. The outcomes equal those of the requests one after the other. A commit is in
// effect when its method returns, and durable when a later call of Durable returns.
type Store interface {
	// RecordRewards returns an outcome for each request, or fails for the whole batch.
	// CodeUnavailable means that no request of the batch can be committed now; any other
	// error may be caused by a single request.
	RecordRewards(ctx context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error)
	// CreateUsers does the same for users.
	CreateUsers(ctx context.Context, batch []rewards.User) ([]rewards.UserOutcome, error)
	// ChangeUsers does the same for changes of users.
	ChangeUsers(ctx context.Context, batch []rewards.UserChange) ([]rewards.UserOutcome, error)
	// ReverseRewards does the same for requests to take awards back.
	ReverseRewards(ctx context.Context, batch []rewards.NewReversal) ([]rewards.ReversalOutcome, error)
	// Durable waits until everything that is committed is durable. When it fails, what was not may be lost.
	Durable(ctx context.Context) error
}

// requestBytes is the size of a request without its strings.
const requestBytes = 512

// Intake batches requests and commits them. It is safe for concurrent use.
type Intake struct {
	recorded func() // called after every commit that created a reward
	rewards  *batcher[rewards.NewReward, rewards.Outcome]
	users    *batcher[rewards.User, rewards.UserOutcome]
	changes  *batcher[rewards.UserChange, rewards.UserOutcome]
	backs    *batcher[rewards.NewReversal, rewards.ReversalOutcome]
}

// Commit is the result of one commit.
type Commit struct {
	Requests  int
	OfChanges bool // of users
	Created   int  // rewards created; users are not counted
	Took      time.Duration
	Err       error // nil for success; a failed batch may be committed again in halves
}

// New returns an intake. recorded is called after every commit that created a reward; it
// must not block.
func New(store Store, recorded func()) *Intake {
	return &Intake{
		recorded: recorded,
		rewards: newBatcher(maxBatch, store.RecordRewards, store.Durable, func(o rewards.Outcome) bool {
			return o.Verdict == rewards.Created
		}),
		users:   newBatcher(maxBatch, store.CreateUsers, store.Durable, none[rewards.UserOutcome]),
		changes: newBatcher(changeBatch, store.ChangeUsers, store.Durable, none[rewards.UserOutcome]),
		backs:   newBatcher(maxBatch, store.ReverseRewards, store.Durable, none[rewards.ReversalOutcome]),
	}
}

// none reports that no reward was created.
func none[A any](A) bool { return false }

// Observe calls f with every commit, before its requests are answered. f must not block.
// Observe must be called before Run.
func (i *Intake) Observe(f func(Commit)) {
	i.rewards.observe, i.users.observe, i.backs.observe = f, f, f
	i.changes.observe = func(c Commit) {
		c.OfChanges = true
		f(c)
	}
}

// Record implements rewards.Recorder. If ctx ends first, the reward may still be recorded.
func (i *Intake) Record(ctx context.Context, r rewards.NewReward) (rewards.Outcome, error) {
	return i.rewards.commitOne(ctx, r.AppID, r, bytesOf(r))
}

// RecordAll implements rewards.Recorder. If ctx ends first, the rewards may still be recorded.
// While one app sends and nothing else is queued, the batch is one commit.
func (i *Intake) RecordAll(
	ctx context.Context, app rewards.AppID, batch []rewards.NewReward,
) ([]rewards.BatchOutcome, error) {
	outcomes, errs, err := i.rewards.queueAll(ctx, app, batch, bytesOf)
	if err != nil {
		return nil, err
	}
	list := make([]rewards.BatchOutcome, len(batch))
	for n := range list {
		list[n] = rewards.BatchOutcome{Outcome: outcomes[n], Err: errs[n]}
	}
	return list, nil
}

func bytesOf(r rewards.NewReward) int {
	return requestBytes + len(r.IdempotencyKey) + len(r.Source) + len(r.Metadata)
}

// CreateUser implements rewards.Recorder. If ctx ends first, the user may still be created.
func (i *Intake) CreateUser(ctx context.Context, u rewards.User) (rewards.User, error) {
	outcome, err := i.users.commitOne(ctx, u.AppID, u, requestBytes+len(u.Email)+len(u.ExternalID))
	if err != nil {
		return rewards.User{}, err
	}
	return outcome.Answer()
}

// ChangeUser implements rewards.Recorder. If ctx ends first, the user may still be changed.
func (i *Intake) ChangeUser(ctx context.Context, c rewards.UserChange) (rewards.User, error) {
	size := requestBytes
	for _, s := range []*string{c.Email, c.ExternalID} {
		if s != nil {
			size += len(*s)
		}
	}
	outcome, err := i.changes.commitOne(ctx, c.AppID, c, size)
	if err != nil {
		return rewards.User{}, err
	}
	return outcome.Answer()
}

// Reverse implements rewards.Recorder. If ctx ends first, the award may still be taken back.
func (i *Intake) Reverse(ctx context.Context, n rewards.NewReversal) (rewards.ReversalOutcome, error) {
	return i.backs.commitOne(ctx, n.AppID, n, requestBytes+len(n.IdempotencyKey)+len(n.Reason))
}

// Run commits batches until ctx ends. It then commits what is queued and returns; later
// requests are refused.
func (i *Intake) Run(ctx context.Context) {
	var others sync.WaitGroup
	others.Go(func() { i.users.run(ctx, i.after) })
	others.Go(func() { i.changes.run(ctx, i.after) })
	others.Go(func() { i.backs.run(ctx, i.after) })
	i.rewards.run(ctx, i.after)
	others.Wait()
}

// Step commits and answers one batch. It reports whether any request was queued.
func (i *Intake) Step(ctx context.Context) bool {
	more, created := i.users.step(ctx)
	if !more {
		more, created = i.changes.step(ctx)
	}
	if !more {
		more, created = i.backs.step(ctx)
	}
	if !more {
		more, created = i.rewards.step(ctx)
	}
	i.after(created)
	return more
}

func (i *Intake) after(created bool) {
	if created {
		i.recorded()
	}
}

// Busy returns for how long no batch was committed and durable, while there is one; zero without one.
func (i *Intake) Busy() time.Duration {
	return max(i.rewards.busy(), i.users.busy(), i.changes.busy(), i.backs.busy())
}

// Depth returns the number of queued requests.
func (i *Intake) Depth() int {
	return i.rewards.depth() + i.users.depth() + i.changes.depth() + i.backs.depth()
}
