package fulfillment_test

import (
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	shared "stockrewards/test/world"
)

// An app gives every stock, and each again once it is bought. The award of another app does not wait for those orders,
// and they go on.
func TestABacklogDelaysNoOtherApp(t *testing.T) {
	t.Parallel()
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprintf("S%02d", i)
	}
	type slowness struct {
		slow  func(*world)
		after time.Duration // the backlog, the other app gives
		waits time.Duration // at most
	}
	inWorlds(t, map[string]slowness{
		"the rate limit": {func(w *world) {
			w.restartWith(w.store, shared.PacedBroker(w.wire, 200))
		}, 8 * time.Second, 6 * time.Second},
		"long steps": {func(w *world) {
			w.restartWith(slowPlans{w.store}, newClient(w.wire))
		}, 4 * time.Second, 12 * time.Second},
	}, func(w *world, test slowness) {
		big, _, err := w.store.CreateApp(w.t.Context(), "big", rewards.Key{Hash: rewards.HashKey("big")})
		w.check(err)
		user := w.newUser(big)
		var backlog []rewards.Reward
		for _, symbol := range many {
			backlog = append(backlog, w.giveTo(user, symbol, 5*usd))
		}
		test.slow(w)
		stop, done := w.start()
		time.Sleep(test.after)
		for range 3 {
			w.want(backlog[len(backlog)-1], rewards.Recorded)
			r := w.give("KO", 5*usd)
			time.Sleep(test.waits)
			w.want(r, rewards.Executed)
			for i, given := range backlog {
				if w.reward(given).Status == rewards.Executed {
					backlog[i] = w.giveTo(user, given.Symbol, 5*usd)
				}
			}
		}
		stop()
		<-done
		if got := len(w.orders()); got < 6 {
			w.t.Errorf("there are %d orders: those of the backlog do not go on", got)
		}
	}, patient, func(w *world) { w.stocks = many })
}
