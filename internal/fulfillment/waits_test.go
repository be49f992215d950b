package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// script answers the n-th submit as the n-th fault says; later ones are carried.
func script(faults ...func(*http.Request, carrier) (*http.Response, error)) func(*http.Request, carrier) (*http.Response, error) {
	n := 0
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		if !isSubmit(r) || n >= len(faults) {
			return carry()
		}
		n++
		return faults[n-1](r, carry)
	}
}

func says(code int, body string) func(*http.Request, carrier) (*http.Response, error) {
	return func(r *http.Request, _ carrier) (*http.Response, error) { return answerWith(r, code, body), nil }
}

// insufficient is the answer of a broker when the account lacks the funds.
func insufficient(r *http.Request, _ carrier) (*http.Response, error) {
	return answerWith(r, 403, `{"code":40310000,"message":"insufficient buying power"}`), nil
}

// A refusal proves that nothing was bought when every attempt before was refused too.
func TestRefusedAfterAWaitFails(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.wire.fault = script(insufficient, insufficient)
		r := w.give("HALT", 5_000_000)
		w.run(time.Minute)
		if got := w.want(r, rewards.Failed); !strings.HasPrefix(got.FailureReason, "asset_not_tradable: ") {
			w.t.Errorf("failure reason %q", got.FailureReason)
		}
	})
}

// An unknown outcome after a wait is as unknown as any: quarantined after the close.
func TestUnknownAfterAWaitIsQuarantinedAfterTheClose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.wire.fault = script(insufficient, loseRequest, insufficient)
		r := w.give("HALT", 5_000_000)
		w.run(time.Minute)
		w.want(r, rewards.Executing)
		time.Sleep(26 * time.Hour)
		w.run(10 * time.Second)
		w.want(r, rewards.Executing)
		w.quarantined()
	})
}

// Answers to a submit that an operator mends: the order waits, an alarm stands,
// nothing fails.
func TestAnswersThatAnOperatorMends(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*http.Request, carrier) (*http.Response, error){
		"wrong credentials": says(401, `{"message":"unauthorized"}`),
		"forbidden":         says(403, `{"message":"forbidden."}`),
		"blocked account":   says(403, `{"code":40310000,"message":"account is restricted from trading"}`),
		"wrong address":     says(404, `{"message":"endpoint not found"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(_ *testing.T, w *world) {
				mended := false
				w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
					if isSubmit(r) && !mended {
						return fault(r, carry)
					}
					return carry()
				}
				r := w.give("AAPL", 5_000_000)
				w.run(4 * time.Minute)
				w.want(r, rewards.Executing)
				if !w.alarmed("order_waits:") {
					w.t.Error("no alarm stands")
				}
				mended = true
				w.run(2 * time.Minute)
				w.want(r, rewards.Executed)
				w.witness()
			})
		})
	}
}

// The broker has an order of our id that is not ours: never adopted.
func TestADuplicateThatIsAnotherOrderIsQuarantined(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.wire.fault = once(isSubmit, func(r *http.Request, carry carrier) (*http.Response, error) {
			if _, err := carry(); err != nil {
				return nil, err
			}
			return answerWith(r, 422, `{"code":40010001,"message":"client_order_id must be unique"}`), nil
		})
		w.tell(map[string]any{"notional": "77"})
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.want(r, rewards.Executing)
		w.quarantined()
	})
}

// hide makes the order list empty, and look-ups answer as given.
func hide(lookUp func(*http.Request, carrier) (*http.Response, error)) func(*http.Request, carrier) (*http.Response, error) {
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/v2/orders":
			return answerWith(r, 200, `[]`), nil
		case strings.HasPrefix(r.URL.Path, "/v2/orders:by_client_order_id"):
			return lookUp(r, carry)
		}
		return carry()
	}
}

func TestTheLookUpFindsWhatTheListMisses(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.wire.fault = hide(func(_ *http.Request, carry carrier) (*http.Response, error) { return carry() })
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		w.witness()
	})
}

func TestAnOpenOrderThatVanishesIsQuarantinedAfterTheClose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.wire.fault = hide(says(404, `{"code":40410000,"message":"order not found"}`))
		r := w.give("AAPL", 5_000_000)
		w.run(time.Minute)
		w.want(r, rewards.Executing)
		if !w.alarmed("order_waits:") {
			w.t.Error("no alarm stands")
		}
		time.Sleep(26 * time.Hour)
		w.run(10 * time.Second)
		w.quarantined()
		w.want(r, rewards.Executing)
	})
}

func TestLookUpsThatFailAreRepeated(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		end := time.Now().Add(2 * time.Minute)
		lost := once(isSubmit, loseAnswer)
		hidden := hide(says(500, ``))
		submits := 0
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if isSubmit(r) {
				submits++
				return lost(r, carry)
			}
			if time.Now().Before(end) {
				return hidden(r, carry)
			}
			return carry()
		}
		r := w.give("AAPL", 5_000_000)
		w.run(90 * time.Second)
		w.want(r, rewards.Executing)
		w.run(2 * time.Minute)
		w.want(r, rewards.Executed)
		if n := len(w.orders()); n != 1 {
			w.t.Errorf("%d orders, want one", n)
		}
		if submits != 1 {
			w.t.Errorf("it was sent %d times without being looked up", submits)
		}
	})
}
