package fulfillment_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

type carrier = func() (*http.Response, error)

// once applies a fault to the first request that matches.
func once(match func(*http.Request) bool, fault func(*http.Request, carrier) (*http.Response, error)) func(*http.Request, carrier) (*http.Response, error) {
	done := false
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		if done || !match(r) {
			return carry()
		}
		done = true
		return fault(r, carry)
	}
}

func loseRequest(*http.Request, carrier) (*http.Response, error) { return nil, errCut }

func loseAnswer(_ *http.Request, carry carrier) (*http.Response, error) {
	_, err := carry()
	return nil, errors.Join(err, errCut)
}

// Each fault of a submit whose outcome is unknown ends with one order and the
// reward executed.
func TestUnknownOutcomesEndInOneOrder(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(*http.Request, carrier) (*http.Response, error) {
		return func(r *http.Request, _ carrier) (*http.Response, error) { return answerWith(r, code, body), nil }
	}
	acceptedBut := func(code int, body string) func(*http.Request, carrier) (*http.Response, error) {
		return func(r *http.Request, carry carrier) (*http.Response, error) {
			if _, err := carry(); err != nil {
				return nil, err
			}
			return answerWith(r, code, body), nil
		}
	}
	for name, fault := range map[string]func(*http.Request, carrier) (*http.Response, error){
		"lost request":               loseRequest,
		"lost answer":                loseAnswer,
		"500 without the order":      status(500, `{"message":"oops"}`),
		"500 with the order":         acceptedBut(500, `{"message":"oops"}`),
		"429 with the order":         acceptedBut(429, `{"code":42910000,"message":"rate limit exceeded"}`),
		"200 with an empty body":     acceptedBut(200, ``),
		"200 with HTML":              acceptedBut(200, `<html>proxy</html>`),
		"200 with a truncated order": acceptedBut(200, `{"id":"x","client_or`),
		"HTML 403 of a proxy":        status(403, `<html>blocked</html>`),
		"422 duplicate": func(r *http.Request, carry carrier) (*http.Response, error) {
			if _, err := carry(); err != nil {
				return nil, err
			}
			return answerWith(r, 422, `{"code":40010001,"message":"client_order_id must be unique"}`), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.wire.fault = once(isSubmit, fault)
				r := w.give("AAPL", 5_000_000)
				w.run(2 * time.Minute)
				w.want(r, rewards.Executed)
				if n := len(w.orders()); n != 1 {
					t.Errorf("%d orders, want one", n)
				}
				w.witness()
			})
		})
	}
}

// The brokerage takes the order, tells nothing, and shows it hours later.
func TestLateVisibility(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		visible := time.Now().Add(4 * time.Hour)
		lost := once(isSubmit, loseAnswer)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			switch {
			case isSubmit(r) || time.Now().After(visible) || !strings.HasPrefix(r.URL.Path, "/v2/orders"):
				return lost(r, carry)
			case r.URL.Path == "/v2/orders":
				return answerWith(r, 200, `[]`), nil
			default:
				return answerWith(r, 404, `{"code":40410000,"message":"order not found"}`), nil
			}
		}
		r := w.give("AAPL", 5_000_000)
		w.run(time.Hour)
		w.want(r, rewards.Executing)
		w.run(4 * time.Hour)
		w.want(r, rewards.Executed)
		if n := len(w.orders()); n != 1 {
			t.Errorf("%d orders, want one", n)
		}
		w.witness()
	})
}

func TestAnOutageOfHoursIsWaitedOut(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		before := w.give("AAPL", 5_000_000)
		w.run(1100 * time.Millisecond) // the order is on its way
		end := time.Now().Add(4 * time.Hour)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if time.Now().Before(end) {
				return answerWith(r, 503, `<html>down</html>`), nil
			}
			return carry()
		}
		during := w.give("AAPL", 7_000_000)
		w.run(4 * time.Hour)
		w.want(during, rewards.Recorded)
		w.run(5 * time.Minute)
		w.want(before, rewards.Executed)
		w.want(during, rewards.Executed)
		w.witness()
	})
}

func TestRefusedForGoodFails(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("HALT", 5_000_000)
		w.run(3 * time.Second)
		got := w.want(r, rewards.Failed)
		if !strings.HasPrefix(got.FailureReason, "asset_not_tradable: ") {
			t.Errorf("failure reason %q", got.FailureReason)
		}
		w.witness()
	})
}

