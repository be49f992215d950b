package fulfillment_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// halfBought is a store where an earlier order bought a part of an award of KO, whose order was then
// rejected.
type halfBought struct {
	fulfillment.Store
	most *int // orders in one transaction
}

func (s halfBought) SettleOrders(ctx context.Context, l rewards.Lease, list ...rewards.OrderEnd) (int, error) {
	for i := range list {
		if list[i].Order.Symbol == "KO" {
			list[i].Book = func([]rewards.Claim, money.Shares) (rewards.Settlement, error) {
				return rewards.Settlement{}, rewards.ErrHalfBought
			}
		}
	}
	*s.most = max(*s.most, len(list))
	return s.Store.SettleOrders(ctx, l, list...)
}

// An order that cannot be booked is quarantined; those that would have shared its transaction are booked.
func TestAnOrderThatCannotBeBookedIsAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		most := 0
		w.restartWith(halfBought{w.store, &most}, newClient(w.wire))
		apple, cola := w.give("AAPL", 5*usd), w.give("KO", 5*usd)
		w.run(5 * time.Second)
		w.want(apple, rewards.Executed)
		w.want(cola, rewards.Executing)
		if o := w.quarantined(); o.Symbol != "KO" || !strings.Contains(o.Reason, rewards.ErrHalfBought.Error()) {
			w.t.Errorf("quarantined %+v", o)
		}
		if most != 2 {
			w.t.Errorf("at most %d orders shared a transaction, want 2", most)
		}
	})
}

// A worker that is killed while it books orders together books each once.
func TestOrdersBookedTogetherSurviveKills(t *testing.T) {
	t.Parallel()
	killEach(t, func(w *world, n int, after bool) string {
		var given []rewards.Reward
		for _, symbol := range []string{"AAPL", "KO", "AAPL", "KO"} {
			given = append(given, w.giveTo(w.newUser(w.app), symbol, 3_330_001))
		}
		name := w.runMortal(5*time.Second, n, after)
		w.wantAll(rewards.Executed, given...)
		w.wantBalanced(2)
		return name
	}, "PlanOrder", "BeginAttempt", "SaveOrder", "SettleOrders")
}
