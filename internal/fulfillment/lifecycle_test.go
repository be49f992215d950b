package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

func TestGivenIsBoughtWithinThreeSeconds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.run(5 * time.Second) // idle
		r := w.give("AAPL", 5_250_000)
		got := w.wantAfter(1500*time.Millisecond, r, rewards.Executed)
		if got.ExecutedAt.Before(got.CreatedAt()) || got.ExecutedAt.After(time.Now()) {
			w.t.Errorf("executed at %s", got.ExecutedAt)
		}
		w.wantBalance()
	}, func(w *world) { w.cfg.PollEvery = 100 * time.Millisecond })
}

func TestRewardsOfAWindowArePooled(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var given []rewards.Reward
		for range 40 {
			given = append(given, w.give("AAPL", 2*usd), w.give("KO", 300_000))
			w.run(20 * time.Millisecond)
		}
		w.run(4 * time.Second)
		w.wantAll(rewards.Executed, given...)
		w.wantOrders(2) // one of each asset
		w.wantBalance()
	})
}

func TestMoreThanAnOrderHoldsTakesSeveral(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var list []rewards.NewReward
		for range 1_001 {
			list = append(list, w.newReward("AAPL", usd))
		}
		given, err := w.store.RecordRewards(w.t.Context(), list)
		w.check(err)
		w.run(4 * time.Second)
		w.want(given[1_000].Reward, rewards.Executed)
		w.wantBalanced(2)
	})
}

func TestMoreThanAnOrdersNotionalTakesSeveral(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		given := []rewards.Reward{w.give("AAPL", 5*usd), w.give("AAPL", 4*usd), w.give("AAPL", 2*usd), w.give("AAPL", 9_500_000)}
		w.run(4 * time.Second)
		w.wantAll(rewards.Executed, given...)
		w.wantOrders(3) // $9, $2 and $9.50
		w.wantBalance()
	}, func(w *world) { w.cfg.MaxNotional = 10 * usd })
}

// Run buys when it is nudged; when it is stopped it returns the lease.
func TestRunIsNudgedAndStops(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		stop, done := w.start()
		time.Sleep(10 * time.Second)
		r := w.give("AAPL", 5*usd)
		w.worker.Nudge()
		time.Sleep(2500 * time.Millisecond)
		w.want(r, rewards.Executed)
		stop()
		<-done
		l, err := w.store.TakeLease(w.t.Context(), "another", time.Minute, false)
		w.check(err)
		if l.Epoch == 0 {
			w.t.Error("the lease was not returned")
		}
	})
}
