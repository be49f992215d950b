package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// lost submits an order that our books do not know, and returns it when it is filled.
func (w *world) lost() rewards.BrokerOrder {
	w.t.Helper()
	w.strange("sr-test-lost")
	time.Sleep(5 * time.Second)
	for _, o := range w.orders() {
		if o.ClientOrderID == "sr-test-lost" && o.FilledQty > 0 {
			return o
		}
	}
	w.t.Fatal("the order is not filled")
	return rewards.BrokerOrder{}
}

// restored gives again what an order bought that our books lack, and restarts, as after an old backup was restored.
func (w *world) restored() (lost rewards.BrokerOrder, given rewards.Reward) {
	w.t.Helper()
	lost, given = w.lost(), w.give("AAPL", 5*usd)
	w.restart()
	return lost, given
}

func (w *world) adopt(o rewards.BrokerOrder) {
	w.t.Helper()
	_, err := w.store.AdoptOrder(w.t.Context(), o, "restored")
	w.check(err)
}

// A backup from before a split is restored, and the award that was bought after it is given again. Its order can be
// adopted only when the split is applied, which happens by the position without what the order bought.
func TestAnOrderFromAfterASplitIsAdoptedAfterIt(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"by itself": false, "approved before": true}, func(w *world, approved bool) {
		w.sync(nil)
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-04 20:00:00")
		w.run(5 * time.Second)
		before, house := w.holdings("AAPL"), w.house("AAPL")
		w.until("2000-01-05 10:00:00") // the service is down
		lost, given := w.restored()
		if approved {
			w.approve(id)
		}
		_, err := w.store.AdoptOrder(w.t.Context(), lost, "restored")
		if rewards.CodeOf(err) != rewards.CodeConflict {
			w.t.Fatalf("adopted before the split: %v", err)
		}
		w.serve(30 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, true)
		w.wantAction(id, rewards.ActionSwept)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		if got := w.house("AAPL"); got != 4*house {
			w.t.Errorf("the house has %s, had %s", got, house)
		}
		w.adopt(lost)
		w.wantAfter(10*time.Second, given, rewards.Executed)
		want := 4*before[0].Quantity + lost.FilledQty
		if got := w.holding(w.user, "AAPL").Quantity; got != want {
			w.t.Errorf("the user has %s, want %s", got, want)
		}
		w.wantBalance()
	})
}

// An order from before the split waits for its adoption: the position says nothing certain, so nothing is applied.
func TestAnOrderFromBeforeASplitIsAdoptedBeforeIt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		before := w.holdings("AAPL")
		lost, given := w.restored()
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-05 03:00:00")
		w.serve(5 * time.Minute)
		w.wantAction(id, rewards.ActionAnnounced)
		w.adopt(lost)
		w.serve(time.Minute)
		w.want(given, rewards.Executed)
		w.wantAction(id, rewards.ActionSwept)
		want := 4 * (before[0].Quantity + lost.FilledQty)
		if got := w.holding(w.user, "AAPL").Quantity; got != want {
			w.t.Errorf("the user has %s, want %s", got, want)
		}
		w.wantBalance()
	})
}

// An order from before a split that is applied can be adopted after its undo.
func TestAnOrderFromBeforeAnAppliedSplit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.overnight()
		w.wantAction(id, rewards.ActionSwept)
		w.give("AAPL", 5*usd)
		lost := rewards.BrokerOrder{
			ID: "x", ClientOrderID: "sr-test-lost", Symbol: "AAPL", Side: "buy", Status: "filled", Notional: 5 * usd,
			FilledQty: 12345, SubmittedAt: w.action(id).Boundary.Add(-6 * time.Hour),
		}
		w.check(w.store.SaveReconciliation(w.t.Context(), w.lease(), []rewards.BrokerConflict{{
			ClientOrderID: lost.ClientOrderID, Symbol: "AAPL", FilledQty: lost.FilledQty, Detail: "unknown",
		}}, time.Now()))
		if _, err := w.store.AdoptOrder(w.t.Context(), lost, "found"); rewards.CodeOf(err) != rewards.CodeConflict {
			w.t.Fatalf("adopted after the split: %v", err)
		}
		w.undo(id)
		w.serve(time.Minute) // now the position is in doubt
		w.adopt(lost)
	})
}

// A cash merger leaves no position, whatever was bought. It waits until the lost order is adopted, so that its cash is
// shared among all.
func TestACashMergerWaitsForMissingOrders(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		lost, given := w.restored()
		id := w.post(`{"type":"cash_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","rate":210.25,"effective_date":"2000-01-05"}`)
		w.until("2000-01-05 03:00:00")
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionAnnounced)
		w.adopt(lost)
		w.serve(5 * time.Minute)
		w.want(given, rewards.Executed)
		w.wantAction(id, rewards.ActionSwept)
		if p := w.payout(id); p.net == 0 || p.cash[w.user.ID] <= p.net/10 {
			w.t.Errorf("paid %+v", p)
		}
	})
}

// What is booked of an order that contradicts the books is not missing: a split that has not happened is not applied.
func TestABookedConflictIsNotMissing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.buy()
		w.buy()
		id := w.post(`{"type":"reverse_split","symbol":"AAPL","old_rate":2,"new_rate":1,"ex_date":"2000-01-05"}`)
		w.until("2000-01-04 20:00:00")
		booked := w.orders()[0]
		w.check(w.store.SaveReconciliation(w.t.Context(), w.lease(), []rewards.BrokerConflict{{
			ClientOrderID: booked.ClientOrderID, Symbol: "AAPL", FilledQty: booked.FilledQty, Detail: "it works again",
		}}, time.Now()))
		w.serve(10 * time.Minute)
		w.wantAlarm(rewards.AlarmConflict, true)
		w.wantAction(id, rewards.ActionAnnounced)
	})
}

// An approval says that a split happened, and nothing of orders that are missing: the position must confirm it.
func TestAnApprovalWaitsForMissingOrders(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		lost, given := w.restored()
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-05 03:00:00")
		w.approve(id)
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionAnnounced)
		w.adopt(lost)
		w.serve(time.Minute)
		w.want(given, rewards.Executed)
		w.wantAction(id, rewards.ActionSwept)
		w.wantBalance()
	})
}

// A reverse split with a new symbol leaves less than a share, which the broker pays in cash: no position is left.
func TestARenamedStockThatIsPaidInCash(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		r := w.buy()
		w.afflict("cash-in-lieu symbol=AAPL")
		id := w.post(`{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"new_symbol":"APL","ex_date":"2000-01-05"}`)
		before := w.overnight()
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		w.wantHeldOf(w.user, "APL", before[0].Quantity/10, r.Amount)
		w.wantAlarm("house_owes:APL", true)
	})
}
