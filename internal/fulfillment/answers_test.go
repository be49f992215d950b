package fulfillment_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// Each refusal for good of the only attempt fails the reward with its code.
func TestRefusalsForGoodFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status        int
		message, code string
	}{
		"not fractionable":     {403, `asset \"AAPL\" is not fractionable`, "asset_not_fractionable"},
		"422 not fractionable": {422, `asset \"AAPL\" is not fractionable`, "asset_not_fractionable"},
		"not tradable":         {422, `asset \"AAPL\" is not tradable`, "asset_not_tradable"},
		"not found":            {422, `asset \"AAPL\" not found`, "asset_not_found"},
		"too small":            {422, `notional amount must be >= 1.00`, "notional_too_small"},
		"too many decimals":    {422, `notional value must be limited to 2 decimal places`, "order_refused"},
		"no day order":         {422, `fractional orders must be DAY orders`, "order_refused"},
		"another message":      {400, `the moon is full`, "order_refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.wire.fault = once(isSubmit, says(test.status, `{"code":42210000,"message":"`+test.message+`"}`))
				r := w.give("AAPL", 5_000_000)
				w.run(5 * time.Minute)
				if got := w.want(r, rewards.Failed); !strings.HasPrefix(got.FailureReason, test.code+": ") {
					t.Errorf("failure reason %q", got.FailureReason)
				}
				if n := len(w.orders()); n != 0 {
					t.Errorf("%d orders, want none", n)
				}
			})
		})
	}
}

// No other status of 4xx proves anything, whatever its words: here the broker has
// the order.
func TestStatusesThatProveNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"402", "405", "407", "408", "409", "410", "413", "425", "500", "503", "504"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, err := strconv.Atoi(name)
			if err != nil {
				t.Fatal(err)
			}
			inWorld(t, func(t *testing.T, w *world) {
				w.wire.fault = once(isSubmit, func(r *http.Request, carry carrier) (*http.Response, error) {
					if _, err := carry(); err != nil {
						return nil, err
					}
					return answerWith(r, status, `{"code":42210000,"message":"asset \"AAPL\" is not tradable"}`), nil
				})
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

// isLook tells whether a request asks how orders stand.
func isLook(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v2/orders")
}

// The answer to a submit is taken at its word: when it says filled, it is booked.
func TestTheAnswerToASubmitIsEnough(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.run(2 * time.Second)
		w.failing(isLook)
		w.tell(map[string]any{"status": "filled", "filled_qty": "0.025", "filled_avg_price": "200"})
		r := w.give("AAPL", 5_000_000)
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
	})
}

// What the list shows needs no look-up.
func TestTheListIsEnough(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.failing(func(r *http.Request) bool { return isLook(r) && r.URL.Path != "/v2/orders" })
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		w.witness()
	})
}

// A list that fails is not an empty list: what it does not show is not missing.
func TestAListThatFailsTeachesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "new", "filled_qty": "0", "filled_avg_price": nil})
		r := w.give("AAPL", 5_000_000)
		w.run(3 * time.Second)
		hidden := hide(says(404, `{"code":40410000,"message":"order not found"}`))
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if r.Method == http.MethodGet && r.URL.Path == "/v2/orders" {
				return answerWith(r, 503, ``), nil
			}
			return hidden(r, carry)
		}
		w.run(time.Minute)
		time.Sleep(26 * time.Hour)
		w.run(time.Minute)
		if o := w.live()[0]; o.State != rewards.OrderOpen || !w.alarmed("broker_orders_unknown") {
			t.Errorf("order %+v, alarm %t", o, w.alarmed("broker_orders_unknown"))
		}
		w.wire.fault, w.wire.rewrite = nil, nil
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		w.witness()
	})
}

// limited is the broker over a rate limit that a test sets.
type limited struct {
	fulfillment.Broker
	full, late *bool // it has no room; a submit learns so only when it is too late
}

func (l limited) Ready() bool { return !*l.full && l.Broker.Ready() }

func (l limited) Submit(ctx context.Context, r rewards.OrderRequest) (rewards.BrokerOrder, error) {
	if *l.late {
		return rewards.BrokerOrder{}, &rewards.BrokerError{Kind: rewards.BrokerWait, Code: rewards.NotSent}
	}
	return l.Broker.Submit(ctx, r)
}

func (w *world) limit() (full, late *bool) {
	full, late = new(bool), new(bool)
	w.restart(nil, func(b fulfillment.Broker) fulfillment.Broker { return limited{b, full, late} })
	return full, late
}

func TestNothingIsPlannedWithoutRoomInTheRateLimit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		full, _ := w.limit()
		*full = true
		r := w.give("AAPL", 5_000_000)
		w.run(time.Minute)
		w.want(r, rewards.Recorded)
		*full = false
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
	})
}

// A submit that never left the process says nothing about the order: no alarm, and
// the next answer is as good as that to the first attempt.
func TestASubmitThatNeverLeft(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		_, late := w.limit()
		*late = true
		bought, halted := w.give("AAPL", 5_000_000), w.give("HALT", 5_000_000)
		w.run(10 * time.Second)
		w.want(bought, rewards.Executing)
		if w.alarmed("order_waits:") {
			t.Error("an alarm stands")
		}
		*late = false
		w.run(time.Minute)
		w.want(bought, rewards.Executed)
		w.want(halted, rewards.Failed)
		w.witness()
	})
}
