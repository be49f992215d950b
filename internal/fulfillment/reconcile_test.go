package fulfillment_test

import (
	"context"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// strange submits an order that our books do not know.
func (w *world) strange(clientOrderID string) {
	w.t.Helper()
	_, err := w.client.Submit(w.t.Context(), rewards.OrderRequest{ClientOrderID: clientOrderID, Symbol: "AAPL", Notional: 5 * usd})
	w.check(err)
}

// An order with our prefix that our books do not know stops all ordering: the books may be an old
// backup.
func TestAStrangersOrderStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.strange("sr-test-lost")
		w.strange("other-system")
		r := w.wantAfter(5*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		w.wantAlarm(rewards.AlarmConflict, true)
		conflicts, err := w.store.Conflicts(w.t.Context())
		w.check(err)
		if len(conflicts) != 1 || conflicts[0].ClientOrderID != "sr-test-lost" {
			w.t.Fatalf("conflicts %+v", conflicts)
		}
		w.check(w.store.AcknowledgeConflict(w.t.Context(), "sr-test-lost", "a drill"))
		w.wantAfter(3*time.Second, r, rewards.Executed)
	})
}

// A process that led before compares again when it leads in a new epoch: another server may have taken over that has
// lost its orders.
func TestEachEpochBeginsWithAComparison(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		w.strange("sr-test-lost")
		lease, err := w.store.TakeLease(w.t.Context(), "another", time.Minute, true)
		w.check(err)
		w.run(10 * time.Second)
		w.check(w.store.DropLease(w.t.Context(), lease))
		w.wantAfter(5*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		w.wantAlarm(rewards.AlarmConflict, true)
		w.wantOrders(2)
	})
}

// When the database goes back in time, orders that it lacks may be on their way: nothing is ordered before these have
// arrived and were compared.
func TestOrdersUnderWayWhenTheDatabaseWentBack(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		w.check(w.engine.Write(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, "-- only in tests\nUPDATE lease SET until = until - 1000000")
			return err
		}))
		r := w.give("AAPL", 5*usd)
		w.run(10 * time.Second)
		w.strange("sr-test-under-way")
		w.wantAfter(20*time.Second, r, rewards.Recorded)
		w.wantAlarm(rewards.AlarmConflict, true)
		w.wantOrders(2)
	})
}

// A booked order that the broker reports otherwise within the hour stops ordering.
func TestABookedOrderThatChangesStopsOrdering(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]func(w *world){
		"grows":       func(w *world) { w.wire.rewrite = nil },
		"still works": func(w *world) { w.reports(reported("new", "0")) },
	}, func(w *world, later func(w *world)) {
		w.reports(reported("canceled", "0"))
		r := w.give("AAPL", 2*usd)
		w.run(3 * time.Second)
		time.Sleep(rewards.TerminalWait)
		w.wantAfter(5*time.Second, r, rewards.Executed) // by the second order
		w.wantAlarm(rewards.AlarmConflict, false)
		later(w)
		time.Sleep(time.Hour)
		w.run(3 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, true)
	})
}

// corrects makes the broker report another quantity of a booked order.
func (w *world) corrects(clientOrderID, filled string) {
	before := w.wire.rewrite
	w.wire.rewrite = func(o map[string]any) {
		if before != nil {
			before(o)
		}
		if o["client_order_id"] == clientOrderID {
			o["filled_qty"] = filled
		}
	}
}

// A correction of Friday's order is seen in the next session, also after a long weekend, when two
// comparisons show it.
func TestACorrectionOfFridaysOrderIsSeenOnMonday(t *testing.T) {
	t.Parallel()
	type variant struct{ friday, next string }
	inWorlds(t, map[string]variant{
		"a weekend":      {"2000-01-07 15:00:00", "2000-01-10"},
		"a long weekend": {"2000-01-14 15:00:00", "2000-01-18"}, // Monday is Martin Luther King's day
	}, func(w *world, test variant) {
		w.until(test.friday)
		w.buy()
		w.until(test.next + " 07:00:00")
		w.run(10 * time.Second) // compares before the correction, and before the open
		w.corrects(w.orders()[0].ClientOrderID, "0.001")
		w.until(test.next + " 09:31:00")
		w.run(10 * time.Second)
		w.wantAlarm(rewards.AlarmFillCorrected, false) // shown once
		w.run(70 * time.Second)
		w.wantAlarm(rewards.AlarmFillCorrected, true)
		w.wantAlarm(rewards.AlarmConflict, false)
	}, usHours)
}

// A poll of one order also shows the booked ones: a correction is noticed, booked once, and stops
// nothing. Users keep what they were shown.
func TestACorrectionInTheListIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		corrected := 0
		w.restartWith(correcting{w.store, &corrected}, newClient(w.wire))
		w.buy()
		booked, before := w.orders()[0], w.holding(w.user, "AAPL")
		w.wire.rewrite = func(o map[string]any) {
			if o["client_order_id"] != booked.ClientOrderID {
				o["status"], o["filled_qty"], o["filled_avg_price"] = "new", "0", nil
			}
		}
		open := w.give("KO", 5*usd)
		w.run(3 * time.Second)
		w.corrects(booked.ClientOrderID, "0.001")
		w.run(5 * time.Second)
		if corrected != 0 {
			w.t.Error("booked when it was shown once")
		}
		w.run(2 * time.Minute)
		if corrected != 1 || w.house("AAPL") != 1_000_000-booked.FilledQty || w.holding(w.user, "AAPL") != before {
			w.t.Errorf("corrected %d times, the house has %s, %+v became %+v", corrected, w.house("AAPL"), before,
				w.holding(w.user, "AAPL"))
		}
		w.wantAlarm(rewards.AlarmFillCorrected+booked.ClientOrderID, true)
		w.wantAlarm(rewards.AlarmConflict, false)
		w.wire.rewrite = nil
		w.wantAfter(2*time.Minute, open, rewards.Executed)
		if corrected != 2 || w.house("AAPL") != 0 { // as it was
			w.t.Errorf("corrected %d times, the house has %s", corrected, w.house("AAPL"))
		}
	})
}

