// Package intake commits rewards and users in natural batches: those that arrive while
// a commit is under way are committed together by the next one. It promises that
// nobody waits for a timer (alone, a request commits at once), that apps are served in
// turn, that what it holds is bounded in count and bytes, for each app and in all, and
// that an answer is given only after the commit.
package intake

import (
	"context"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// Store commits a batch, as requests of one after the other.
type Store interface {
	// RecordRewards answers every request of the batch, or fails as a whole. With
	// CodeUnavailable the whole batch cannot be taken now; any other error may be the
	// fault of a single row.
	RecordRewards(ctx context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error)
	// CreateUsers does the same for users.
	CreateUsers(ctx context.Context, batch []rewards.User) ([]rewards.UserOutcome, error)
}

// requestBytes is what a request takes beside its texts.
const requestBytes = 512

// Intake collects requests and commits them. It is safe for concurrent use.
type Intake struct {
	recorded func() // called after every commit that created a reward
	rewards  *line[rewards.NewReward, rewards.Outcome]
	users    *line[rewards.User, rewards.UserOutcome]
}

// Commit is how one commit of a batch went.
type Commit struct {
	Requests int // in the batch
	Created  int // rewards that it created; users are not counted
	Took     time.Duration
	Err      error // nil when it succeeded; a batch whose one row is at fault is tried again in halves
}

// New makes an intake. recorded is called after every commit that created a
// reward; it must not block.
func New(store Store, recorded func()) *Intake {
	return &Intake{
		recorded: recorded,
		rewards: newLine(store.RecordRewards, func(o rewards.Outcome) bool {
			return o.Verdict == rewards.Created
		}),
		users: newLine(store.CreateUsers, func(rewards.UserOutcome) bool { return false }),
	}
}

// Observe calls f with every commit, before its requests are answered; f must not
// block. Call it before Run.
func (i *Intake) Observe(f func(Commit)) { i.rewards.observe, i.users.observe = f, f }

// Record implements rewards.Recorder. When ctx ends first the request may still be
// recorded.
func (i *Intake) Record(ctx context.Context, r rewards.NewReward) (rewards.Outcome, error) {
	return i.rewards.ask(ctx, r.AppID, r, requestBytes+len(r.IdempotencyKey)+len(r.Source)+len(r.Metadata))
}

// CreateUser implements rewards.Recorder. When ctx ends first the user may still be
// created.
func (i *Intake) CreateUser(ctx context.Context, u rewards.User) (rewards.User, error) {
	outcome, err := i.users.ask(ctx, u.AppID, u, requestBytes+len(u.Email)+len(u.ExternalID))
	if err != nil {
		return rewards.User{}, err
	}
	return outcome.Answer()
}

// Run commits batches until ctx ends, then what is still queued, and returns.
// Requests that come later are refused.
func (i *Intake) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { i.users.run(ctx, i.after) })
	i.rewards.run(ctx, i.after)
	both.Wait()
}

// Step commits one batch of what is queued and answers it. It reports whether there
// was anything to do.
func (i *Intake) Step(ctx context.Context) bool {
	more, created := i.users.step(ctx)
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

// Busy is how long the commit under way has taken so far; zero while there is no commit.
func (i *Intake) Busy() time.Duration { return max(i.rewards.busy(), i.users.busy()) }

// Depth is how many requests wait.
func (i *Intake) Depth() int { return i.rewards.depth() + i.users.depth() }
