package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"stockrewards/internal/rewards"
)

// batchReader reads values by their keys in natural batches: what is asked for while a
// reading is under way is read together by the next one, in one transaction. Nobody
// waits for a timer.
type batchReader[K comparable, V any] struct {
	engine Engine
	// fetch reads the values of keys; what does not exist is missing.
	fetch func(ctx context.Context, tx Tx, keys []K) (map[K]V, error)

	mu      sync.Mutex
	next    *round[K, V] // collects; nil when nothing was asked for
	reading bool
}

// round is one reading. What it read may be used when done is closed.
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

// get reads one value, as it is when it is asked for or later, and tells whether it
// exists.
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

// run reads round after round until nothing is asked for.
func (g *batchReader[K, V]) run(ctx context.Context) {
	for r := g.take(); r != nil; r = g.take() {
		g.read(ctx, r)
		close(r.done)
	}
}

// read reads a round. A panic fails its requests, as it would in their own goroutines.
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
