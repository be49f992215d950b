package intake

import (
	"context"
	"errors"
	"runtime"
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
	done    chan struct{} // closed when outcome and err are set; nil in a bulk
	bulk    *bulk         // that the request is part of; nil if it came alone
}

// bulk is a batch of a client: requests that are queued together.
type bulk struct {
	open int           // requests without an outcome; only the goroutine that commits uses it
	done chan struct{} // closed when every request has its outcome
}

// answered reports that outcome and err are set.
func (q *request[Q, A]) answered() {
	if q.bulk == nil {
		close(q.done)
		return
	}
	q.bulk.open--
	if q.bulk.open == 0 {
		close(q.bulk.done)
	}
}

// batcher commits one kind of request in batches. It is safe for concurrent use.
type batcher[Q, A any] struct {
	store   func(ctx context.Context, batch []Q) ([]A, error)
	created func(A) bool // reports whether an outcome created a reward
	observe func(Commit)
	began   atomic.Pointer[time.Time] // start of the commit in progress; nil without one

	timer *time.Timer // ends the rest of bulks

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
	if err := b.add([]*request[Q, A]{q}); err != nil {
		return none, err
	}
	if err := await(ctx, q.done); err != nil {
		return none, err
	}
	return q.outcome, q.err
}

// commitAll queues all contents or none, and waits for their outcomes. Each has its own outcome
// or error. If ctx ends first, they may still be committed.
func (b *batcher[Q, A]) commitAll(
	ctx context.Context, app rewards.AppID, contents []Q, bytes func(Q) int,
) ([]A, []error, error) {
	together := &bulk{open: len(contents), done: make(chan struct{})}
	list, queued := make([]request[Q, A], len(contents)), make([]*request[Q, A], len(contents))
	for n, content := range contents {
		list[n] = request[Q, A]{app: app, content: content, bytes: bytes(content), bulk: together}
		queued[n] = &list[n]
	}
	if err := b.add(queued); err != nil {
		return nil, nil, err
	}
	if err := await(ctx, together.done); err != nil {
		return nil, nil, err
	}
	outcomes, errs := make([]A, len(list)), make([]error, len(list))
	for n := range list {
		outcomes[n], errs[n] = list[n].outcome, list[n].err
	}
	return outcomes, errs, nil
}

// await waits until done is closed. It fails if ctx ends first.
func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return rewards.Unavailable("the request ended before its outcome was known", ctx.Err())
	}
}

// add queues all requests of an app, or none.
func (b *batcher[Q, A]) add(list []*request[Q, A]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return rewards.Unavailable("the service is stopping", nil)
	}
	if !b.queue.add(list) {
		return rewards.Unavailable("the service is busy with other requests of this app", errFull)
	}
	b.rouse()
	return nil
}

// later makes run look for work after a while. Only the goroutine that commits calls it.
func (b *batcher[Q, A]) later(d time.Duration) {
	if b.timer == nil {
		b.timer = time.AfterFunc(d, b.rouse)
		return
	}
	b.timer.Reset(d)
}

// rouse makes run look for work.
func (b *batcher[Q, A]) rouse() {
	select {
	case b.wake <- struct{}{}:
	default: // it has a token already
	}
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
			runtime.Gosched() // clients who can run send their next request: a larger commit costs hardly more
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
	if b.closed {
		b.queue.rest = time.Time{}
	}
	batch, left, resting := b.queue.take(), b.queue.all().requests, b.queue.resting()
	b.mu.Unlock()
	if len(batch) == 0 {
		if left > 0 {
			b.later(resting)
		}
		return false, false
	}
	began := time.Now()
	created = b.commit(ctx, batch)
	b.mu.Lock()
	b.queue.committed(batch, time.Since(began))
	b.mu.Unlock()
	return true, created
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
		q.answered()
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
	return b.queue.all().requests
}
