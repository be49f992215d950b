package fulfillment_test

import (
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// belongs binds the books to the brokerage's account.
func (w *world) belongs() {
	w.t.Helper()
	account, err := w.client.Account(w.t.Context())
	w.check(err)
	w.check(w.store.PinBroker(w.t.Context(), "paper", account))
}

func ofAccount(r *http.Request) bool { return r.URL.Path == "/v2/account" }

// switches lets the broker answer as for another account: it has none of our orders.
// Unless on is set, everything is as it was.
func (w *world) switches() (on *bool, submits *int) {
	on, submits = new(bool), new(int)
	*on = true
	w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
		switch {
		case !*on || r.URL.Path == "/v2/clock" || ofPrices(r):
			return carry()
		case ofAccount(r):
			return answerWith(r, 200, `{"id":"another","status":"ACTIVE","buying_power":"1000"}`), nil
		case isSubmit(r):
			*submits++
			return nil, errCut
		case r.URL.Path == "/v2/orders":
			return answerWith(r, 200, `[]`), nil
		}
		return answerWith(r, 404, `{"code":40410000,"message":"order not found"}`), nil
	}
	return on, submits
}

// Within a minute of the account becoming another one nothing is sent any more, nothing is
// looked for in it, with an alarm; the return of the right one resumes all.
func TestAnotherAccountWhileRunningStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.belongs()
		first := w.give("AAPL", 5_000_000)
		w.tell(map[string]any{"status": "new", "filled_qty": "0", "filled_avg_price": nil})
		w.run(5 * time.Second)
		w.want(first, rewards.Executing)
		on, submits := w.switches()
		w.run(time.Minute)
		if !w.alarmed("broker_account_differs") {
			t.Fatal("no alarm after a minute")
		}
		*submits = 0
		second := w.give("KO", 5_000_000)
		w.run(30 * time.Hour) // over the close: the order that is not found is not put aside
		w.want(second, rewards.Recorded)
		if o := w.live(); len(o) != 1 || o[0].State != rewards.OrderOpen || *submits != 0 {
			t.Errorf("%d orders were sent to another account; ours: %+v", *submits, o)
		}
		*on, w.wire.rewrite = false, nil
		w.run(15 * time.Second)
		w.want(first, rewards.Executed)
		w.want(second, rewards.Executed)
		if w.alarmed("broker_account") {
			t.Error("the alarm is still there")
		}
		w.witness()
	})
}

// A broker that does not report its account stops ordering after a minute, not before.
func TestAnAccountThatIsNotReportedStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.belongs()
		w.run(5 * time.Second)
		w.check(w.store.SetPaused(t.Context(), "looking"))
		silent := w.failing(ofAccount)
		w.run(45 * time.Second)
		if w.alarmed("broker_account") {
			t.Error("an alarm before a minute is over")
		}
		w.run(30 * time.Second)
		if !w.alarmed("broker_account_unknown") || !w.alarmed("ordering_paused") {
			t.Error("want the alarm of the account, beside that of the pause")
		}
		w.check(w.store.SetPaused(t.Context(), ""))
		r := w.give("AAPL", 5_000_000)
		w.run(time.Hour)
		w.want(r, rewards.Recorded)
		*silent = false
		w.run(15 * time.Second)
		w.want(r, rewards.Executed)
		if w.alarmed("broker_account") {
			t.Error("the alarm is still there")
		}
	})
}

// A process that begins to lead compares the account before it orders anything, whatever
// it knew from before.
func TestANewLeaderComparesTheAccountFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.belongs()
		w.run(5 * time.Second)
		_, submits := w.switches()
		other, err := store.New(t.Context(), w.engine, time.Now, w.random)
		w.check(err)
		lease, err := other.TakeLease(t.Context(), "another process", time.Second, true)
		w.check(err)
		w.check(other.DropLease(t.Context(), lease))
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Recorded)
		if *submits != 0 {
			t.Errorf("%d orders were sent to another account", *submits)
		}
	})
}
