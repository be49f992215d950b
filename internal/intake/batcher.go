package intake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// errFull reports that an app's part of the queue is full.
var errFull = errors.New("too many requests of the app wait to be recorded")

// request is a queued request.
type request[Q, A any] struct {
	app     rewards.AppID
	content Q
	bytes   int
	outcome A
	err     error
	done    chan struct{} // closed when outcome and err are set
}

// batcher commits one kind of request in batches. It is safe for concurrent use.
type batcher[Q, A any] struct {
	store   func(ctx context.Context, batch []Q) ([]A, error)
	created func(A) bool // reports whether an outcome created a reward
	observe func(Commit)
	began   atomic.Pointer[time.Time] // start of the commit in progress; nil without one

	mu     sync.Mutex
	queue  fairQueue[Q, A]
	closed bool
	wake   chan struct{} // has a token while there may be work
}

func newBatcher[Q, A any](store func(context.Context, []Q) ([]A, error), created func(A) bool) *batcher[Q, A] {
	return &batcher[Q, A]{store: store, created: created, observe: func(Commit) {}, wake: make(chan struct{}, 1)}
}

// commitOne queues a request and waits for its outcome. If ctx ends first, the request may
// still be committed.
func (b *batcher[Q, A]) commitOne(ctx context.Context, app rewards.AppID, content Q, bytes int) (none A, err error) {
	q := &request[Q, A]{app: app, content: content, bytes: bytes, done: make(chan struct{})}
	if err := b.add(q); err != nil {
		return none, err
	}
	select {
	case <-q.done:
		return q.outcome, q.err
	case <-ctx.Done():
		return none, rewards.Unavailable("the request ended before its outcome was known", ctx.Err())
	}
}

func (b *batcher[Q, A]) add(q *request[Q, A]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return rewards.Unavailable("the service is stopping", nil)
	}
	if !b.queue.add(q) {
		return rewards.Unavailable("the service is busy with other requests of this app", errFull)
	}
	select {
	case b.wake <- struct{}{}:
	default: // it has a token already
	}
	return nil
}

// run commits batches until ctx ends, then what is queued, and returns.
func (b *batcher[Q, A]) run(ctx context.Context, after func(created bool)) {
	drain := func() {
		for {
			more, created := b.step(context.WithoutCancel(ctx))
			if !more {
				return
			}
			after(created)
		}
	}
	for {
		select {
		case <-b.wake:
			drain()
		case <-ctx.Done():
			b.mu.Lock()
			b.closed = true
			b.mu.Unlock()
			drain()
			return
		}
	}
}

// step commits and answers one batch. It reports whether any request was queued, and whether
// a reward was created.
func (b *batcher[Q, A]) step(ctx context.Context) (more, created bool) {
	b.mu.Lock()
	batch := b.queue.take()
	b.mu.Unlock()
	if len(batch) == 0 {
		return false, false
	}
	return true, b.commit(ctx, batch)
}

// commit stores the batch and answers its requests. After an error that one request may have
// caused it stores the halves separately, so that only that request fails. It reports
// whether a reward was created.
func (b *batcher[Q, A]) commit(ctx context.Context, batch []*request[Q, A]) bool {
	contents := make([]Q, len(batch))
	for n, q := range batch {
		contents[n] = q.content
	}
	outcomes, err := b.record(ctx, contents)
	if err != nil && len(batch) > 1 && rewards.CodeOf(err) != rewards.CodeUnavailable {
		half := len(batch) / 2
		first := b.commit(ctx, batch[:half])
		return b.commit(ctx, batch[half:]) || first
	}
	created := false
	for n, q := range batch {
		if q.err = err; err == nil {
			q.outcome = outcomes[n]
			created = created || b.created(q.outcome)
		}
		close(q.done)
	}
	return created
}

// record stores a batch and reports the commit to the observer.
func (b *batcher[Q, A]) record(ctx context.Context, batch []Q) ([]A, error) {
	began := time.Now()
	b.began.Store(&began)
	outcomes, err := b.store(ctx, batch)
	b.began.Store(nil)
	c := Commit{Requests: len(batch), Took: time.Since(began), Err: err}
	for _, o := range outcomes {
		if b.created(o) {
			c.Created++
		}
	}
	b.observe(c)
	return outcomes, err
}

// busy returns how long the commit in progress has taken so far; zero without one.
func (b *batcher[Q, A]) busy() time.Duration {
	began := b.began.Load()
	if began == nil {
		return 0
	}
	return time.Since(*began)
}

// depth returns the number of queued requests.
func (b *batcher[Q, A]) depth() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.count
}
