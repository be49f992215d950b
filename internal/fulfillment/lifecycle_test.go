package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func TestGivenIsBoughtWithinThreeSeconds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.run(5 * time.Second) // idle
		r := w.give("AAPL", 5_250_000)
		w.run(1500 * time.Millisecond)
		got := w.want(r, rewards.Executed)
		if got.ExecutedAt.Before(got.CreatedAt()) || got.ExecutedAt.After(time.Now()) {
			t.Errorf("executed at %s", got.ExecutedAt)
		}
		w.witness()
	})
}

func TestRewardsOfAWindowArePooled(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		var given []rewards.Reward
		for range 40 {
			given = append(given, w.give("AAPL", 2_000_000), w.give("KO", 300_000))
			w.run(20 * time.Millisecond)
		}
		w.run(4 * time.Second)
		for _, r := range given {
			w.want(r, rewards.Executed)
		}
		if n := len(w.orders()); n != 2 {
			t.Errorf("%d orders, want one for each asset", n)
		}
		w.witness()
	})
}

func TestMoreThanAnOrderHoldsTakesSeveral(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		var last rewards.Reward
		for range 1_001 {
			last = w.give("AAPL", 1_000_000)
		}
		w.run(4 * time.Second)
		w.want(last, rewards.Executed)
		if n := len(w.orders()); n != 2 {
			t.Errorf("%d orders, want 2", n)
		}
		w.witness()
	})
}

func TestMoreThanAnOrdersNotionalTakesSeveral(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		given := []rewards.Reward{
			w.give("AAPL", 5_000_000), w.give("AAPL", 4_000_000), w.give("AAPL", 2_000_000), w.give("AAPL", 9_500_000),
		}
		w.run(4 * time.Second)
		for _, r := range given {
			w.want(r, rewards.Executed)
		}
		if n := len(w.orders()); n != 3 {
			t.Errorf("%d orders, want $9, $2 and $9.50", n)
		}
		w.witness()
	}, func(w *world) {
		w.afterOpen = append(w.afterOpen, func() {
			w.cfg.MaxNotional = 10 * money.Dollar
			w.restart(nil, nil)
		})
	})
}

func TestSmallPoolWaitsThenIsToppedUp(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 400_000)
		w.run(59 * time.Minute)
		w.want(r, rewards.Recorded)
		w.run(2 * time.Minute)
		w.want(r, rewards.Executed)
		if got := w.orders()[0].Notional; got != money.Dollar {
			t.Errorf("the order was for %s, want the minimum", got)
		}
		w.witness()
	}, smallPoolWait(time.Hour))
}

// smallPoolWait sets how long small pools wait.
func smallPoolWait(d time.Duration) func(*world) {
	return func(w *world) {
		w.t.Helper()
		w.afterOpen = append(w.afterOpen, func() {
			w.cfg.SmallPoolWait = d
			w.restart(nil, nil)
		})
	}
}

func TestMoreMakesASmallPoolGo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		small := w.give("AAPL", 400_000)
		w.run(10 * time.Minute)
		w.give("AAPL", 600_000)
		w.run(3 * time.Second)
		w.want(small, rewards.Executed)
		w.witness()
	}, smallPoolWait(time.Hour))
}

func TestNothingIsSentWhileTheMarketIsClosed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 5_000_000) // synctest begins on a Saturday
		w.run(24 * time.Hour)
		w.want(r, rewards.Recorded)
		if n := len(w.orders()); n != 0 {
			t.Errorf("%d orders were sent to a closed market", n)
		}
		w.run(5 * 24 * time.Hour)
		w.want(r, rewards.Executed)
		w.witness()
	}, func(w *world) { w.hours = paper.USEquities })
}

func TestPauseStopsOrderingAndResumeGoesOn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.check(w.store.SetPaused(t.Context(), "lunch"))
		r := w.give("AAPL", 5_000_000)
		w.run(time.Hour)
		w.want(r, rewards.Recorded)
		if !w.alarmed("ordering_paused") {
			t.Error("no alarm stands")
		}
		w.check(w.store.SetPaused(t.Context(), ""))
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
		if w.alarmed("ordering_paused") {
			t.Error("the alarm still stands")
		}
	})
}

func TestSuspendedAppWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 5_000_000)
		_, err := w.store.SetSuspended(t.Context(), "app", true)
		w.check(err)
		w.run(time.Hour)
		w.want(r, rewards.Recorded)
		_, err = w.store.SetSuspended(t.Context(), "app", false)
		w.check(err)
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
	})
}

func TestDailyLimitHoldsUntilTomorrow(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		first := w.give("AAPL", 60_000_000)
		w.run(3 * time.Second)
		second := w.give("AAPL", 50_000_000)
		w.run(time.Hour)
		w.want(first, rewards.Executed)
		w.want(second, rewards.Recorded)
		if !w.alarmed("daily_notional_limit") {
			t.Error("no alarm stands")
		}
		w.run(24 * time.Hour)
		w.want(second, rewards.Executed)
		w.witness()
	}, func(w *world) {
		w.afterOpen = append(w.afterOpen, func() {
			w.cfg.DailyLimit = 100_000_000
			w.restart(nil, nil)
		})
	})
}

func TestPriceInDoubtStopsTheAssetUntilConfirmed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 5_000_000)
		w.check(w.store.DoubtAsset(t.Context(), r.AssetID, 1))
		other := w.give("KO", 5_000_000)
		w.run(time.Minute)
		w.want(r, rewards.Recorded)
		w.want(other, rewards.Executed)
		if !w.alarmed("price_in_doubt:AAPL") {
			t.Error("no alarm stands")
		}
		_, err := w.store.ConfirmAsset(t.Context(), "AAPL")
		w.check(err)
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
	})
}

// The Run loop itself: nudged, it buys; stopped, it gives the lease back.
func TestRunIsNudgedAndStops(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		stop, done := w.start()
		time.Sleep(time.Minute)
		r := w.give("AAPL", 5_000_000)
		w.worker.Nudge()
		time.Sleep(1500 * time.Millisecond)
		w.want(r, rewards.Executed)
		stop()
		<-done
		l, err := w.store.TakeLease(t.Context(), "another", time.Minute, false)
		w.check(err)
		if l.Epoch == 0 {
			t.Error("the lease was not given back")
		}
	})
}
