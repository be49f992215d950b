package fulfillment_test

import (
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// pins binds the store to the brokerage's account.
func pins(w *world) {
	w.t.Helper()
	account, err := w.client.Account(w.t.Context())
	w.check(err)
	w.check(w.store.PinBroker(w.t.Context(), "paper", account))
}

// switches makes the broker answer for another account, which has none of our orders.
func (w *world) switches() (submits *int) {
	submits = new(int)
	w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
		switch {
		case ofClock(r) || ofPrices(r):
			return carry()
		case ofAccount(r):
			return says(200, `{"id":"another","status":"ACTIVE","buying_power":"1000"}`)(r, nil)
		case isSubmit(r):
			*submits++
			return nil, errCut
		case isList(r):
			return says(200, `[]`)(r, nil)
		}
		return hidden(r, nil)
	}
	return submits
}

// Within a minute of a change to another account nothing is sent or looked up any more, with an
// alarm; the return of the right account resumes all.
func TestAnotherAccountWhileRunningStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		pins(w)
		first := w.give("AAPL", 5*usd)
		w.reports(reported("new", "0"))
		w.wantAfter(5*time.Second, first, rewards.Executing)
		submits := w.switches()
		w.run(time.Minute)
		w.wantAlarm(rewards.AlarmAccountDiffers, true)
		if list, err := w.store.Standstills(w.t.Context()); err != nil || len(list) != 1 || list[0].Cause != rewards.CauseConflict {
			w.t.Errorf("why nothing is ordered: %+v, %v", list, err)
		}
		*submits = 0
		second := w.give("KO", 5*usd)
		w.run(5 * time.Second)
		time.Sleep(30 * time.Hour) // over the close: the order that is not found is not quarantined
		w.wantAfter(5*time.Second, second, rewards.Recorded)
		if o := w.live(); len(o) != 1 || o[0].State != rewards.OrderOpen || *submits != 0 {
			w.t.Errorf("%d orders were sent to another account; ours: %+v", *submits, o)
		}
		w.wire.fault, w.wire.rewrite = nil, nil
		w.wantAfter(15*time.Second, first, rewards.Executed)
		w.want(second, rewards.Executed)
		w.wantAlarm("broker_account", false)
		w.wantBalance()
	})
}

// A broker that does not report its account stops ordering after a minute, not before.
func TestAnAccountThatIsNotReportedStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		pins(w)
		w.run(5 * time.Second)
		w.pause("looking")
		off := w.faulty(ofAccount, down)
		w.run(45 * time.Second)
		w.wantAlarm("broker_account", false)
		w.run(30 * time.Second)
		w.wantAlarm(rewards.AlarmAccountUnknown, true)
		w.wantAlarm(rewards.AlarmPaused, true)
		w.pause("")
		r := w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		off()
		w.wantAfter(15*time.Second, r, rewards.Executed)
		w.wantAlarm("broker_account", false)
	})
}

// A process that begins to lead compares the account before it orders anything.
func TestTheNextLeaderComparesTheAccountFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		pins(w)
		w.run(5 * time.Second)
		submits := w.switches()
		w.otherLeads()
		w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		if *submits != 0 {
			w.t.Errorf("%d orders were sent to another account", *submits)
		}
	})
}

// The stored alarms are those of the process that leads, also after another one led, and when one that starts raised one.
func TestAlarmsAreThoseOfTheLeader(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.pause("maintenance")
		w.run(3 * time.Second)
		w.wantAlarm(rewards.AlarmPaused, true)
		w.otherLeads()
		w.check(w.store.ClearAlarm(w.t.Context(), rewards.AlarmPaused)) // the other one found it resumed
		w.run(20 * time.Second)                                         // until it takes the lease again
		w.wantAlarm(rewards.AlarmPaused, true)
		w.otherLeads()
		w.check(w.store.RaiseAlarm(w.t.Context(), rewards.AlarmConflict, "of the other one"))
		w.run(20 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, false)
		w.check(w.store.RaiseAlarm(w.t.Context(), rewards.AlarmAccountUnknown, "of one that starts"))
		w.run(62 * time.Second)
		w.wantAlarm(rewards.AlarmAccountUnknown, false)
	})
}

// lease renews the lease of the world's worker, and takes it when no worker has it.
func (w *world) lease() rewards.Lease {
	w.t.Helper()
	l, err := w.store.TakeLease(w.t.Context(), w.cfg.Holder, w.cfg.LeaseTTL, true)
	w.check(err)
	return l
}

// otherLeads lets another process lead for a moment.
func (w *world) otherLeads() {
	w.t.Helper()
	other, err := store.New(w.t.Context(), w.engine, time.Now, w.random)
	w.check(err)
	lease, err := other.TakeLease(w.t.Context(), "another process", time.Second, true)
	w.check(err)
	w.check(other.DropLease(w.t.Context(), lease))
}
