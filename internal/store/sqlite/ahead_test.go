package sqlite_test

import (
	"context"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// unsynced is an engine that knows whether a commit may not be on the disk yet.
type unsynced struct {
	store.Engine

	waits  bool // for its sync
	before bool // the commit before waited when the last write began
}

func (e *unsynced) began() { e.before, e.waits = e.waits, true }

func (e *unsynced) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.began()
	return e.Engine.Write(ctx, f)
}

func (e *unsynced) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.began()
	return e.Engine.WriteBooks(ctx, f)
}

func (e *unsynced) Durable(ctx context.Context) error {
	err := e.Engine.Durable(ctx)
	e.waits = e.waits && err != nil
	return err
}

// Only what fulfillment can do again may not be on the disk yet when its write returns: an order that was never sent,
// and what the broker reports again. An attempt is on the disk before the order is sent.
func TestOnlyWhatCanBeDoneAgainWaitsForItsSync(t *testing.T) {
	t.Parallel()
	e := &unsynced{Engine: opener(migratedFile)(t)}
	w := storetest.NewWorld(t, e)
	want := func(name string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s waits for its sync: %t, want %t", name, got, want)
		}
	}
	given := w.Give(t, money.Dollar)
	o := w.Plan(t)
	want("a planned order", e.waits, true)
	o = w.Accept(t, o) // after an attempt
	want("an attempt", e.before, false)
	want("an accepted order", e.waits, true)
	check(t, w.RaiseAlarm(t.Context(), "tested", "nothing is wrong"))
	want("an alarm", e.waits, false)
	check(t, w.Settle(t, o, "filled", 5_000_000, lotPrice))
	want("a booking", e.waits, true)
	_, err := w.ReverseRewards(t.Context(), []rewards.NewReversal{{
		AppID: w.App.ID, RewardID: given.ID, IdempotencyKey: "taken-0001",
	}})
	check(t, err)
	want("a reversal", e.waits, false)
}
