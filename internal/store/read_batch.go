package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"stockrewards/internal/rewards"
)

// batchReader reads values by key in natural batches: one transaction reads all keys that
// were requested during the transaction before it. Nobody waits for a timer. The first
// request of a batch reads for all of it, to its end. A goroutine for each batch would
// cost a tenth more, because it has to grow its stack.
type batchReader[K comparable, V any] struct {
	engine *watched
	appOf  func(K) rewards.AppID // whose a value is
	// fetch reads the values of keys. Unknown keys are missing.
	fetch func(ctx context.Context, tx Tx, keys []K) (map[K]V, error)
	turn  chan struct{} // holds a token while a batch is read

	mu   sync.Mutex
	next *round[K, V] // collects keys; nil when none was requested
}

// round is one batch. Its results are valid once done is closed.
type round[K comparable, V any] struct {
	keys   []K
	values map[K]V
	err    error
	done   chan struct{}
}

func newBatchReader[K comparable, V any](
	e *watched, appOf func(K) rewards.AppID, fetch func(context.Context, Tx, []K) (map[K]V, error),
) *batchReader[K, V] {
	return &batchReader[K, V]{engine: e, appOf: appOf, fetch: fetch, turn: make(chan struct{}, 1)}
}

// get reads one value, as of the call or later, and reports whether it exists.
func (g *batchReader[K, V]) get(ctx context.Context, key K) (value V, found bool, err error) {
	r, first := g.join(key)
	if first {
		g.lead(context.WithoutCancel(ctx), r)
	} else {
		select {
		case <-r.done:
		case <-ctx.Done():
			return value, false, rewards.Unavailable("the request ended before it was answered", ctx.Err())
		}
	}
	value, found = r.values[key]
	return value, found, errors.Join(g.engine.DurableOf(ctx, g.appOf(key)), r.err)
}

// join adds a key to the next round, and reports whether it is the round's first.
func (g *batchReader[K, V]) join(key K) (r *round[K, V], first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if first = g.next == nil; first {
		g.next = &round[K, V]{done: make(chan struct{})}
	}
	g.next.keys = append(g.next.keys, key)
	return g.next, first
}

// lead reads a round when the round before it is done.
func (g *batchReader[K, V]) lead(ctx context.Context, r *round[K, V]) {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	g.mu.Lock()
	g.next = nil
	g.mu.Unlock()
	g.read(ctx, r)
	close(r.done)
}

// read reads a round. A panic fails the requests of the round, not the process.
func (g *batchReader[K, V]) read(ctx context.Context, r *round[K, V]) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("store: panic: %v\n%s", p, debug.Stack())
		}
	}()
	r.err = g.engine.ReadEarly(ctx, func(ctx context.Context, tx Tx) (err error) {
		r.values, err = g.fetch(ctx, tx, r.keys)
		return err
	})
}
