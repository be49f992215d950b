package sim

import (
	"context"
	"errors"
	"sync"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// faultyEngine is a database whose writes fail at random.
type faultyEngine struct {
	store.Engine

	mu       sync.Mutex
	before   func() bool // whether a write fails, with nothing written
	after    func() bool // whether a commit succeeds with an unknown outcome
	dead     bool
	failures int
}

var errDisk = errors.New("the disk failed")

func (e *faultyEngine) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.mu.Lock()
	before, after := e.before != nil && e.before(), e.after != nil && e.after()
	dead := e.dead
	e.mu.Unlock()
	if before || dead {
		e.count()
		return rewards.Unavailable("the database cannot be written", errDisk)
	}
	if err := e.Engine.Write(ctx, f); err != nil || !after {
		return err
	}
	e.count()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead = true // like the SQLite engine after an I/O error at a commit
	return rewards.Unavailable("it is not known whether it was committed", errDisk)
}

func (e *faultyEngine) count() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures++
}

func (e *faultyEngine) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

// died reports, once, whether the process must restart.
func (e *faultyEngine) died() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	dead := e.dead
	e.dead = false
	return dead
}

func (w *world) failWrites(before, after int) {
	draw := func(chance int) func() bool {
		return func() bool { return w.random.IntN(1_000) < chance }
	}
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	w.engine.before, w.engine.after = draw(before), draw(after)
}
