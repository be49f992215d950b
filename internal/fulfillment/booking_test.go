package fulfillment_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// trouble makes the store fail what writes to a table, when a condition holds for the row. end ends that.
func (w *world) trouble(event, when string) (end func()) {
	w.t.Helper()
	exec := func(statement string) {
		w.check(w.engine.Write(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, statement)
			return err
		}))
	}
	exec(`CREATE TRIGGER trouble BEFORE ` + event + ` WHEN ` + when + ` BEGIN SELECT RAISE(ABORT, 'not now'); END`)
	return func() { exec(`DROP TRIGGER trouble`) }
}

// wantUnbooked checks that an order waits for its booking, with an alarm, and that none is quarantined.
func (w *world) wantUnbooked() {
	w.t.Helper()
	for _, o := range w.live() {
		if o.State == rewards.OrderQuarantined {
			w.t.Errorf("quarantined: %s", o.Reason)
		}
	}
	alarms, err := w.store.Alarms(w.t.Context())
	w.check(err)
	for _, a := range alarms {
		if !strings.HasPrefix(a.Name, rewards.AlarmOrderWaits) || !strings.Contains(a.Message, "cannot be booked yet") ||
			!strings.Contains(a.Message, "not now") {
			w.t.Errorf("alarm %s: %s", a.Name, a.Message)
		}
	}
	if len(alarms) == 0 {
		w.t.Error("there is no alarm")
	}
}

// An error of the database that says nothing about the orders delays their bookings, and quarantines none.
func TestABookingThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	inWorlds(t, booked, func(w *world, beside bool) {
		w.cfg.BookBeside = beside || *besideAll
		w.restart()
		end := w.trouble("INSERT ON holdings", "true")
		given := []rewards.Reward{w.give("AAPL", 5*usd), w.give("KO", 5*usd)}
		w.run(10 * time.Second)
		given = append(given, w.give("AAPL", 5*usd)) // its stock is still ordered
		w.run(10 * time.Second)
		w.wantAll(rewards.Executing, given...)
		w.wantOrders(3)
		w.wantUnbooked()
		end()
		w.run(time.Minute)
		w.wantAll(rewards.Executed, given...)
		w.wantAlarm("", false)
		w.wantBalanced(3)
	})
}

// A poll that saw the end of an order has not failed because the end cannot be booked.
func TestAFailedBookingIsNoFailedPoll(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 5*usd)
		w.reads(reading{reported("new", "0"), 3 * time.Second})
		w.wire.rewrite = nil
		end := w.trouble("INSERT ON holdings", "true")
		w.wantAfter(2*time.Second, r, rewards.Executing) // a booking beside is seen a step later
		w.wantUnbooked()
		end()
		w.wantAfter(3*time.Second, r, rewards.Executed)
		w.wantAlarm("", false)
	})
}

// An order whose booking fails for ever holds up no other, also none of its stock. Its bookings become rare.
func TestABookingThatAlwaysFailsIsAlone(t *testing.T) {
	t.Parallel()
	inWorlds(t, booked, func(w *world, beside bool) {
		bookings := 0
		w.cfg.BookBeside = beside || *besideAll
		w.restartWith(hooked{w.store, func(name string, write func() error) error {
			if name == "SettleOrders" {
				bookings++
			}
			return write()
		}}, newClient(w.wire))
		stuck := w.give("KO", 5*usd)
		other := w.newUser(w.app)
		end := w.trouble("INSERT ON holdings", "NEW.user_id = (SELECT user_id FROM rewards WHERE symbol = 'KO')")
		w.run(5 * time.Second)
		for range 10 {
			w.wantAfter(5*time.Second, w.giveTo(other, "AAPL", 5*usd), rewards.Executed)
			w.wantAfter(5*time.Second, w.giveTo(other, "KO", 5*usd), rewards.Executed)
		}
		w.want(stuck, rewards.Executing)
		w.wantUnbooked()
		before := bookings
		w.run(10 * time.Minute)
		if n := bookings - before; n < 10 || n > 24 {
			w.t.Errorf("it was booked %d times in ten minutes, want twice each minute: with others, then alone", n)
		}
		end()
		w.wantAfter(time.Minute, stuck, rewards.Executed)
		w.wantBalanced(21)
	})
}

// A refusal is proof although its booking failed: sent again, the order would prove nothing.
func TestARefusalWhoseBookingFailsIsKept(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		end := w.trouble("UPDATE ON rewards", "true")
		r := w.give("HALT", 5*usd)
		w.wantAfter(10*time.Second, r, rewards.Executing)
		w.wantUnbooked()
		if list := w.live(); len(list) != 1 || list[0].Attempts != 1 {
			w.t.Errorf("orders %+v, want one that was sent once", list)
		}
		end()
		w.run(30 * time.Second)
		w.wantFailed(r, "asset_not_tradable")
		w.wantAlarm("", false)
		w.wantOrders(0)
	})
}
