package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// With --use-house-shares the shares that a reversal gave to the house go to the next awards of the
// stock, at the price of their order. The service buys less, and at least for a dollar.
func TestTheHouseSharesAreUsed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		first := w.buy()
		_, _, err := w.store.ReverseReward(w.t.Context(), first.ID, 4*usd, "a mistake")
		w.check(err)
		w.run(2 * time.Second)
		w.wantBalanced(1)
		has := w.house("AAPL")
		if has == 0 {
			w.t.Fatal("the house has nothing")
		}
		w.want(w.buy(), rewards.Executed) // without the flag
		if got := w.house("AAPL"); got < has {
			w.t.Errorf("the house gave %s unasked", has-got)
		}
		w.cfg.UseHouse = true
		w.restart()
		before := w.holding(w.user, "AAPL")
		r := w.wantAfter(5*time.Second, w.give("AAPL", 2*usd), rewards.Executed)
		w.wantBalanced(3)
		o := w.orders()[2]
		if o.Notional != usd {
			w.t.Errorf("the order is for %s, want the least", o.Notional)
		}
		got := w.holding(w.user, "AAPL")
		if want := 2 * o.FilledQty; got.Quantity-before.Quantity != want || got.CostBasis-before.CostBasis != 2*usd {
			w.t.Errorf("%+v became %+v by %s, of which %s were bought", before, got, r.ID, o.FilledQty)
		}
		if left := has - w.house("AAPL"); left < o.FilledQty-1 || left > o.FilledQty+1 {
			w.t.Errorf("the house gave %s, the order bought as much for as many dollars: %s", left, o.FilledQty)
		}
	})
}
