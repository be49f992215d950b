package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
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
	open atomic.Int64  // requests without an answer
	done chan struct{} // closed when every request has its outcome
}

// answered reports that outcome and err are set.
func (q *request[Q, A]) answered() {
	if q.bulk == nil {
		close(q.done)
		return
	}
	if q.bulk.open.Add(-1) == 0 {
		close(q.bulk.done)
	}
}

// batcher commits one kind of request in batches. While a batch becomes durable, the next one is
// committed if it is large. It is safe for concurrent use.
type batcher[Q, A any] struct {
	store   func(ctx context.Context, batch []Q) ([]A, error)
	durable func(ctx context.Context) error // makes what store committed durable
	created func(A) bool                    // reports whether an outcome created a reward
	observe func(Commit)

	timer *time.Timer // ends the rest of bulks

	mu         sync.Mutex
	queue      fairQueue[Q, A]
	open       int       // batches that are being committed, or become durable
	progressAt time.Time // when the first of them began, or the last one before them ended
	closed     bool
	wake       chan struct{} // has a token while there may be work
}

func newBatcher[Q, A any](
	most int, store func(context.Context, []Q) ([]A, error), durable func(context.Context) error, created func(A) bool,
) *batcher[Q, A] {
	return &batcher[Q, A]{
		store: store, durable: durable, created: created, observe: func(Commit) {}, wake: make(chan struct{}, 1),
		queue: fairQueue[Q, A]{most: most},
	}
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

// queueAll queues all contents or none, and waits for their outcomes. Each has its own outcome
// or error. If ctx ends first, they may still be committed.
func (b *batcher[Q, A]) queueAll(
	ctx context.Context, app rewards.AppID, contents []Q, bytes func(Q) int,
) ([]A, []error, error) {
	together := &bulk{done: make(chan struct{})}
	together.open.Store(int64(len(contents)))
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
		return rewards.Unavailable("the service is busy with other requests", errFull)
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

// crowd is the number of queued requests from which on they are committed although earlier batches are not
// durable yet. A commit of fewer costs too much for each.
const crowd = 32

// run commits batches until ctx ends, then what is queued, and returns when all of it is answered.
func (b *batcher[Q, A]) run(ctx context.Context, after func(created bool)) {
	const ahead = 4 // batches that may be committed while an earlier one is not durable yet
	inEffect := make(chan *committed[Q, A], ahead)
	var answering sync.WaitGroup
	answering.Go(func() { b.answerAll(context.WithoutCancel(ctx), inEffect) })
	commitReady := func() {
		for b.ready() {
			c := b.next(context.WithoutCancel(ctx))
			if c == nil {
				return
			}
			after(c.created)
			inEffect <- c
			runtime.Gosched() // clients who can run send their next request: a larger commit costs hardly more
		}
	}
	for {
		select {
		case <-b.wake:
			commitReady()
		case <-ctx.Done():
			b.mu.Lock()
			b.closed = true
			b.mu.Unlock()
			commitReady()
			close(inEffect)
			answering.Wait()
			return
		}
	}
}

// ready reports whether it is time to commit the next batch. A few requests wait until the batches before
// them are durable, or until they are a crowd.
func (b *batcher[Q, A]) ready() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open == 0 || b.closed || b.queue.all().requests >= crowd
}

// step commits and answers one batch. It reports whether any request was queued, and whether
// a reward was created.
func (b *batcher[Q, A]) step(ctx context.Context) (more, created bool) {
	c := b.next(ctx)
	if c == nil {
		return false, false
	}
	b.answer(ctx, []*committed[Q, A]{c})
	return true, c.created
}

// committed is a batch that was stored, but is not durable yet.
type committed[Q, A any] struct {
	batch   []*request[Q, A]
	commits []Commit // one, unless a part of the batch failed
	created bool     // a reward was
}

// next commits one batch. It returns nil when no request is queued.
func (b *batcher[Q, A]) next(ctx context.Context) *committed[Q, A] {
	b.mu.Lock()
	if b.closed {
		b.queue.rest = time.Time{}
	}
	began := time.Now()
	c := &committed[Q, A]{batch: b.queue.take()}
	left, resting := b.queue.all().requests, b.queue.resting()
	if len(c.batch) > 0 {
		b.open++
		if b.open == 1 {
			b.progressAt = began
		}
	}
	b.mu.Unlock()
	if len(c.batch) == 0 {
		if left > 0 {
			b.later(resting)
		}
		return nil
	}
	b.commit(ctx, c, c.batch)
	b.mu.Lock()
	b.queue.committed(c.batch, time.Since(began))
	b.mu.Unlock()
	return c
}

// commit stores a part of the batch, at first all of it, and sets the outcomes of its requests. After an
// error that one request may have caused it stores the halves separately, so that only that request fails.
func (b *batcher[Q, A]) commit(ctx context.Context, c *committed[Q, A], part []*request[Q, A]) {
	contents := make([]Q, len(part))
	for n, q := range part {
		contents[n] = q.content
	}
	began := time.Now()
	outcomes, err := b.try(ctx, contents)
	created := 0
	for n, q := range part {
		if q.err = err; err == nil {
			q.outcome = outcomes[n]
			if b.created(q.outcome) {
				created++
			}
		}
	}
	c.commits = append(c.commits, Commit{Requests: len(part), Created: created, Took: time.Since(began), Err: err})
	c.created = c.created || created > 0
	if err != nil && len(part) > 1 && rewards.CodeOf(err) != rewards.CodeUnavailable {
		half := len(part) / 2
		b.commit(ctx, c, part[:half])
		b.commit(ctx, c, part[half:])
	}
}

// try stores requests. A panic fails them as an error does, not the process and so all apps.
func (b *batcher[Q, A]) try(ctx context.Context, contents []Q) (outcomes []A, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("intake: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return b.store(ctx, contents)
}

// answerAll answers batches until the channel is closed: all that are committed at once.
func (b *batcher[Q, A]) answerAll(ctx context.Context, from <-chan *committed[Q, A]) {
	for c := range from {
		list := []*committed[Q, A]{c}
		for more := true; more; {
			select {
			case c, more = <-from:
				if more {
					list = append(list, c)
				}
			default:
				more = false
			}
		}
		b.answer(ctx, list)
	}
}

// answer makes batches durable, and answers their requests.
func (b *batcher[Q, A]) answer(ctx context.Context, list []*committed[Q, A]) {
	began := time.Now()
	err := b.durable(ctx)
	took := time.Since(began)
	for _, c := range list {
		for _, done := range c.commits {
			if done.Err == nil {
				done.Took, done.Err = done.Took+took, err
			}
			b.observe(done)
		}
		for _, q := range c.batch {
			q.err = cmp.Or(q.err, err)
			q.answered()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.progressAt = b.open-len(list), time.Now()
	b.rouse() // a few requests may have waited
}

// busy returns for how long no batch was answered, while there is one; zero without one.
func (b *batcher[Q, A]) busy() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == 0 {
		return 0
	}
	return time.Since(b.progressAt)
}

// depth returns the number of queued requests.
func (b *batcher[Q, A]) depth() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.all().requests
}