// Only the answer to the one attempt ever sent is proof that nothing was bought.
func TestRefusedAfterAnUnknownAttemptIsNoProof(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.wire.fault = once(isSubmit, loseRequest)
		r := w.give("HALT", 5_000_000)
		w.run(time.Hour)
		w.want(r, rewards.Executing)
		if !w.alarmed("order_waits:") {
			t.Error("no alarm stands")
		}
		time.Sleep(26 * time.Hour) // over the close
		w.run(10 * time.Second)
		w.want(r, rewards.Executing)
		o := w.quarantined()
		w.check(w.store.ResolveOrder(t.Context(), o.ID, rewards.Resolution{Reason: "the broker's statement"}))
		w.run(5 * time.Second)
		// Its reward goes into another order, whose first attempt is refused for good.
		if got := w.want(r, rewards.Failed); !strings.HasPrefix(got.FailureReason, "asset_not_tradable: ") {
			t.Errorf("failure reason %q", got.FailureReason)
		}
	})
}

func TestMissingFundsWait(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		funded := time.Now().Add(30 * time.Hour)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if isSubmit(r) && time.Now().Before(funded) {
				return answerWith(r, 403, `{"code":40310000,"message":"insufficient buying power","buying_power":"0","cost_basis":"5"}`), nil
			}
			return carry()
		}
		r := w.give("AAPL", 5_000_000)
		w.run(time.Hour)
		time.Sleep(28 * time.Hour) // over a close
		w.run(time.Minute)
		w.want(r, rewards.Executing)
		if !w.alarmed("order_waits:") {
			t.Error("no alarm stands")
		}
		w.run(2 * time.Hour)
		w.want(r, rewards.Executed)
		if w.alarmed("order_waits:") {
			t.Error("the alarm still stands")
		}
		w.witness()
	})
}

// tell makes the brokerage's next order look as given from now on.
func (w *world) tell(members map[string]any) {
	if w.told == nil {
		w.told = new(any)
	}
	w.wire.rewrite = func(order map[string]any) {
		if id := order["client_order_id"]; *w.told == nil {
			*w.told = id
		} else if id != *w.told {
			return
		}
		for name, value := range members {
			order[name] = value
		}
	}
}

func TestRejectedLaterFailsWhenReadTwice(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "rejected", "filled_qty": "0", "filled_avg_price": nil, "filled_at": nil})
		r := w.give("AAPL", 5_000_000)
		w.run(20 * time.Second)
		w.want(r, rewards.Executing)
		w.run(20 * time.Second)
		got := w.want(r, rewards.Failed)
		if !strings.HasPrefix(got.FailureReason, "order_rejected: ") {
			t.Errorf("failure reason %q", got.FailureReason)
		}
	})
}

func TestPartlyFilledThenCanceledCarriesTheRest(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"canceled", "expired", "rejected"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.tell(map[string]any{"status": status, "filled_qty": "0.015", "filled_avg_price": "200", "filled_at": nil})
				first, second := w.give("AAPL", 2_000_000), w.give("AAPL", 2_000_000)
				w.run(5 * time.Second)
				w.check(w.store.SetPaused(t.Context(), "to look at it"))
				w.run(30 * time.Second)
				w.want(first, rewards.Executed)
				if got := w.want(second, rewards.Executing); got.Booked != 1_000_000 {
					t.Errorf("%s booked, want half", got.Booked)
				}
				w.check(w.store.SetPaused(t.Context(), ""))
				w.run(5 * time.Second)
				w.want(second, rewards.Executed)
				if list := w.orders(); len(list) != 2 || list[1].Notional != 1_000_000 {
					t.Errorf("orders %+v, want the rest in a second one", list)
				}
			})
		})
	}
}

func TestNothingFilledWaitsForTheNextOrder(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"canceled", "expired"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(_ *testing.T, w *world) {
				w.tell(map[string]any{"status": status, "filled_qty": "0", "filled_avg_price": nil})
				r := w.give("AAPL", 2_000_000)
				w.run(20 * time.Second)
				w.want(r, rewards.Executing)
				w.run(15 * time.Second)
				w.wire.rewrite = nil
				w.run(10 * time.Second)
				w.want(r, rewards.Executed)
				if n := len(w.orders()); n != 2 {
					w.t.Errorf("%d orders, want another one", n)
				}
			})
		})
	}
}

