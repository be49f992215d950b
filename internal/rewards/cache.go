package rewards

import (
	"context"
	"sync"
	"time"
)

// cached holds a value for a time, then loads it again. One caller loads it, the others wait, each
// until its context ends. When a load fails, the next one loads. It is safe for concurrent use.
type cached[T any] struct {
	keep time.Duration
	turn chan struct{} // holds a token while somebody loads

	mu    sync.Mutex
	value T
	began time.Time // when loading it began
	until time.Time
}

func newCached[T any](keep time.Duration) *cached[T] {
	return &cached[T]{keep: keep, turn: make(chan struct{}, 1)}
}

func (c *cached[T]) get(
	ctx context.Context, now func() time.Time, load func(context.Context) (T, error),
) (T, error) {
	called := now()
	if value, fresh := c.at(called); fresh {
		return value, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		var none T
		return none, Unavailable("the request ended before it was answered", ctx.Err())
	}
	if value, fresh := c.at(called); fresh {
		return value, nil
	}
	began := now()
	value, err := load(ctx)
	if err != nil {
		var none T
		return none, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.began, c.until = value, began, began.Add(c.keep)
	return value, nil
}

// at returns the value, and whether it is fresh for a call at a time: also when loading took longer than it is kept.
func (c *cached[T]) at(t time.Time) (value T, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, t.Before(c.until) || !c.began.Before(t)
}

// forget makes the next get load the value, if it is stale. Of many requests that find it stale, one loads it.
func (c *cached[T]) forget(stale func(T) bool) {
	c.turn <- struct{}{} // what is being loaded may be stale already
	defer func() { <-c.turn }()
	c.mu.Lock()
	defer c.mu.Unlock()
	if stale(c.value) {
		c.began, c.until = time.Time{}, time.Time{}
	}
}
