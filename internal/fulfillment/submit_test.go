package fulfillment_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// A send with an unknown outcome ends with one order and an executed reward. Package alpaca tests
// which answers leave the outcome unknown.
func TestUnknownOutcomesEndInOneOrder(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]fault{
		"lost request":       loseRequest,
		"lost answer":        loseAnswer,
		"500 with the order": takesBut(500, `{"message":"asset \"AAPL\" is not tradable"}`),
		"200 with HTML":      takesBut(200, `<html>proxy</html>`),
		"422 duplicate":      duplicate,
	}, func(w *world, f fault) {
		w.wire.fault = sends(f)
		w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Executed)
		w.wantBalanced(1)
	})
}

// The answer to a send is believed: when it says filled, it is booked.
func TestTheAnswerToASubmitIsEnough(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.run(2 * time.Second)
		w.faulty(func(r *http.Request) bool { return isList(r) || isLookUp(r) }, down)
		w.reports(reported("filled", "0.025"))
		w.buy()
	})
}

// A refusal fails the reward when no earlier attempt may have reached the broker: the first
// attempt, or one after answers to wait.
func TestRefusedForGoodFails(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string][]fault{"at once": nil, "after waits": {insufficient, insufficient}}, func(w *world, before []fault) {
		w.wire.fault = sends(before...)
		r := w.give("HALT", 5*usd)
		w.run(10 * time.Second)
		w.wantFailed(r, "asset_not_tradable")
		w.wantOrders(0)
	})
}

// A refusal proves nothing after a send with an unknown outcome, also when the broker says to wait
// in between: the order waits until the close, then for an operator.
func TestRefusedAfterAnUnknownAttemptIsNoProof(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string][]fault{
		"first": {loseRequest}, "after a wait": {insufficient, loseRequest}, "before a wait": {loseRequest, insufficient},
	}, func(w *world, faults []fault) {
		w.wire.fault = sends(faults...)
		r := w.wantAfter(20*time.Second, w.give("HALT", 5*usd), rewards.Executing)
		w.wantAlarm(rewards.AlarmOrderWaits, true)
		time.Sleep(26 * time.Hour) // over the close
		w.wantAfter(5*time.Second, r, rewards.Executing)
		w.resolve(w.quarantined(), rewards.Resolution{})
		w.run(5 * time.Second)
		w.wantFailed(r, "asset_not_tradable") // by the first attempt of the next order
	})
}

// A refusal that an operator ends makes the order wait, with an alarm. Package alpaca tests which
// answers say so.
func TestAnswersToWait(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]fault{"forbidden": forbidden, "missing funds": insufficient}, func(w *world, f fault) {
		off := w.faulty(isSubmit, f)
		r := w.give("AAPL", 5*usd)
		w.run(10 * time.Second)
		time.Sleep(28 * time.Hour) // over a close
		w.wantAfter(5*time.Second, r, rewards.Executing)
		w.wantAlarm(rewards.AlarmOrderWaits, true)
		off()
		time.Sleep(time.Minute)
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.wantAlarm("", false)
		w.wantBalance()
	})
}

// An order that the broker refuses in three sessions is quarantined, unless funds or credentials
// end the refusal.
func TestRefusedSessionAfterSessionIsQuarantined(t *testing.T) {
	t.Parallel()
	type variant struct {
		answer      fault
		quarantined bool
	}
	inWorlds(t, map[string]variant{"forbidden": {forbidden, true}, "missing funds": {insufficient, false}}, func(w *world, test variant) {
		off := w.faulty(isSubmit, test.answer)
		r := w.give("AAPL", 5*usd)
		for range 3 {
			w.run(6 * time.Second)
			if o := w.live()[0]; o.State != rewards.OrderSubmitted {
				w.t.Fatalf("the order is %s before three sessions are over: %s", o.State, o.Reason)
			}
			time.Sleep(24 * time.Hour)
		}
		w.wantAfter(3*time.Second, r, rewards.Executing)
		w.wantAlarm(rewards.AlarmOrderQuarantined, test.quarantined)
		off()
		if test.quarantined {
			w.resolve(w.quarantined(), rewards.Resolution{})
		}
		time.Sleep(time.Minute)
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.wantBalance()
	})
}