// Every contradiction quarantines the order and stops its asset, others go on; an
// operator's decision sets it free.
func TestContradictionsQuarantine(t *testing.T) {
	t.Parallel()
	for name, members := range map[string]map[string]any{
		"another symbol":     {"symbol": "KO"},
		"another side":       {"side": "sell"},
		"another notional":   {"notional": "500"},
		"an unknown status":  {"status": "exploded"},
		"replaced":           {"status": "replaced"},
		"a price of zero":    {"status": "filled", "filled_qty": "1", "filled_avg_price": "0"},
		"a negative price":   {"status": "filled", "filled_qty": "1", "filled_avg_price": "-5"},
		"too dear a fill":    {"status": "filled", "filled_qty": "1", "filled_avg_price": "200"},
		"ten decimals":       {"status": "canceled", "filled_qty": "0.0250000001", "filled_avg_price": "200"},
		"an overflow":        {"status": "canceled", "filled_qty": "99999999999", "filled_avg_price": "0.00000001"},
		"a negative number":  {"status": "canceled", "filled_qty": "-1"},
		"a time of no sense": {"filled_at": "yesterday"},
		"filled without any": {"status": "filled", "filled_qty": "0", "filled_avg_price": "200"},
		"filled for little":  {"status": "filled", "filled_qty": "0.00002193", "filled_avg_price": "228"},
		"too cheap a fill":   {"status": "canceled", "filled_qty": "0.02193", "filled_avg_price": "0.01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.tell(members)
				r := w.give("AAPL", 5_000_000)
				w.run(5 * time.Second)
				w.want(r, rewards.Executing)
				o := w.quarantined()
				if !w.alarmed("order_quarantined:" + o.ID.String()) {
					t.Error("no alarm stands")
				}
				w.wire.rewrite = nil
				stopped, other := w.give("AAPL", 5_000_000), w.give("KO", 5_000_000)
				w.run(10 * time.Minute)
				w.want(stopped, rewards.Recorded)
				w.want(other, rewards.Executed)
				truth := w.orders()[0]
				w.check(w.store.ResolveOrder(t.Context(), o.ID, rewards.Resolution{
					FilledQty: truth.FilledQty, Price: truth.FilledAvgPrice, Reason: "the broker's statement",
				}))
				w.run(2 * time.Minute)
				w.want(r, rewards.Executed)
				w.want(stopped, rewards.Executed)
				w.witness()
			})
		})
	}
}

func TestAFillThatShrinks(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "partially_filled", "filled_qty": "0.02", "filled_avg_price": "200"})
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.tell(map[string]any{"status": "partially_filled", "filled_qty": "0.01", "filled_avg_price": "200"})
		w.run(5 * time.Second)
		if got := w.live()[0]; got.State != rewards.OrderOpen || got.FilledQty != 20_000_000 {
			t.Errorf("got %+v, want the last good reading kept", got)
		}
		w.tell(map[string]any{"status": "canceled", "filled_qty": "0.01", "filled_avg_price": "200"})
		w.run(5 * time.Second)
		w.quarantined()
		w.want(r, rewards.Executing)
	})
}

// An order with our prefix that our books do not know stops all ordering: the
// books may be an old backup.
func TestAStrangersOrderStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		_, err := w.client.Submit(t.Context(), rewards.OrderRequest{ClientOrderID: "sr-test-lost", Symbol: "AAPL", Notional: 5_000_000})
		w.check(err)
		_, err = w.client.Submit(t.Context(), rewards.OrderRequest{ClientOrderID: "other-system", Symbol: "AAPL", Notional: 5_000_000})
		w.check(err)
		r := w.give("AAPL", 5_000_000)
		w.run(time.Hour)
		w.want(r, rewards.Recorded)
		if !w.alarmed("broker_conflict") {
			t.Error("no alarm stands")
		}
		conflicts, err := w.store.Conflicts(t.Context())
		w.check(err)
		if len(conflicts) != 1 || conflicts[0].ClientOrderID != "sr-test-lost" {
			t.Fatalf("conflicts %+v", conflicts)
		}
		w.check(w.store.AcknowledgeConflict(t.Context(), "sr-test-lost", "a drill"))
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
	})
}

func TestAnOrderThatGrowsAfterItWasBookedStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "canceled", "filled_qty": "0", "filled_avg_price": nil})
		r := w.give("AAPL", 2_000_000)
		w.run(32 * time.Second)
		w.wire.rewrite = nil
		w.run(2 * time.Hour)
		w.want(r, rewards.Executed) // by the second order; the first is found out within the hour
		control, err := w.store.Control(t.Context())
		w.check(err)
		if control.Conflicts != 1 {
			t.Errorf("control %+v, want ordering stopped", control)
		}
	})
}
