package fulfillment_test

import (
	"context"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// corrects lets the broker report another quantity of an order that was booked.
func (w *world) corrects(clientOrderID, filled string) {
	w.wire.rewrite = func(order map[string]any) {
		if order["client_order_id"] == clientOrderID {
			order["filled_qty"] = filled
		}
	}
}

// A correction of Friday's order, made on Monday, is seen on Monday: also when a long
// weekend is between.
func TestACorrectionOfFridaysOrderIsSeenOnMonday(t *testing.T) {
	t.Parallel()
	for name, friday := range map[string]time.Time{
		"a weekend":      time.Date(2000, 1, 7, 20, 0, 0, 0, time.UTC),
		"a long weekend": time.Date(2000, 1, 14, 20, 0, 0, 0, time.UTC), // Monday is Martin Luther King's day
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				time.Sleep(time.Until(friday))
				r := w.give("AAPL", 5_000_000)
				w.run(10 * time.Second)
				w.want(r, rewards.Executed)
				order := w.orders()[0]
				clock, err := w.client.Clock(t.Context())
				w.check(err)
				w.run(time.Until(clock.NextClose) + time.Minute) // until after Friday's close
				clock, err = w.client.Clock(t.Context())
				w.check(err)
				w.run(time.Until(clock.NextOpen.Add(-2 * time.Hour)))
				w.corrects(order.ClientOrderID, "0.001")
				w.run(time.Until(clock.NextOpen))
				w.run(65 * time.Minute)
				if !w.alarmed("broker_conflict") {
					t.Error("nobody noticed")
				}
			}, func(w *world) { w.hours = paper.USEquities })
		})
	}
}

// counting counts how often conflicts are stored.
type counting struct {
	fulfillment.Store

	conflicts *int
}

// SaveReconciliation counts.
func (c counting) SaveReconciliation(ctx context.Context, found []rewards.BrokerConflict, until time.Time) error {
	*c.conflicts += len(found)
	return c.Store.SaveReconciliation(ctx, found, until)
}

// While another order is under way its list also shows the booked ones: a correction of
// one is noticed at once, and stored once.
func TestACorrectionInTheListIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		stored := 0
		w.restart(func(s fulfillment.Store) fulfillment.Store { return counting{s, &stored} }, nil)
		r := w.give("AAPL", 5_000_000)
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
		booked := w.orders()[0]
		before, err := w.store.ReconciledUntil(t.Context())
		w.check(err)
		w.wire.rewrite = func(order map[string]any) {
			if order["client_order_id"] != booked.ClientOrderID {
				order["status"], order["filled_qty"], order["filled_avg_price"] = "new", "0", nil
			}
		}
		w.give("KO", 5_000_000)
		w.run(5 * time.Second)
		if w.alarmed("broker_conflict") || stored != 0 {
			t.Errorf("%d conflicts without a correction", stored)
		}
		open := w.wire.rewrite
		w.wire.rewrite = func(order map[string]any) {
			open(order)
			if order["client_order_id"] == booked.ClientOrderID {
				order["filled_qty"] = "0.001"
			}
		}
		w.run(5 * time.Second)
		if !w.alarmed("broker_conflict") || stored != 1 {
			t.Errorf("stored %d times, want once, with an alarm", stored)
		}
		if until, err := w.store.ReconciledUntil(t.Context()); err != nil || !until.Equal(before) {
			t.Errorf("compared until %s (%v), want %s still", until, err, before)
		}
		w.check(w.store.AcknowledgeConflict(t.Context(), booked.ClientOrderID, "asked the broker"))
		w.run(5 * time.Second)
		if w.alarmed("broker_conflict") {
			t.Error("an acknowledged conflict still stops ordering")
		}
		w.wire.rewrite = func(order map[string]any) { // it shrinks further
			open(order)
			if order["client_order_id"] == booked.ClientOrderID {
				order["filled_qty"] = "0"
			}
		}
		w.run(5 * time.Second)
		if !w.alarmed("broker_conflict") {
			t.Error("a further correction does not open the conflict again")
		}
	})
}