// An operator ends an order that was refused each time, without a quarantine.
func TestAnOrderThatIsAlwaysRefusedIsResolved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		off := w.faulty(isSubmit, forbidden)
		r := w.give("AAPL", 5*usd)
		w.run(10 * time.Second)
		refused := w.live()[0]
		bought := rewards.Resolution{FilledQty: 25_000_000, Price: 200_000_000_000, Reason: "no"}
		if err := w.store.ResolveOrder(w.t.Context(), refused.ID, bought); rewards.CodeOf(err) != rewards.CodeConflict {
			w.t.Errorf("a fill of an order that was refused: %v", err)
		}
		w.resolve(refused, rewards.Resolution{})
		off()
		w.wantAfter(10*time.Second, r, rewards.Executed)
		if list := w.orders(); len(list) != 1 || list[0].ClientOrderID == refused.ClientOrderID {
			w.t.Errorf("orders %+v, want one other than the resolved one", list)
		}
		w.wantBalance()
	})
}

// While an outcome is unknown nobody may say that nothing was bought: here the order arrives later.
func TestAnAmbiguousOrderIsNotResolved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		resolve := func(when string) {
			err := w.store.ResolveOrder(w.t.Context(), w.live()[0].ID, rewards.Resolution{Reason: "too early"})
			if rewards.CodeOf(err) != rewards.CodeConflict || !strings.Contains(err.Error(), "outcome of an attempt") {
				w.t.Errorf("%s: %v", when, err)
			}
		}
		w.wire.fault = sends(func(r *http.Request, carry carrier) (*http.Response, error) {
			resolve("while the first attempt is under way")
			return loseRequest(r, carry)
		}, forbidden)
		r := w.give("AAPL", 5*usd)
		w.run(2 * time.Second)
		resolve("after a lost request")
		w.run(2 * time.Second)
		resolve("after a lost request and a refusal")
		w.wantAfter(10*time.Second, r, rewards.Executed)
		w.wantBalance()
	})
}

// A send that never left the process raises no alarm, and the next answer counts as the first.
func TestASubmitThatNeverLeft(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		limit := w.limit()
		limit.late = true
		bought, halted := w.give("AAPL", 5*usd), w.give("HALT", 5*usd)
		w.wantAfter(5*time.Second, bought, rewards.Executing)
		w.wantAlarm("", false)
		limit.late = false
		w.wantAfter(10*time.Second, bought, rewards.Executed)
		w.want(halted, rewards.Failed)
		w.wantBalance()
	})
}

// The broker has an order with our id that is not ours: it is not merged.
func TestADuplicateThatIsAnotherOrderIsQuarantined(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wire.fault = sends(duplicate)
		w.reports(order{"notional": "77"})
		w.wantAfter(5*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		w.quarantined()
	})
}

// A brake keeps an order with an unknown outcome from being sent again; it is still looked up.
func TestPausedWhileAnOrdersFateIsUnknown(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wire.fault = sends(loseRequest)
		r := w.give("AAPL", 5*usd)
		w.run(1100 * time.Millisecond)
		w.pause("drill")
		w.wantAfter(10*time.Second, r, rewards.Executing)
		w.wantOrders(0)
		w.pause("")
		w.wantAfter(10*time.Second, r, rewards.Executed)
		w.wantBalance()
	})
}

