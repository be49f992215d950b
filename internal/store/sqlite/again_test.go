package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// stuttering is an engine that runs every transaction twice: once in vain, as when it
// meets another one, and once for good.
type stuttering struct{ store.Engine }

var errInVain = errors.New("in vain")

type run = func(context.Context, func(context.Context, store.Tx) error) error

func twice(ctx context.Context, run run, f func(context.Context, store.Tx) error) error {
	err := run(ctx, func(ctx context.Context, tx store.Tx) error { return errors.Join(f(ctx, tx), errInVain) })
	if !errors.Is(err, errInVain) {
		return err
	}
	return run(ctx, f)
}

func (e stuttering) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return twice(ctx, e.Engine.Write, f)
}

func (e stuttering) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return twice(ctx, e.Engine.WriteForClients, f)
}

// An engine may run a transaction again that came to nothing: what is told is of the
// last run alone.
func TestContractWhenTransactionsRunAgain(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Engine {
		t.Helper()
		return stuttering{opener(memory, 0)(t)}
	})
}

// overtaken is an engine whose next transaction comes to nothing; another process is
// quicker before it is run again.
type overtaken struct {
	store.Engine

	by func()
}

func (e *overtaken) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	by := e.by
	if e.by = nil; by == nil {
		return e.Engine.Write(ctx, f)
	}
	err := e.Engine.Write(ctx, func(ctx context.Context, tx store.Tx) error { return errors.Join(f(ctx, tx), errInVain) })
	if !errors.Is(err, errInVain) {
		return err
	}
	by()
	return e.Engine.Write(ctx, f)
}

// Who was overtaken while it took the lease does not lead: with the epoch of the other
// one it would get past the fence.
func TestALeaseThatWasTakenInVainIsNone(t *testing.T) {
	t.Parallel()
	e := &overtaken{Engine: opener(memory, 0)(t)}
	w := storetest.NewWorld(t, e)
	w.Advance(2 * time.Hour) // the world's own lease has ended
	e.by = func() {
		if l, err := w.TakeLease(t.Context(), "quicker", time.Hour, false); err != nil || l.Epoch == 0 {
			t.Errorf("the quicker one got %+v, %v", l, err)
		}
	}
	if l, err := w.TakeLease(t.Context(), "overtaken", time.Hour, false); err != nil || l.Epoch != 0 {
		t.Errorf("got %+v, %v, want no lease", l, err)
	}
}
