package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// failing makes one kind of request fail while it is switched on.
func (w *world) failing(match func(*http.Request) bool) *bool {
	on := true
	w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
		if on && match(r) {
			return answerWith(r, 503, ``), nil
		}
		return carry()
	}
	return &on
}

// Nothing is ordered before the broker's orders were compared with our books once;
// when a later comparison fails, an alarm stands and ordering goes on.
func TestOrderingWaitsForTheFirstComparison(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		on := w.failing(func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/v2/orders" })
		r := w.give("AAPL", 5_000_000)
		w.run(time.Minute)
		w.want(r, rewards.Recorded)
		if !w.alarmed("broker_orders_not_compared") {
			w.t.Error("no alarm stands")
		}
		*on = false
		w.run(20 * time.Second)
		w.want(r, rewards.Executed)
		if w.alarmed("broker_orders_not_compared") {
			w.t.Error("the alarm still stands")
		}
		time.Sleep(time.Hour)
		*on = true
		later := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(later, rewards.Executing) // sent; how it stands can't be seen
		for _, name := range []string{"broker_orders_not_compared", "broker_orders_unknown"} {
			if !w.alarmed(name) {
				w.t.Errorf("the alarm %s does not stand", name)
			}
		}
		*on = false
		w.run(20 * time.Second)
		w.want(later, rewards.Executed)
	})
}

func TestUnknownHoursStopOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.run(2 * time.Second)
		on := w.failing(func(r *http.Request) bool { return r.URL.Path == "/v2/clock" })
		time.Sleep(time.Minute)
		r := w.give("AAPL", 5_000_000)
		w.run(time.Minute)
		w.want(r, rewards.Recorded)
		if !w.alarmed("broker_clock_unknown") {
			w.t.Error("no alarm stands")
		}
		*on = false
		w.run(5 * time.Second)
		w.want(r, rewards.Executed)
	})
}

func TestPausedWhileAnOrdersFateIsUnknown(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.wire.fault = once(isSubmit, loseRequest)
		r := w.give("AAPL", 5_000_000)
		w.run(1100 * time.Millisecond)
		w.check(w.store.SetPaused(t.Context(), "drill"))
		w.run(5 * time.Minute)
		w.want(r, rewards.Executing)
		if n := len(w.orders()); n != 0 {
			t.Errorf("%d orders were sent while paused", n)
		}
		w.check(w.store.SetPaused(t.Context(), ""))
		w.run(2 * time.Minute)
		w.want(r, rewards.Executed)
		w.witness()
	})
}

func TestTheFirstPriceOfAStockIsInDoubt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, "/v2/stocks/") {
				return answerWith(r, 200, `{"AAPL":{"latestTrade":{"t":"2000-01-01T00:00:00Z","p":2},"prevDailyBar":{"c":200}}}`), nil
			}
			return carry()
		}
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Recorded)
		if !w.alarmed("price_in_doubt:AAPL") {
			t.Error("no alarm stands")
		}
	})
}

// Without any price an order is placed all the same: it is a market order.
func TestNoPriceAtAll(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.failing(func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/stocks/") })
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.want(r, rewards.Executed)
	})
}

func TestHouseLimitHoldsSmallPools(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		small, large := w.give("AAPL", 100_000), w.give("KO", 5_000_000)
		w.run(time.Minute)
		w.want(small, rewards.Recorded)
		w.want(large, rewards.Executed)
		if !w.alarmed("house_daily_limit") {
			w.t.Error("no alarm stands")
		}
	}, func(w *world) {
		w.afterOpen = append(w.afterOpen, func() {
			w.cfg.HouseDailyLimit = 500_000
			w.restart(nil, nil)
		})
	})
}

func TestMoreSharesThanCanBeCountedAreNotOrdered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 1_000_000_000_000)
		w.check(w.store.SaveQuotes(t.Context(), []rewards.Quote{{AssetID: r.AssetID, Price: 100_000, ConfirmedAt: time.Now(), TradedAt: time.Now()}}))
		w.restart(nil, nil) // a share costs $0.0001
		w.run(time.Minute)
		w.want(r, rewards.Recorded)
		if !w.alarmed("order_quantity:AAPL") {
			t.Error("no alarm stands")
		}
	})
}

