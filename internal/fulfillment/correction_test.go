package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// ofID are look-ups of an order by the broker's id; ofFills are readings of fills.
func ofID(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/orders/") }

func ofFills(r *http.Request) bool { return r.URL.Query().Get("category") == "trade_activity" }

// oldOrder buys AAPL, so long ago that no comparison lists the order any more.
func (w *world) oldOrder() rewards.BrokerOrder {
	w.t.Helper()
	w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
	list := w.orders()
	w.run(time.Minute)
	time.Sleep(9 * 24 * time.Hour)
	for range 2 { // the second one compares from the first one on
		w.restart()
		w.run(time.Minute)
	}
	return list[len(list)-1]
}

// An activity reports the correction of an order that no comparison lists any more: it is looked up, and booked at
// once. What the activity reports too early is looked up until the broker's order shows it. Another program's order is
// looked up once.
func TestACorrectionOfAnOldOrder(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"at once": false, "shown later": true}, func(w *world, later bool) {
		const foreign = "of-another-program"
		w.strange(foreign)
		booked := w.oldOrder()
		lookedUp := 0
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if ofID(r) {
				lookedUp++
			}
			return carry()
		}
		held := w.holding(w.user, "AAPL")
		w.check(w.brokerage.Bust(w.t.Context(), foreign, money.Share/1000))
		w.check(w.brokerage.Bust(w.t.Context(), booked.ClientOrderID, booked.FilledQty-money.Share))
		if later {
			w.corrects(booked.ClientOrderID, booked.FilledQty.String())
			w.run(10 * time.Minute)
			w.wantAlarm(rewards.AlarmFillCorrected, false)
			w.wire.rewrite = nil
		} else {
			w.corrects(foreign, "0.5") // never what the activity reports
		}
		w.run(90 * time.Second)
		w.wantAlarm(rewards.AlarmFillCorrected+booked.ClientOrderID, true)
		w.wantAlarm(rewards.AlarmConflict, false)
		if got := w.house("AAPL"); got != -money.Share || w.holding(w.user, "AAPL") != held {
			w.t.Errorf("the house has %s, %+v became %+v", got, held, w.holding(w.user, "AAPL"))
		}
		before := lookedUp
		w.run(time.Hour)
		if lookedUp > before || lookedUp < 1 {
			w.t.Errorf("%d look-ups by the broker's id, and %d in the hour after", before, lookedUp-before)
		}
	})
}

// While a corrected order, or the fills, cannot be read, everything else goes on, under the next leader, too. Then the
// correction is booked.
func TestACorrectionThatCannotBeReadForAWhile(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]func(*http.Request) bool{"order": ofID, "fills": ofFills}, func(w *world, unread func(*http.Request) bool) {
		booked := w.oldOrder()
		off := w.faulty(unread, down)
		w.check(w.brokerage.Bust(w.t.Context(), booked.ClientOrderID, booked.FilledQty-money.Share))
		w.run(20 * time.Minute)
		w.otherLeads()
		w.run(20 * time.Minute)
		w.wantAlarm(rewards.AlarmNotCompared, false)
		w.wantAfter(time.Minute, w.give("KO", 5*usd), rewards.Executed)
		w.wantAlarm(rewards.AlarmFillCorrected, false)
		off()
		w.run(3 * time.Minute)
		w.wantAlarm(rewards.AlarmFillCorrected+booked.ClientOrderID, true)
		w.wantBalance()
	})
}