// A reward of which an earlier order bought a part cannot fail: an operator decides. The others of its order do.
func TestRejectedAfterAPartWasBoughtIsQuarantined(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]func(w *world){
		"rejected": func(w *world) {
			w.wire.rewrite = func(o map[string]any) {
				if o["notional"] != "4" {
					maps.Copy(o, order{"status": "rejected", "filled_qty": "0", "filled_avg_price": nil})
				}
			}
		},
		"refused": func(w *world) {
			w.faulty(isSubmit, says(422, `{"code":42210000,"message":"asset \"AAPL\" is not tradable"}`))
		},
	}, func(w *world, later func(w *world)) {
		w.reports(reported("canceled", "0.015"))
		r := w.give("AAPL", 4*usd)
		w.run(3 * time.Second)
		w.pause("until the broker answers otherwise")
		time.Sleep(rewards.TerminalWait)
		w.run(3 * time.Second)
		later(w)
		other := w.give("AAPL", 2*usd)
		w.pause("")
		for range 2 { // for both, then for the part alone
			w.run(3 * time.Second)
			time.Sleep(rewards.TerminalWait)
		}
		if got := w.wantAfter(3*time.Second, r, rewards.Executing); got.Booked != 3*money.Dollar {
			w.t.Errorf("%s booked", got.Booked)
		}
		w.want(other, rewards.Failed)
		bought := rewards.Resolution{FilledQty: 1, Price: money.Price(money.Share)}
		if o := w.quarantined(); o.BrokerID == "" { // refused
			if _, err := o.Resolve(bought); rewards.CodeOf(err) != rewards.CodeConflict {
				w.t.Errorf("shares of an order that was refused: %v, want a conflict", err)
			}
		}
	})
}

// A broker that is slow beyond the lease does not make a refusal ambiguous.
func TestASlowStepDoesNotUseUpAttempts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		slow := false
		w.faulty(ofPrices, func(_ *http.Request, carry carrier) (*http.Response, error) {
			if !slow {
				slow = true
				time.Sleep(9 * time.Second)
			}
			return carry()
		})
		w.wantAfter(20*time.Second, w.give("HALT", 5*usd), rewards.Failed)
	}, func(w *world) { w.cfg.LeaseTTL = 5 * time.Second })
}

// slowPlans is a store that takes long to plan an order.
type slowPlans struct{ *store.Operator }

func (s slowPlans) PlanOrder(
	ctx context.Context, l rewards.Lease, r rewards.PlanRequest,
) (rewards.Order, rewards.Hold, error) {
	time.Sleep(3 * time.Second)
	return s.Operator.PlanOrder(ctx, l, r)
}

// A step that plans for long leaves the other stocks to the next one, which first books what was filled.
func TestSlowPlansDoNotDelayWhatIsFilled(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		first, second, third := w.give("AAPL", 5*usd), w.give("KO", 5*usd), w.give("HALT", 5*usd)
		w.restartWith(slowPlans{w.store}, newClient(w.wire))
		time.Sleep(2 * time.Second)
		w.worker.Step(w.t.Context())
		w.wantAll(rewards.Recorded, second, third)
		w.worker.Step(w.t.Context())
		w.want(second, rewards.Executing)
		w.worker.Step(w.t.Context())
		w.want(first, rewards.Executed)
		if r := w.reward(third); r.Status == rewards.Recorded {
			t.Error("the third stock has no order")
		}
	})
}

// A step that finds for long that pools must wait books meanwhile what was filled, and looks at every pool.
func TestSlowHoldsDoNotDelayWhatIsFilled(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		first := w.give("AAPL", 5*usd)
		time.Sleep(2 * time.Second)
		w.worker.Step(w.t.Context())
		w.want(first, rewards.Executing)
		w.restartWith(slowPlans{w.store}, newClient(w.wire))
		pools := []rewards.Reward{w.give("KO", usd/2), w.give("HALT", usd/2)}
		w.worker.Step(w.t.Context())
		w.wantAll(rewards.Recorded, pools...)
		w.want(first, rewards.Executed)
	}, func(w *world) { w.cfg.SmallPoolWait, w.cfg.Window = time.Hour, 0 })
}
