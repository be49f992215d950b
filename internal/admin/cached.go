package admin

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	readEvery    = time.Second // between two reads of the store, at least
	readTimeout  = 5 * time.Second
	readBriefly  = time.Second     // timeout of a caller that accepts the last value
	writeTimeout = 2 * time.Second // of the write that probes the store

	conditionEvery   = time.Minute // between two looks at the database's condition, at least
	conditionTimeout = time.Second
)

// cached is a value that is fetched at most once per interval, by one goroutine at a
// time. Callers wait for it no longer than timeout. It is safe for concurrent use.
type cached[T any] struct {
	every   time.Duration
	timeout time.Duration
	fetch   func(context.Context) (T, error)

	mu      sync.Mutex
	value   T
	err     error
	at      time.Time     // of the last fetch; zero: never
	running chan struct{} // closed when the current fetch ends; nil without one
}

func newCached[T any](every, timeout time.Duration, fetch func(context.Context) (T, error)) *cached[T] {
	return &cached[T]{every: every, timeout: timeout, fetch: fetch}
}

var errSlow = errors.New("no answer in time")

// get returns the value, at most one interval old. When it fails it returns the value that was fetched last. After the
// timeout it fails with errSlow; the fetch then continues for later callers.
func (c *cached[T]) get(ctx context.Context) (T, error) { return c.within(ctx, c.timeout) }

// within is get, but waits no longer than timeout.
func (c *cached[T]) within(ctx context.Context, timeout time.Duration) (T, error) {
	c.mu.Lock()
	if !c.at.IsZero() && time.Since(c.at) < c.every {
		defer c.mu.Unlock()
		return c.value, c.err
	}
	if c.running == nil {
		c.running = make(chan struct{})
		go c.run(context.WithoutCancel(ctx), c.running)
	}
	running := c.running
	c.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var late error
	select {
	case <-running:
	case <-timer.C:
		late = errSlow
	case <-ctx.Done():
		late = ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, cmp.Or(late, c.err)
}

func (c *cached[T]) run(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.timeout) // callers stop waiting earlier
	defer cancel()
	value, err := c.fetch(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err, c.at, c.running = err, time.Now(), nil
	if err == nil {
		c.value = value
	}
	close(done)
}
