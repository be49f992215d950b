package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// refusing answers each submit alike until it is switched off.
func (w *world) refusing(code int, body string) (on *bool) {
	on = new(bool)
	*on = true
	answer := says(code, body)
	w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
		if *on && isSubmit(r) {
			return answer(r, carry)
		}
		return carry()
	}
	return on
}

const (
	forbidden = `{"message":"forbidden."}`
	noFunds   = `{"code":40310000,"message":"insufficient buying power"}`
)

// An order that the broker refuses in three sessions, for a reason that neither funds nor
// credentials end, is quarantined by itself.
func TestRefusedSessionAfterSessionIsQuarantined(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code        int
		body        string
		quarantined bool
	}{
		"forbidden":         {403, forbidden, true},
		"wrong address":     {404, `{"message":"endpoint not found"}`, true},
		"missing funds":     {403, noFunds, false},
		"wrong credentials": {401, `{"message":"unauthorized"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				on := w.refusing(test.code, test.body)
				r := w.give("AAPL", 5_000_000)
				for range 2 {
					w.run(30 * time.Second)
					time.Sleep(24 * time.Hour)
				}
				w.run(30 * time.Second)
				if o := w.live()[0]; o.State != rewards.OrderSubmitted {
					t.Fatalf("the order is %s in the third session: %s", o.State, o.Reason)
				}
				time.Sleep(24 * time.Hour)
				w.run(10 * time.Second)
				w.want(r, rewards.Executing)
				o := w.live()[0]
				if got := o.State == rewards.OrderQuarantined; got != test.quarantined {
					t.Fatalf("the order is %s: %s", o.State, o.Reason)
				}
				if got := w.alarmed("order_quarantined:"); got != test.quarantined {
					t.Errorf("alarmed %t", got)
				}
				*on = false
				if test.quarantined {
					w.check(w.store.ResolveOrder(t.Context(), o.ID, rewards.Resolution{Reason: "asked the broker"}))
				}
				w.run(2 * time.Minute)
				w.want(r, rewards.Executed)
				w.witness()
			})
		})
	}
}

// An operator ends an order that was refused each time, without a quarantine.
func TestAnOrderThatIsAlwaysRefusedIsResolved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		on := w.refusing(403, forbidden)
		r := w.give("AAPL", 5_000_000)
		w.run(time.Minute)
		refused := w.live()[0]
		bought := rewards.Resolution{FilledQty: 25_000_000, Price: 200_000_000_000, Reason: "no"}
		if err := w.store.ResolveOrder(t.Context(), refused.ID, bought); rewards.CodeOf(err) != rewards.CodeConflict {
			t.Errorf("a fill of an order that was refused: %v", err)
		}
		w.check(w.store.ResolveOrder(t.Context(), refused.ID, rewards.Resolution{Reason: "the account is closed"}))
		*on = false
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		if list := w.orders(); len(list) != 1 || list[0].ClientOrderID == refused.ClientOrderID {
			t.Errorf("orders %+v, want one other than that was resolved", list)
		}
		w.witness()
	})
}

// While an outcome is not known nobody may say that nothing was bought: here the order
// arrives later.
func TestAnAmbiguousOrderIsNotResolved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		resolve := func(when string) {
			err := w.store.ResolveOrder(t.Context(), w.live()[0].ID, rewards.Resolution{Reason: "too early"})
			if rewards.CodeOf(err) != rewards.CodeConflict || !strings.Contains(err.Error(), "the outcome of an attempt is not known") {
				t.Errorf("%s: %v", when, err)
			}
		}
		w.wire.fault = script(func(r *http.Request, carry carrier) (*http.Response, error) {
			resolve("while the first attempt is under way")
			return loseRequest(r, carry)
		}, says(403, forbidden))
		r := w.give("AAPL", 5_000_000)
		w.run(2 * time.Second)
		resolve("after a lost request")
		w.run(2 * time.Second)
		resolve("after a lost request and a refusal")
		w.run(time.Minute)
		w.want(r, rewards.Executed)
		w.witness()
	})
}
