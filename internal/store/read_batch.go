package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"stockrewards/internal/rewards"
)

// batchReader reads values by key in natural batches: one transaction reads all keys that were
// requested during the transaction before it. Nobody waits for a timer.
type batchReader[K comparable, V any] struct {
	engine Engine
	// fetch reads the values of keys. Unknown keys are missing.
	fetch func(ctx context.Context, tx Tx, keys []K) (map[K]V, error)

	mu      sync.Mutex
	next    *round[K, V] // collects keys; nil when none was requested
	reading bool
}

// round is one batch. Its results are valid once done is closed.
type round[K comparable, V any] struct {
	keys   []K
	values map[K]V
	err    error
	done   chan struct{}
}

func newBatchReader[K comparable, V any](
	e Engine, fetch func(context.Context, Tx, []K) (map[K]V, error),
) *batchReader[K, V] {
	return &batchReader[K, V]{engine: e, fetch: fetch}
}

// get reads one value, as of the call or later, and reports whether it exists.
func (g *batchReader[K, V]) get(ctx context.Context, key K) (value V, found bool, err error) {
	r := g.join(ctx, key)
	select {
	case <-r.done:
		value, found = r.values[key]
		return value, found, r.err
	case <-ctx.Done():
		return value, false, rewards.Unavailable("the request ended before it was answered", ctx.Err())
	}
}

func (g *batchReader[K, V]) join(ctx context.Context, key K) *round[K, V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = &round[K, V]{done: make(chan struct{})}
	}
	g.next.keys = append(g.next.keys, key)
	if !g.reading {
		g.reading = true
		go g.run(context.WithoutCancel(ctx))
	}
	return g.next
}

// run reads rounds until no key is requested.
func (g *batchReader[K, V]) run(ctx context.Context) {
	for r := g.take(); r != nil; r = g.take() {
		g.read(ctx, r)
		close(r.done)
	}
}

// read reads a round. A panic fails the requests of the round, not the process.
func (g *batchReader[K, V]) read(ctx context.Context, r *round[K, V]) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("store: panic: %v\n%s", p, debug.Stack())
		}
	}()
	r.err = g.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		r.values, err = g.fetch(ctx, tx, r.keys)
		return err
	})
}

func (g *batchReader[K, V]) take() *round[K, V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.next
	g.next = nil
	g.reading = r != nil
	return r
}
