package fulfillment_test

import (
	"cmp"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// An order in any status that is no end is followed, without an alarm, until it ends.
func TestWorkingStatusesAreFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []string{
		"new", "pending_new", "accepted", "done_for_day", "pending_cancel", "pending_replace", "accepted_for_bidding",
		"stopped", "suspended", "calculated", "held",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.tell(map[string]any{"status": status, "filled_qty": "0", "filled_avg_price": nil, "filled_at": nil})
				r := w.give("AAPL", 5_000_000)
				w.run(2 * time.Minute)
				w.want(r, rewards.Executing)
				if o := w.live()[0]; o.State != rewards.OrderOpen || o.BrokerStatus != status || w.alarmed("order_") {
					t.Errorf("order %+v, alarm %t; want it open", o, w.alarmed("order_"))
				}
				w.wire.rewrite = nil
				w.run(5 * time.Second)
				w.want(r, rewards.Executed)
				if n := len(w.orders()); n != 1 {
					t.Errorf("%d orders, want one", n)
				}
				w.witness()
			})
		})
	}
}

// reading is what the broker tells of an order for a while.
type reading struct {
	status, filled string
	lasts          time.Duration
	id             string // the broker's, when it is another one
	price          string // "" for 200
}

// hears lets the broker tell readings of the next order, one after the other.
func (w *world) hears(readings ...reading) {
	w.t.Helper()
	for _, r := range readings {
		members := map[string]any{"status": r.status, "filled_qty": r.filled, "filled_avg_price": cmp.Or(r.price, "200")}
		if r.id != "" {
			members["id"] = r.id
		}
		w.tell(members)
		w.run(r.lasts)
	}
}

// Readings of an end that contradict one another, and what is made of them.
func TestEndsThatDoNotAgree(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		readings []reading
		state    rewards.OrderState
		status   rewards.Status
		booked   int64
	}{
		"it goes on": {
			[]reading{{status: "canceled", filled: "0.01", lasts: 5 * time.Second}, {status: "partially_filled", filled: "0.02", lasts: 5 * time.Second}},
			rewards.OrderQuarantined, rewards.Executing, 0,
		},
		"it grows": {
			[]reading{{status: "canceled", filled: "0.01", lasts: 25 * time.Second}, {status: "canceled", filled: "0.015", lasts: 25 * time.Second}},
			rewards.OrderOpen, rewards.Executing, 0,
		},
		"it has grown": {
			[]reading{{status: "canceled", filled: "0.01", lasts: 25 * time.Second}, {status: "canceled", filled: "0.015", lasts: 31 * time.Second}},
			rewards.OrderSettled, rewards.Executed, 5_000_000, // the rest by the next order
		},
		"its price changes": {
			[]reading{{status: "canceled", filled: "0.01", lasts: 25 * time.Second}, {status: "canceled", filled: "0.01", lasts: 25 * time.Second, price: "210"}},
			rewards.OrderOpen, rewards.Executing, 0,
		},
		"its price has changed": {
			[]reading{{status: "canceled", filled: "0.01", lasts: 25 * time.Second}, {status: "canceled", filled: "0.01", lasts: 31 * time.Second, price: "210"}},
			rewards.OrderSettled, rewards.Executed, 5_000_000, // the rest by the next order
		},
		"its price becomes absurd": {
			[]reading{{status: "canceled", filled: "0.01", lasts: 25 * time.Second}, {status: "canceled", filled: "0.01", lasts: time.Second, price: "0.01"}},
			rewards.OrderQuarantined, rewards.Executing, 0,
		},
		"it was filled after all": {
			[]reading{{status: "expired", filled: "0.01", lasts: 25 * time.Second}, {status: "filled", filled: "0.025", lasts: time.Second}},
			rewards.OrderSettled, rewards.Executed, 5_000_000,
		},
		"another id": {
			[]reading{{status: "new", filled: "0", lasts: 5 * time.Second}, {status: "new", filled: "0", lasts: time.Second, id: "another"}},
			rewards.OrderQuarantined, rewards.Executing, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				r := w.give("AAPL", 5_000_000)
				w.hears(test.readings...)
				list, err := w.store.Orders(t.Context(), 0, rewards.Page[rewards.Order]{Limit: 10})
				w.check(err)
				if first := list[len(list)-1]; first.State != test.state {
					t.Errorf("the order is %s (%s), want %s", first.State, first.Reason, test.state)
				}
				if got := w.want(r, test.status); int64(got.Booked) != test.booked {
					t.Errorf("%s booked", got.Booked)
				}
			})
		})
	}
}

func TestDayOrderOverTheClose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		// Accepted in the last moment, and told to have expired with nothing filled.
		time.Sleep(time.Until(time.Date(2000, 1, 3, 20, 59, 58, 0, time.UTC)))
		w.tell(map[string]any{"status": "accepted", "filled_qty": "0", "filled_avg_price": nil, "filled_at": nil})
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executing)
		w.run(10 * time.Minute)
		w.want(r, rewards.Executing)
		w.wire.rewrite = nil
		time.Sleep(18 * time.Hour) // over the night
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		w.witness()
	}, func(w *world) { w.hours = paper.USEquities })
}

// An order that is open over the close is followed in the night as well.
func TestAFillInTheNightIsBooked(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		time.Sleep(time.Until(time.Date(2000, 1, 3, 20, 59, 50, 0, time.UTC)))
		r := w.give("AAPL", 5_000_000)
		w.hears(reading{status: "accepted", filled: "0", lasts: 5 * time.Second},
			reading{status: "accepted", filled: "0", lasts: time.Hour})
		w.want(r, rewards.Executing)
		w.hears(reading{status: "filled", filled: "0.025", lasts: 10 * time.Second})
		w.want(r, rewards.Executed)
	}, func(w *world) { w.hours = paper.USEquities })
}

// A fill that the broker dates into the future is booked as of now.
func TestAFillOfTheFutureIsCutToNow(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{
			"status": "filled", "filled_qty": "0.025", "filled_avg_price": "200", "filled_at": "2099-01-01T00:00:00Z",
		})
		r := w.want(w.giveAndRun("AAPL", 5_000_000), rewards.Executed)
		list, err := w.store.Orders(t.Context(), 0, rewards.Page[rewards.Order]{Limit: 1})
		w.check(err)
		if o := list[0]; r.ExecutedAt.After(o.SettledAt) || !o.FilledAt.Equal(r.ExecutedAt) {
			t.Errorf("executed at %s by an order that was filled at %s and booked at %s", r.ExecutedAt, o.FilledAt, o.SettledAt)
		}
	})
}

// giveAndRun records a reward and lets fulfilment work for a few seconds.
func (w *world) giveAndRun(symbol string, amount money.USD) rewards.Reward {
	w.t.Helper()
	r := w.give(symbol, amount)
	w.run(5 * time.Second)
	return r
}
