package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// showsClock puts the broker's clock ahead of the real one.
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

// While the broker's clock is minutes from ours nothing is ordered, with an alarm, and nothing is
// stored by it. Ordering continues by itself.
func TestAClockFarFromOursStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{"ahead": 73 * 365 * 24 * time.Hour, "behind": -3 * time.Minute}, func(w *world, ahead time.Duration) {
		w.run(time.Second)
		before, err := w.store.MarketHours(w.t.Context())
		w.check(err)
		w.showsClock(ahead)
		w.run(6 * time.Second) // the reading from before has expired
		r := w.give("AAPL", 5*usd)
		w.pause("looking")
		w.run(3 * time.Second)
		w.wantAlarm(rewards.AlarmClockRefused, true)
		w.pause("")
		w.run(3 * time.Second)
		time.Sleep(2 * time.Hour)
		w.wantAfter(3*time.Second, r, rewards.Recorded)
		w.wantAlarm(rewards.AlarmClockRefused, true)
		w.wantAlarm(rewards.AlarmClockUnknown, false)
		w.wantComparedUntilNow()
		if after, err := w.store.MarketHours(w.t.Context()); err != nil || after != before {
			w.t.Errorf("the hours became %s (%v), were %s", after, err, before)
		}
		w.wire.clock = nil
		w.wantAfter(10*time.Second, r, rewards.Executed)
		w.wantAlarm("broker_clock", false)
	})
}

// A clock a little fast is trusted, but the present is the earlier of the two.
func TestNoFutureIsStoredAsCompared(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.showsClock(100 * time.Second)
		w.buy()
		w.wantComparedUntilNow()
	})
}

// The paper brokerage declares a clock that was set on purpose, and ordering goes by it.
func TestAClockSetOnPurposeIsTrusted(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{"ahead": 400 * 24 * time.Hour, "back": -400 * 24 * time.Hour}, func(w *world, by time.Duration) {
		w.check(w.brokerage.SetClock(w.t.Context(), time.Now().Add(by), 1))
		w.buy()
		w.wantAlarm("broker_clock", false)
		w.wantBalance()
	})
}
