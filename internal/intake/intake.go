// Package intake commits rewards in natural batches: those that arrive while a
// commit is under way are committed together by the next one. It promises that
// nobody waits for a timer (alone, a request commits at once), that what it holds
// is bounded in count and bytes, and that an answer is given only after the commit.
package intake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// Store commits a batch, as rewards of one after the other.
type Store interface {
	// RecordRewards answers every request of the batch, or fails as a whole. With
	// CodeUnavailable the whole batch cannot be taken now; any other error may be the
	// fault of a single row.
	RecordRewards(ctx context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error)
}

// The bounds of what is held.
const (
	maxBatch       = 1024     // requests in a commit
	maxQueued      = 8192     // requests waiting, all together
	maxQueuedBytes = 64 << 20 // their size
	requestBytes   = 512      // what a request takes beside its texts
)

// errFull says that more requests wait than can be held.
var errFull = errors.New("too many requests wait to be recorded")

// Intake collects requests and commits them. It is safe for concurrent use.
type Intake struct {
	store    Store
	recorded func()                    // told after every commit that created a reward
	observe  func(Commit)              // told after every commit
	began    atomic.Pointer[time.Time] // when the commit under way began; nil while none is

	mu     sync.Mutex
	queue  []*request
	bytes  int
	closed bool
	wake   chan struct{} // holds one token while there may be work
}

// Commit is how one commit of a batch went.
type Commit struct {
	Requests int // in the batch
	Created  int // rewards that it created
	Took     time.Duration
	Err      error // nil when it succeeded; a batch whose one row is at fault is tried again in halves
}

type request struct {
	reward  rewards.NewReward
	bytes   int
	outcome rewards.Outcome
	err     error
	done    chan struct{}
}

// New makes an intake. recorded is called after every commit that created a
// reward; it must not block.
func New(store Store, recorded func()) *Intake {
	return &Intake{store: store, recorded: recorded, observe: func(Commit) {}, wake: make(chan struct{}, 1)}
}

// Observe has f told of every commit, before its requests are answered; f must not
// block. Call it before Run.
func (i *Intake) Observe(f func(Commit)) { i.observe = f }

// Record implements rewards.Recorder. When ctx ends first the request may still be
// recorded.
func (i *Intake) Record(ctx context.Context, r rewards.NewReward) (rewards.Outcome, error) {
	q := &request{
		reward: r, done: make(chan struct{}),
		bytes: requestBytes + len(r.IdempotencyKey) + len(r.Source) + len(r.Metadata),
	}
	if err := i.add(q); err != nil {
		return rewards.Outcome{}, err
	}
	select {
	case <-q.done:
		return q.outcome, q.err
	case <-ctx.Done():
		return rewards.Outcome{}, rewards.Unavailable("the request ended before its outcome was known", ctx.Err())
	}
}

func (i *Intake) add(q *request) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return rewards.Unavailable("the service is stopping", nil)
	}
	if len(i.queue) >= maxQueued || i.bytes+q.bytes > maxQueuedBytes {
		return rewards.Unavailable("the service is busy", errFull)
	}
	i.queue = append(i.queue, q)
	i.bytes += q.bytes
	select {
	case i.wake <- struct{}{}:
	default: // a token is there already
	}
	return nil
}

// Run commits batches until ctx ends, then what is still queued, and returns.
// Requests that come later are refused.
func (i *Intake) Run(ctx context.Context) {
	for {
		select {
		case <-i.wake:
			i.drain(ctx)
		case <-ctx.Done():
			i.mu.Lock()
			i.closed = true
			i.mu.Unlock()
			i.drain(ctx)
			return
		}
	}
}

func (i *Intake) drain(ctx context.Context) {
	for i.Step(context.WithoutCancel(ctx)) {
	}
}

// Step commits one batch of what is queued and answers it. It tells whether there
// was anything to do.
func (i *Intake) Step(ctx context.Context) bool {
	batch := i.takeBatch()
	if len(batch) == 0 {
		return false
	}
	if i.commit(ctx, batch) {
		i.recorded()
	}
	return true
}

func (i *Intake) takeBatch() []*request {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := min(len(i.queue), maxBatch)
	batch := i.queue[:n:n]
	i.queue = i.queue[n:]
	if len(i.queue) == 0 {
		i.queue = nil // gives the memory of a burst back
	}
	for _, q := range batch {
		i.bytes -= q.bytes
	}
	return batch
}

// commit stores the batch and answers its requests. When a row may be at fault it
// is run again in halves, so that only the culprit fails. It tells whether a
// reward was created.
func (i *Intake) commit(ctx context.Context, batch []*request) bool {
	news := make([]rewards.NewReward, len(batch))
	for n, q := range batch {
		news[n] = q.reward
	}
	outcomes, err := i.record(ctx, news)
	if err != nil && len(batch) > 1 && rewards.CodeOf(err) != rewards.CodeUnavailable {
		half := len(batch) / 2
		first := i.commit(ctx, batch[:half])
		return i.commit(ctx, batch[half:]) || first
	}
	created := false
	for n, q := range batch {
		if q.err = err; err == nil {
			q.outcome = outcomes[n]
			created = created || q.outcome.Verdict == rewards.Created
		}
		close(q.done)
	}
	return created
}

// record stores a batch, watched.
func (i *Intake) record(ctx context.Context, news []rewards.NewReward) ([]rewards.Outcome, error) {
	began := time.Now()
	i.began.Store(&began)
	outcomes, err := i.store.RecordRewards(ctx, news)
	i.began.Store(nil)
	c := Commit{Requests: len(news), Took: time.Since(began), Err: err}
	for _, o := range outcomes {
		if o.Verdict == rewards.Created {
			c.Created++
		}
	}
	i.observe(c)
	return outcomes, err
}

// Busy is how long the commit under way has taken so far; zero while there is none.
func (i *Intake) Busy() time.Duration {
	began := i.began.Load()
	if began == nil {
		return 0
	}
	return time.Since(*began)
}

// Depth is how many requests wait.
func (i *Intake) Depth() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.queue)
}
