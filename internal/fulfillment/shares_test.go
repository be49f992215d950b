package fulfillment_test

import (
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// giveOf records a reward of another app, which it makes when there is none of that name.
func (w *world) giveOf(app, symbol string, amount money.USD) rewards.Reward {
	w.t.Helper()
	apps, err := w.store.Apps(w.t.Context())
	w.check(err)
	before, user := w.app, w.user
	defer func() { w.app, w.user = before, user }()
	w.app = rewards.App{}
	for _, a := range apps {
		if a.Name == app {
			w.app = a
		}
	}
	if w.app.Name == "" {
		w.app, _, err = w.store.CreateApp(w.t.Context(), app, rewards.Key{Hash: rewards.HashKey(app)})
		w.check(err)
	}
	w.keys++
	w.user, err = w.store.CreateUser(w.t.Context(), rewards.User{AppID: w.app.ID, ExternalID: fmt.Sprint(w.keys)})
	w.check(err)
	return w.give(symbol, amount)
}

// What is larger than the rest of today's limit holds up neither its stock nor another,
// and is bought on the next day; what is larger than the whole limit waits alone.
func TestALargeRewardHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		first := w.give("AAPL", 60*money.Dollar)
		w.run(3 * time.Second)
		never := w.giveOf("greedy", "AAPL", 101*money.Dollar)
		tomorrow := w.giveOf("greedy", "AAPL", 90*money.Dollar)
		small, other, same := w.give("AAPL", 5*money.Dollar), w.give("KO", 5*money.Dollar), w.giveOf("greedy", "AAPL", money.Dollar)
		w.run(5 * time.Second)
		for _, r := range []rewards.Reward{first, small, other, same} {
			w.want(r, rewards.Executed)
		}
		w.want(tomorrow, rewards.Recorded)
		w.want(never, rewards.Recorded)
		if !w.alarmed("daily_notional_limit") {
			t.Error("no alarm stands")
		}
		w.run(24 * time.Hour)
		w.run(5 * time.Second)
		w.want(tomorrow, rewards.Executed)
		later := w.give("AAPL", money.Dollar)
		w.run(5 * time.Second)
		w.want(later, rewards.Executed)
		w.want(never, rewards.Recorded)
	}, func(w *world) {
		w.afterOpen = append(w.afterOpen, func() {
			w.cfg.DailyLimit = 100 * money.Dollar
			w.restart(nil, nil)
		})
	})
}

// Micro-awards of one app use up what the house adds for that app only.
func TestAnAppUsesUpItsOwnHouseLimit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		for range 4 {
			w.giveOf("greedy", "AAPL", 1)
			w.run(3 * time.Second)
		}
		third := w.giveOf("greedy", "AAPL", 1)
		w.run(3 * time.Second)
		w.want(third, rewards.Recorded)
		if !w.alarmed("house_daily_limit_per_app") {
			t.Error("no alarm stands")
		}
		r := w.give("AAPL", 500_000)
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
		w.want(third, rewards.Recorded)
		large := w.give("AAPL", 2*money.Dollar)
		w.run(3 * time.Second)
		w.want(large, rewards.Executed)
		if got := w.reward(third).Status; got == rewards.Recorded {
			t.Error("a pool that needs no help leaves the app out")
		}
	}, func(w *world) {
		w.afterOpen = append(w.afterOpen, func() {
			w.cfg.HouseDailyLimit, w.cfg.HouseAppLimit = 10*money.Dollar, 4*money.Dollar
			w.restart(nil, nil)
		})
	})
}
