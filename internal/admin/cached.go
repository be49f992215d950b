package admin

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	readEvery     = time.Second     // how often the books are asked, at most
	readPatience  = 5 * time.Second // for reading them
	writePatience = 2 * time.Second // for a probing write

	weaknessEvery    = time.Minute // how often the server is asked for its settings, at most
	weaknessPatience = time.Second
)

// cached is a value that is fetched at most once in a while, by one at a time.
// Whoever asks waits only so long for it.
type cached[T any] struct {
	every    time.Duration
	patience time.Duration
	fetch    func(context.Context) (T, error)
	*cache[T]
}

type cache[T any] struct {
	mu      sync.Mutex
	value   T
	err     error
	at      time.Time     // when it was fetched; zero: never
	running chan struct{} // closed when the fetch under way ends; nil while there is none
}

func newCached[T any](every, patience time.Duration, fetch func(context.Context) (T, error)) cached[T] {
	return cached[T]{every: every, patience: patience, fetch: fetch, cache: &cache[T]{}}
}

// errSlow says that an answer did not come in time.
var errSlow = errors.New("no answer in time")

// get is the value, not older than a while. It fails with errSlow when it takes too
// long; the fetch then goes on for the next who asks.
func (c cached[T]) get(ctx context.Context) (value T, err error) {
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
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case <-running:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.value, c.err
	case <-timer.C:
		return value, errSlow
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

func (c cached[T]) run(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.patience) // whoever waits is told sooner
	defer cancel()
	value, err := c.fetch(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.err, c.at, c.running = value, err, time.Now(), nil
	close(done)
}
