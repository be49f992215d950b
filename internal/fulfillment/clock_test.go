package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// showsClock lets the broker's clock be ahead of the real one.
func (w *world) showsClock(ahead time.Duration) {
	w.wire.clock = func(clock map[string]any) {
		for _, member := range []string{"timestamp", "next_open", "next_close"} {
			text, _ := clock[member].(string)
			at, err := time.Parse(time.RFC3339Nano, text)
			w.check(err)
			clock[member] = at.Add(ahead).Format(time.RFC3339Nano)
		}
	}
}

// While the broker's clock is minutes from ours nothing is ordered, with an alarm, and
// nothing is stored by it. Ordering goes on by itself.
func TestAClockFarFromOursStopsOrdering(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"ahead": 73 * 365 * 24 * time.Hour, "behind": -3 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.run(time.Second)
				before, err := w.store.MarketHours(t.Context())
				w.check(err)
				w.showsClock(ahead)
				w.run(6 * time.Second) // the reading from before is over
				r := w.give("AAPL", 5_000_000)
				w.check(w.store.SetPaused(t.Context(), "looking"))
				w.run(10 * time.Second)
				if !w.alarmed("broker_clock_refused") {
					t.Error("no alarm while ordering is paused too")
				}
				w.check(w.store.SetPaused(t.Context(), ""))
				w.run(2 * time.Hour)
				w.want(r, rewards.Recorded)
				if !w.alarmed("broker_clock_refused") || w.alarmed("broker_clock_unknown") {
					t.Error("want the alarm of a refused clock, and of no other")
				}
				until, err := w.store.ReconciledUntil(t.Context())
				w.check(err)
				if until.After(time.Now()) {
					t.Errorf("compared until %s is stored, now is %s", until, time.Now())
				}
				if after, err := w.store.MarketHours(t.Context()); err != nil || after != before {
					t.Errorf("the hours became %s (%v), were %s", after, err, before)
				}
				w.wire.clock = nil
				w.run(10 * time.Second)
				w.want(r, rewards.Executed)
				if w.alarmed("broker_clock") {
					t.Error("the alarm is still there")
				}
			})
		})
	}
}

// A clock a little fast is trusted, but the present is the earlier of the two.
func TestNoFutureIsStoredAsCompared(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.showsClock(100 * time.Second)
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		until, err := w.store.ReconciledUntil(t.Context())
		w.check(err)
		if until.After(time.Now()) {
			t.Errorf("compared until %s is stored, now is %s", until, time.Now())
		}
	})
}

// A restored backup that says it was compared up to 2099 does not hide what the broker
// did since: all orders are compared.
func TestAFutureThatIsStoredHidesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		_, err := w.client.Submit(t.Context(), rewards.OrderRequest{
			ClientOrderID: "sr-test-from-after-the-backup", Symbol: "AAPL", Notional: 5 * money.Dollar,
		})
		w.check(err)
		time.Sleep(200 * time.Hour)
		w.check(w.store.SaveReconciliation(t.Context(), nil, time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)))
		w.run(2 * time.Second)
		if !w.alarmed("broker_conflict") {
			t.Error("the unknown order did not stop ordering")
		}
		if until, err := w.store.ReconciledUntil(t.Context()); err != nil || until.After(time.Now()) {
			t.Errorf("compared until %s (%v), now is %s", until, err, time.Now())
		}
	})
}

// The paper brokerage's clock may be moved: it says so, and ordering goes by it.
func TestAClockMovedOnPurposeIsFollowed(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 400 * 24 * time.Hour, "back": -400 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.check(w.brokerage.SetClock(t.Context(), time.Now().Add(by), 1))
				r := w.give("AAPL", 5_000_000)
				w.run(10 * time.Second)
				w.want(r, rewards.Executed)
				if w.alarmed("broker_clock") {
					t.Error("an alarm about a clock that was set on purpose")
				}
				w.witness()
			}, func(w *world) { w.hours = paper.AlwaysOpen })
		})
	}
}
