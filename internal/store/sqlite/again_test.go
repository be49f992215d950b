package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// stuttering is an engine that rolls every write back once and retries it, as after a conflict
// with another transaction.
type stuttering struct{ store.Engine }

var errRetried = errors.New("rolled back")

type run = func(context.Context, func(context.Context, store.Tx) error) error

// Sole implements store.SoleProcess.
func (stuttering) Sole() bool { return true }

func twice(ctx context.Context, run run, f func(context.Context, store.Tx) error) error {
	err := run(ctx, func(ctx context.Context, tx store.Tx) error { return errors.Join(f(ctx, tx), errRetried) })
	if !errors.Is(err, errRetried) {
		return err
	}
	return run(ctx, f)
}

func (e stuttering) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return twice(ctx, e.Engine.Write, f)
}

// WriteBooks implements store.Engine.
func (e stuttering) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return twice(ctx, e.Engine.WriteBooks, f)
}

func (e stuttering) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return twice(ctx, e.Engine.WriteForClients, f)
}

// An engine may retry a transaction: only the last run counts.
func TestContractWhenTransactionsRunAgain(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Engine {
		t.Helper()
		return stuttering{opener(memory)(t)}
	})
}

// overtaken is an engine that rolls back its next write, lets another process write, and retries.
type overtaken struct {
	store.Engine

	by func() // the other process's write
}

func (e *overtaken) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	by := e.by
	if e.by = nil; by == nil {
		return e.Engine.Write(ctx, f)
	}
	err := e.Engine.Write(ctx, func(ctx context.Context, tx store.Tx) error { return errors.Join(f(ctx, tx), errRetried) })
	if !errors.Is(err, errRetried) {
		return err
	}
	by()
	return e.Engine.Write(ctx, f)
}

// WriteBooks implements store.Engine.
func (e *overtaken) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

// A process that was overtaken while it took the lease does not lead. With the epoch of the other
// process it would pass the fence.
func TestAnOvertakenProcessDoesNotLead(t *testing.T) {
	t.Parallel()
	e := &overtaken{Engine: opener(memory)(t)}
	w := storetest.NewWorld(t, e)
	w.Advance(2 * time.Hour) // the world's own lease ends
	e.by = func() {
		if l, err := w.TakeLease(t.Context(), "other", time.Hour, false); err != nil || l.Epoch == 0 {
			t.Errorf("the other process got %+v, %v", l, err)
		}
	}
	if l, err := w.TakeLease(t.Context(), "overtaken", time.Hour, false); err != nil || l.Epoch != 0 {
		t.Errorf("got %+v, %v, want no lease", l, err)
	}
}
