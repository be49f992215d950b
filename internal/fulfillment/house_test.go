package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
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

// owing makes the house owe a part of a share: the user gets awards, and of a reverse split the broker pays the fraction
// in cash.
func (w *world) owing(awards ...money.USD) (owed money.Shares) {
	w.t.Helper()
	w.holders("AAPL")
	for _, amount := range awards {
		w.wantAfter(5*time.Second, w.give("AAPL", amount), rewards.Executed)
	}
	w.afflict("cash-in-lieu")
	id := w.post(`{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"ex_date":"2000-01-05"}`)
	w.until("2000-01-04 20:00:00")
	w.run(10 * time.Second)
	w.until("2000-01-05 02:30:00")
	w.run(30 * time.Second)
	w.wantAction(id, rewards.ActionSwept)
	if owed = -w.house("AAPL"); owed <= 0 {
		w.t.Fatalf("the house has %s", -owed)
	}
	return owed
}

// wantBought checks that the house has bought what it owed, once: with one percent more for the price, and cents.
func (w *world) wantBought(owed money.Shares) {
	w.t.Helper()
	if got := w.house("AAPL"); got < 0 || got > owed/50 {
		w.t.Errorf("the house owed %s shares and has %s now", owed, got)
	}
}

// What the house owes it buys with one order, however many are planned before that one is booked.
func TestTheHouseBuysWhatItOwesOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		owed := w.owing(600*usd, 600*usd, 600*usd)
		w.pause("to let awards wait")
		for range 5 {
			w.give("AAPL", 10*usd)
		}
		w.pause("")
		w.run(20 * time.Second)
		w.wantAll(rewards.Executed)
		w.wantBought(owed)
		w.wantBalance()
	}, func(w *world) { w.cfg.MaxMembers = 1 })
}

// The same while an order waits for buying power.
func TestTheHouseBuysOnceWhileAnOrderWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		owed := w.owing(1800 * usd)
		w.afflict("no-buying-power times=6")
		for range 3 { // with the default number of members, two seconds apart
			w.give("AAPL", 10*usd)
			w.run(2 * time.Second)
		}
		w.run(10 * time.Minute)
		w.wantBought(owed)
	})
}
