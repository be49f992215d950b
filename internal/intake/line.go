package intake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// errFull says that an app has more requests waiting than it leaves room for others.
var errFull = errors.New("too many requests of the app wait to be recorded")

// request is one that waits for its commit.
type request[Q, A any] struct {
	app     rewards.AppID
	ask     Q
	bytes   int
	outcome A
	err     error
	done    chan struct{}
}

// line commits one kind of request in batches. It is safe for concurrent use.
type line[Q, A any] struct {
	store   func(ctx context.Context, batch []Q) ([]A, error)
	created func(A) bool // counts an outcome as a reward that was created
	observe func(Commit)
	began   atomic.Pointer[time.Time] // when the commit under way began; nil while there is no commit

	mu     sync.Mutex
	queue  fair[Q, A]
	closed bool
	wake   chan struct{} // holds one token while there may be work
}

func newLine[Q, A any](store func(context.Context, []Q) ([]A, error), created func(A) bool) *line[Q, A] {
	return &line[Q, A]{store: store, created: created, observe: func(Commit) {}, wake: make(chan struct{}, 1)}
}

// ask queues a request and waits for its outcome. When ctx ends first the request may
// still be committed.
func (l *line[Q, A]) ask(ctx context.Context, app rewards.AppID, ask Q, bytes int) (none A, err error) {
	q := &request[Q, A]{app: app, ask: ask, bytes: bytes, done: make(chan struct{})}
	if err := l.add(q); err != nil {
		return none, err
	}
	select {
	case <-q.done:
		return q.outcome, q.err
	case <-ctx.Done():
		return none, rewards.Unavailable("the request ended before its outcome was known", ctx.Err())
	}
}

func (l *line[Q, A]) add(q *request[Q, A]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return rewards.Unavailable("the service is stopping", nil)
	}
	if !l.queue.add(q) {
		return rewards.Unavailable("the service is busy with other requests of this app", errFull)
	}
	select {
	case l.wake <- struct{}{}:
	default: // a token is there already
	}
	return nil
}

// run commits batches until ctx ends, then what is still queued, and returns.
func (l *line[Q, A]) run(ctx context.Context, after func(created bool)) {
	drain := func() {
		for {
			more, created := l.step(context.WithoutCancel(ctx))
			if !more {
				return
			}
			after(created)
		}
	}
	for {
		select {
		case <-l.wake:
			drain()
		case <-ctx.Done():
			l.mu.Lock()
			l.closed = true
			l.mu.Unlock()
			drain()
			return
		}
	}
}

// step commits one batch and answers it. It reports whether anything waited, and whether
// a reward was created.
func (l *line[Q, A]) step(ctx context.Context) (more, created bool) {
	l.mu.Lock()
	batch := l.queue.take()
	l.mu.Unlock()
	if len(batch) == 0 {
		return false, false
	}
	return true, l.commit(ctx, batch)
}

// commit stores the batch and answers its requests. When a row may be at fault it
// is run again in halves, so that only the culprit fails. It reports whether a
// reward was created.
func (l *line[Q, A]) commit(ctx context.Context, batch []*request[Q, A]) bool {
	asked := make([]Q, len(batch))
	for n, q := range batch {
		asked[n] = q.ask
	}
	outcomes, err := l.record(ctx, asked)
	if err != nil && len(batch) > 1 && rewards.CodeOf(err) != rewards.CodeUnavailable {
		half := len(batch) / 2
		first := l.commit(ctx, batch[:half])
		return l.commit(ctx, batch[half:]) || first
	}
	created := false
	for n, q := range batch {
		if q.err = err; err == nil {
			q.outcome = outcomes[n]
			created = created || l.created(q.outcome)
		}
		close(q.done)
	}
	return created
}

// record stores a batch, watched.
func (l *line[Q, A]) record(ctx context.Context, batch []Q) ([]A, error) {
	began := time.Now()
	l.began.Store(&began)
	outcomes, err := l.store(ctx, batch)
	l.began.Store(nil)
	c := Commit{Requests: len(batch), Took: time.Since(began), Err: err}
	for _, o := range outcomes {
		if l.created(o) {
			c.Created++
		}
	}
	l.observe(c)
	return outcomes, err
}

// busy is how long the commit under way has taken so far; zero while there is no commit.
func (l *line[Q, A]) busy() time.Duration {
	began := l.began.Load()
	if began == nil {
		return 0
	}
	return time.Since(*began)
}

// depth is how many requests wait.
func (l *line[Q, A]) depth() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.count
}