// A reward of which an earlier order bought a part can't fail: an operator decides.
func TestRejectedAfterAPartWasBoughtIsQuarantined(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]func(w *world){
		"rejected": func(w *world) {
			w.wire.rewrite = nil
			w.told = nil
			w.tell(map[string]any{"status": "rejected", "filled_qty": "0", "filled_avg_price": nil})
		},
		"refused": func(w *world) {
			w.wire.rewrite = nil
			w.wire.fault = once(isSubmit, says(422, `{"code":42210000,"message":"asset \"AAPL\" is not tradable"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.tell(map[string]any{"status": "canceled", "filled_qty": "0.015", "filled_avg_price": "200"})
				r := w.give("AAPL", 4_000_000)
				w.run(5 * time.Second)
				w.check(w.store.SetPaused(t.Context(), "to change the broker's mood"))
				w.run(30 * time.Second)
				later(w)
				w.check(w.store.SetPaused(t.Context(), ""))
				w.run(40 * time.Second)
				if got := w.want(r, rewards.Executing); got.Booked != 3*money.Dollar {
					t.Errorf("%s booked", got.Booked)
				}
				w.quarantined()
			})
		})
	}
}

func TestABookedOrderThatTheBrokerStillWorksOnStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "expired", "filled_qty": "0", "filled_avg_price": nil})
		w.give("AAPL", 5_000_000)
		w.run(40 * time.Second)
		w.tell(map[string]any{"status": "new", "filled_qty": "0", "filled_avg_price": nil})
		w.run(61 * time.Minute)
		control, err := w.store.Control(t.Context())
		w.check(err)
		if control.Conflicts != 1 {
			t.Errorf("control %+v, want ordering stopped", control)
		}
	})
}

// What cannot be booked is quarantined, not lost: here the user would hold more
// than can be counted.
func TestAHoldingThatWouldOverflowIsQuarantined(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		// No price is known that the fills could be compared with.
		w.failing(func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/stocks/") })
		fill := map[string]any{"status": "filled", "filled_qty": "5000000000", "filled_avg_price": "0.000000001"}
		w.tell(fill)
		w.give("AAPL", 5_000_000)
		w.run(3 * time.Second)
		w.told = nil
		w.tell(fill)
		second := w.give("AAPL", 5_000_000)
		w.run(3 * time.Second)
		w.want(second, rewards.Executing)
		o := w.quarantined()
		w.check(w.store.ResolveOrder(w.t.Context(), o.ID, rewards.Resolution{
			FilledQty: o.FilledQty, Price: o.FilledAvgPrice, Reason: "a decision that cannot be booked either",
		}))
		w.run(3 * time.Second)
		w.want(second, rewards.Executing)
		w.quarantined()
	})
}

// One stale reading of an end is no end: nothing is bought again.
func TestOneStaleReadingOfAnEndIsNoEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "canceled", "filled_qty": "0", "filled_avg_price": nil})
		r := w.give("AAPL", 5_000_000)
		w.run(1500 * time.Millisecond)
		w.tell(map[string]any{"status": "new", "filled_qty": "0", "filled_avg_price": nil})
		w.run(time.Minute)
		w.want(r, rewards.Executing)
		w.wire.rewrite = nil
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		if n := len(w.orders()); n != 1 {
			t.Errorf("%d orders, want one", n)
		}
		w.witness()
	})
}

// A clock that was ahead for a moment does not stop the buying afterwards.
func TestAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		ahead := 24 * time.Hour
		w.store = w.openStore(func() time.Time { return time.Now().Add(ahead) })
		w.give("AAPL", 2_000_000)
		w.store = w.openStore(time.Now)
		w.restart(nil, nil)
		r := w.give("AAPL", 3_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		w.witness()
	})
}

func TestTheAlarmOfAnOutageStands(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.run(2 * time.Second)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if isSubmit(r) {
				return carry()
			}
			return answerWith(r, 503, ``), nil
		}
		w.give("AAPL", 5_000_000)
		w.run(20 * time.Second)
		for range 10 {
			w.run(700 * time.Millisecond)
			if !w.alarmed("broker_orders_unknown") {
				w.t.Fatal("no alarm stands")
			}
		}
	})
}

// A broker that is slow beyond the lease does not make a refusal uncertain.
func TestASlowStepDoesNotUseUpAttempts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.wire.fault = once(func(r *http.Request) bool { return r.URL.Path == "/v2/stocks/snapshots" },
			func(_ *http.Request, carry carrier) (*http.Response, error) {
				time.Sleep(9 * time.Second)
				return carry()
			})
		w.cfg.LeaseTTL = 5 * time.Second
		w.restart(nil, nil)
		r := w.give("HALT", 5_000_000)
		w.run(30 * time.Second)
		w.want(r, rewards.Failed)
	})
}