// correcting counts the corrections that are stored.
type correcting struct {
	fulfillment.Store

	corrected *int
}

func (c correcting) CorrectOrder(
	ctx context.Context, l rewards.Lease, o rewards.Order, b rewards.BrokerOrder, activity string,
) error {
	*c.corrected++
	return c.Store.CorrectOrder(ctx, l, o, b, activity)
}

// A booked order that the broker works on again is a conflict as soon as a poll of another order
// shows it, and is stored once.
func TestAConflictInTheListIsStoredOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		s := &conflicting{Store: w.store}
		w.restartWith(s, newClient(w.wire))
		w.buy()
		booked := w.orders()[0]
		w.wire.rewrite = func(o map[string]any) {
			if o["status"] = "new"; o["client_order_id"] != booked.ClientOrderID {
				o["filled_qty"], o["filled_avg_price"] = "0", nil
			}
		}
		w.give("KO", 5*usd)
		w.run(8 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, true)
		if s.conflicts != 1 {
			w.t.Errorf("stored %d times, want once", s.conflicts)
		}
	})
}

// conflicting counts the conflicts that are stored.
type conflicting struct {
	fulfillment.Store

	conflicts int
}

func (c *conflicting) SaveReconciliation(
	ctx context.Context, l rewards.Lease, found []rewards.BrokerConflict, until time.Time,
) error {
	c.conflicts += len(found)
	return c.Store.SaveReconciliation(ctx, l, found, until)
}

// A bust, which an activity reports, is booked at once: the house owes the shares and buys them with
// the next order. The same after a split, in the units of then.
func TestABustIsTheHouses(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"of this week": false, "from before a split": true}, func(w *world, split bool) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		booked, shares := w.orders()[0], money.Shares(1)
		if split {
			w.announce("1", "4", "2000-01-05")
			w.until("2000-01-05 02:30:00")
			w.run(20 * time.Second)
			shares = 4
		}
		before := w.holding(w.user, "AAPL")
		w.check(w.brokerage.Bust(w.t.Context(), booked.ClientOrderID, booked.FilledQty-money.Share))
		w.run(90 * time.Second)
		w.wantAlarm(rewards.AlarmFillCorrected+booked.ClientOrderID, true)
		w.wantAlarm(rewards.AlarmHouseOwes+"AAPL", true)
		w.wantAlarm(rewards.AlarmConflict, false)
		if got := w.house("AAPL"); got != -shares*money.Share || w.holding(w.user, "AAPL") != before {
			w.t.Errorf("the house has %s, %+v became %+v", got, before, w.holding(w.user, "AAPL"))
		}
		w.buy()
		w.run(10 * time.Second)
		w.wantAlarm(rewards.AlarmHouseOwes, false)
		if got := w.house("AAPL"); got < 0 {
			w.t.Errorf("the house still owes %s", -got)
		}
		w.wantBalance()
		w.run(25 * time.Hour)
		w.wantAlarm(rewards.AlarmFillCorrected, false)
	})
}

// A fill is corrected while no process runs, and then its stock is split: first the position differs, but once the
// correction is booked it confirms the split, and nobody has to decide.
func TestABustBeforeASplit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		id, booked := w.announce("1", "4", "2000-01-05"), w.orders()[0]
		w.run(time.Minute)
		before := w.holding(w.user, "AAPL").Quantity
		w.until("2000-01-04 20:00:05")
		w.check(w.brokerage.Bust(w.t.Context(), booked.ClientOrderID, booked.FilledQty-money.Share))
		w.until("2000-01-05 02:31:00")
		w.restart()
		w.serve(20 * time.Second)
		held := w.action(id).State == rewards.ActionHeld
		w.serve(5 * time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		if got := w.holding(w.user, "AAPL").Quantity; got != 4*before || w.house("AAPL") != -4*money.Share || !held {
			w.t.Errorf("held first: %v; %s became %s, the house has %s", held, before, got, w.house("AAPL"))
		}
	})
}

// A correction that a process reads before its first comparison is no comparison: nothing is ordered before one
// succeeds.
func TestACorrectionIsNoComparison(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		booked := w.orders()[0]
		w.check(w.brokerage.Bust(w.t.Context(), booked.ClientOrderID, booked.FilledQty-money.Share))
		w.restart()
		off := w.faulty(isList, down)
		given := w.wantAfter(90*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		w.wantAlarm(rewards.AlarmNotCompared, true)
		off()
		w.wantAfter(30*time.Second, given, rewards.Executed)
	})
}

// A restored backup that was compared up to 2099 does not hide what the broker did since: all
// orders are compared.
func TestAFutureThatIsStoredHidesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.strange("sr-test-from-after-the-backup")
		time.Sleep(200 * time.Hour)
		w.check(w.store.SaveReconciliation(w.t.Context(), w.lease(), nil, time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)))
		w.run(2 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, true)
		w.wantComparedUntilNow()
	})
}

// wantComparedUntilNow checks that no future is stored as compared.
func (w *world) wantComparedUntilNow() {
	w.t.Helper()
	until, err := w.store.ReconciledUntil(w.t.Context())
	w.check(err)
	if until.After(time.Now()) {
		w.t.Errorf("compared until %s is stored, now is %s", until, time.Now())
	}
}
