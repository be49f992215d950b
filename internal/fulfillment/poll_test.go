package fulfillment_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// The brokerage takes an order, answers nothing and shows it hours later.
func TestLateVisibility(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		visible := time.Now().Add(4 * time.Hour)
		lost, invisible := sends(loseAnswer), hides(hidden)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if isSubmit(r) || time.Now().After(visible) {
				return lost(r, carry)
			}
			return invisible(r, carry)
		}
		r := w.give("AAPL", 5*usd)
		w.run(20 * time.Second)
		time.Sleep(3 * time.Hour)
		w.wantAfter(20*time.Second, r, rewards.Executing)
		time.Sleep(time.Hour)
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.wantBalanced(1)
	})
}

func TestAnOutageOfHoursIsWaitedOut(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		before := w.give("AAPL", 5*usd)
		w.run(1100 * time.Millisecond) // the order is sent
		off := w.faulty(func(*http.Request) bool { return true }, says(503, `<html>down</html>`))
		during := w.wantAfter(4*time.Hour, w.give("AAPL", 7*usd), rewards.Recorded)
		off()
		w.wantAfter(30*time.Second, before, rewards.Executed)
		w.want(during, rewards.Executed)
		w.wantBalance()
	}, func(w *world) { w.cfg.PollEvery = 100 * time.Millisecond }) // polls while the clock is known
}

// What the list shows needs no look-up, and the other way round.
func TestListAndLookUp(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]fault{
		"list": func(r *http.Request, carry carrier) (*http.Response, error) {
			if isLookUp(r) {
				return down(r, nil)
			}
			return carry()
		},
		"look-up": hides(func(_ *http.Request, carry carrier) (*http.Response, error) { return carry() }),
	}, func(w *world, f fault) {
		w.wire.fault = f
		w.buy()
		w.wantBalance()
	})
}

func TestAnOpenOrderThatVanishesIsQuarantinedAfterTheClose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wire.fault = hides(hidden)
		r := w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		w.wantAlarm(rewards.AlarmOrderWaits, true)
		time.Sleep(26 * time.Hour)
		w.run(5 * time.Second)
		w.quarantined()
		w.want(r, rewards.Executing)
	})
}

// An order is not sent again before a look-up has not found it.
func TestLookUpsThatFailAreRepeated(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lost, hiding := sends(loseAnswer), hides(says(500, ``))
		submits, visible := 0, false
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			switch {
			case isSubmit(r):
				submits++
				return lost(r, carry)
			case visible:
				return carry()
			}
			return hiding(r, carry)
		}
		r := w.wantAfter(15*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		visible = true
		w.wantAfter(15*time.Second, r, rewards.Executed)
		w.wantOrders(1)
		if submits != 1 {
			w.t.Errorf("it was sent %d times without a look-up", submits)
		}
	})
}

// A list that fails is not an empty list: what it does not show is not missing.
func TestAListThatFailsTeachesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.reports(reported("new", "0"))
		r := w.give("AAPL", 5*usd)
		w.run(3 * time.Second)
		hiding := hides(hidden)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if isList(r) {
				return down(r, nil)
			}
			return hiding(r, carry)
		}
		w.run(5 * time.Second)
		time.Sleep(26 * time.Hour)
		w.run(5 * time.Second)
		if o := w.live()[0]; o.State != rewards.OrderOpen {
			w.t.Errorf("order %+v, want it open", o)
		}
		for range 8 { // also between two polls
			w.run(700 * time.Millisecond)
			w.wantAlarm(rewards.AlarmOrdersUnknown, true)
		}
		w.wire.fault, w.wire.rewrite = nil, nil
		w.wantAfter(10*time.Second, r, rewards.Executed)
		w.wantBalance()
	}, func(w *world) { w.cfg.PollEvery = 2 * time.Second })
}

// A process that stops while it calls the broker leaves no alarm and no reason behind.
func TestAStopWhileTheBrokerIsAskedIsNoAlarm(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]func(r *http.Request) bool{"list": isList, "look-up": isLookUp, "clock": ofClock}, func(w *world, asks func(r *http.Request) bool) {
		w.wire.fault = sends(loseRequest)
		w.wantAfter(1100*time.Millisecond, w.give("AAPL", 5*usd), rewards.Executing)
		time.Sleep(2 * time.Minute) // the clock must be read again
		before, err := w.store.Alarms(w.t.Context())
		w.check(err)
		asked := make(chan struct{})
		w.faulty(asks, func(r *http.Request, _ carrier) (*http.Response, error) {
			close(asked)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		reason := w.live()[0].Reason
		stop, done := w.start()
		<-asked
		stop()
		<-done
		after, err := w.store.Alarms(w.t.Context())
		w.check(err)
		for i, a := range after {
			if i >= len(before) || a.Name != before[i].Name || strings.Contains(a.Message, "cancel") {
				w.t.Errorf("alarm %+v; before %+v", a, before)
			}
		}
		if o := w.live()[0]; o.Reason != reason {
			w.t.Errorf("the order waits because %q; before %q", o.Reason, reason)
		}
	})
}

// A day order cannot live for days. What the broker reports is believed, but somebody must know of it.
func TestAnOrderThatNeverEndsRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wire.rewrite = func(o map[string]any) {
			o["status"], o["filled_qty"], o["filled_avg_price"] = "accepted", "0", nil
		}
		stuck := w.give("AAPL", 5*usd)
		w.run(99 * time.Hour)
		w.wantAlarm(rewards.AlarmOrderWaits, false)
		w.run(2 * time.Hour)
		w.wantAlarm(rewards.AlarmOrderWaits, true)
		w.want(stuck, rewards.Executing)
		w.wire.rewrite = nil
		w.wantAfter(2*time.Minute, stuck, rewards.Executed)
		w.wantAlarm(rewards.AlarmOrderWaits, false)
	})
}

// An order that stays open while thousands follow makes no poll list them all: it is looked up, and the others are
// booked as quickly as ever.
func TestAnOldOrderIsLookedUp(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(3*time.Second, w.give("KO", 5*usd), rewards.Executed)
		hold, long := true, 0
		w.wire.rewrite = func(o map[string]any) {
			if hold && o["symbol"] == "AAPL" {
				o["status"], o["filled_qty"], o["filled_avg_price"] = "accepted", "0", nil
			}
		}
		stuck := w.give("AAPL", 5*usd)
		w.run(3 * time.Second)
		began := time.Now()
		w.check(w.engine.Write(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE orders SET number = 2001 WHERE symbol = 'KO'`) // as if 2,000 had followed
			return err
		}))
		time.Sleep(time.Hour)
		next := w.give("KO", 5*usd)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			after, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("after"))
			if isList(r) && w.reward(next).Status != rewards.Recorded && (err != nil || after.Before(began)) {
				long++
			}
			return carry()
		}
		w.wantAfter(10*time.Second, next, rewards.Executed)
		w.want(stuck, rewards.Executing)
		hold = false
		w.wantAfter(70*time.Second, stuck, rewards.Executed) // it rested for a minute
		if long > 0 {
			w.t.Errorf("%d lists began at the old order", long)
		}
		w.wantBalanced(3)
	})
}
