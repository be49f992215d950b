package fulfillment_test

import (
	"context"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
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

// A correction of Friday's order is seen in the next session, also after a long weekend.
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
		w.wantAlarm(rewards.AlarmConflict, true)
	}, usHours)
}

// counting counts the conflicts that are stored.
type counting struct {
	fulfillment.Store

	conflicts int
}

func (c *counting) SaveReconciliation(ctx context.Context, found []rewards.BrokerConflict, until time.Time) error {
	c.conflicts += len(found)
	return c.Store.SaveReconciliation(ctx, found, until)
}

// A poll of one order also shows the booked ones: a correction is noticed at once, and stored once.
func TestACorrectionInTheListIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		s := &counting{Store: w.store}
		w.restartWith(s, newClient(w.wire))
		w.buy()
		booked := w.orders()[0]
		before, err := w.store.ReconciledUntil(w.t.Context())
		w.check(err)
		w.wire.rewrite = func(o map[string]any) {
			if o["client_order_id"] != booked.ClientOrderID {
				o["status"], o["filled_qty"], o["filled_avg_price"] = "new", "0", nil
			}
		}
		w.give("KO", 5*usd)
		w.run(3 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, false)
		w.corrects(booked.ClientOrderID, "0.001")
		w.run(5 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, true)
		if s.conflicts != 1 {
			w.t.Errorf("stored %d times, want once", s.conflicts)
		}
		if until, err := w.store.ReconciledUntil(w.t.Context()); err != nil || !until.Equal(before) {
			w.t.Errorf("compared until %s (%v), want %s still", until, err, before)
		}
		w.check(w.store.AcknowledgeConflict(w.t.Context(), booked.ClientOrderID, "asked the broker"))
		w.run(3 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, false)
		w.corrects(booked.ClientOrderID, "0") // a further correction opens the conflict again
		w.run(3 * time.Second)
		w.wantAlarm(rewards.AlarmConflict, true)
	})
}

// A restored backup that was compared up to 2099 does not hide what the broker did since: all
// orders are compared.
func TestAFutureThatIsStoredHidesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.strange("sr-test-from-after-the-backup")
		time.Sleep(200 * time.Hour)
		w.check(w.store.SaveReconciliation(w.t.Context(), nil, time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)))
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
