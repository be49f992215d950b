package rewards

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// cached holds a value for a time, by default cacheFor, then loads it again. Concurrent callers wait for one
// load. It is safe for concurrent use.
type cached[T any] struct {
	keep time.Duration // 0: cacheFor

	mu    sync.Mutex
	value T
	until time.Time
}

func (c *cached[T]) get(
	ctx context.Context, now func() time.Time, load func(context.Context) (T, error),
) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := now()
	if at.Before(c.until) {
		return c.value, nil
	}
	value, err := load(ctx)
	if err != nil {
		var none T
		return none, err
	}
	c.value, c.until = value, at.Add(cmp.Or(c.keep, cacheFor))
	return value, nil
}

// forget makes the next get load the value, if it is stale. Of many requests that find it stale, one loads it.
func (c *cached[T]) forget(stale func(T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stale(c.value) {
		c.until = time.Time{}
	}
}
