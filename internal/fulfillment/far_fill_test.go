package fulfillment_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// tooExpensive is a part of an order that was filled at ten times the price, and its end.
var tooExpensive = order{"status": "canceled", "filled_qty": "0.001", "filled_avg_price": "2280.4"}

// readBeside reads the prices beside the steps, as the service does, until stop is called.
func (w *world) readBeside() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	market := w.market
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			_ = market.Refresh(ctx)
			time.Sleep(time.Second)
		}
	})
	return func() {
		cancel()
		reading.Wait()
	}
}

// takes answers after a time, unless the caller gives up.
func takes(d time.Duration) fault {
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(d):
			return carry()
		}
	}
}

// wantStopped gives a reward of AAPL and checks that nothing is ordered for it.
func (w *world) wantStopped(orders int) rewards.Reward {
	w.t.Helper()
	r := w.wantAfter(5*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
	w.wantOrders(orders)
	return r
}

// A fill far from the last price waits while the price cannot be read. Its stock is not ordered meanwhile, and fills of
// other stocks are booked.
func TestAFillWaitsForAPriceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]fault{"the broker hangs": hang, "the broker fails": down}, func(w *world, f fault) {
		w.wantAfter(5*time.Second, w.give("KO", 5*usd), rewards.Executed)
		w.quote(20, time.Now().Add(-48*time.Hour))
		off := w.faulty(ofPrices, f)
		far, near := w.give("AAPL", 5*usd), w.give("KO", 5*usd)
		w.wantAfter(6*time.Second, near, rewards.Executed)
		stopped := w.wantStopped(3)
		list, err := w.store.Standstills(w.t.Context())
		w.check(err)
		if len(list) != 1 || list[0].Cause != rewards.CauseQuarantine || list[0].Expected.IsZero() {
			w.t.Errorf("standstills %+v, want one because of the fill", list)
		}
		w.wantAfter(25*time.Second, far, rewards.Executing)
		w.wantAlarm(rewards.AlarmOrderWaits, true)
		w.wantAlarm(rewards.AlarmOrderQuarantined, false)
		off()
		w.wantAfter(20*time.Second, far, rewards.Executed)
		w.want(stopped, rewards.Executed)
		w.wantAlarm("", false)
		w.wantBalanced(4)
	})
}

// When no price can be read for a minute of open market, an operator must decide about a fill far from the last one.
// The hours while the market is closed do not count.
func TestAFillWaitsAMinuteOfOpenMarket(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.until("2000-01-03 15:59:20")
		w.quote(200, time.Now())
		w.faulty(ofPrices, down)
		w.reports(tooExpensive)
		far := w.give("AAPL", 5*usd)
		w.run(time.Hour)
		w.wantAlarm(rewards.AlarmOrderWaits, true)
		w.until("2000-01-04 09:30:00")
		stopped := w.wantStopped(1)
		w.wantAlarm(rewards.AlarmOrderQuarantined, false)
		w.run(time.Minute)
		o := w.quarantined()
		w.want(far, rewards.Executing)
		w.want(stopped, rewards.Recorded)
		w.wire.rewrite = nil
		truth := w.orders()[0]
		w.resolve(o, rewards.Resolution{FilledQty: truth.FilledQty, Price: truth.FilledAvgPrice})
		w.wantAfter(5*time.Second, far, rewards.Executed)
		w.want(stopped, rewards.Executed)
		w.wantBalanced(2)
	}, usHours)
}

// A broker that takes longer for prices than a step waits is read beside the steps. Its prices decide about a fill.
func TestAPriceReadBesideTheStepsJudgesAFill(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{"a second": 1100 * time.Millisecond, "more": 5 * time.Second}, func(w *world, d time.Duration) {
		w.quote(200, time.Now())
		w.faulty(ofPrices, takes(d))
		defer w.readBeside()()
		w.reports(tooExpensive)
		wrong := w.give("AAPL", 5*usd)
		w.run(4 * time.Second)
		w.wantStopped(1)
		w.wantAfter(15*time.Second, wrong, rewards.Executing)
		w.quarantined()
		w.wantOrders(1)
	})
}

// The same, and the price was only old: the fill is booked.
func TestAPriceReadBesideTheStepsAcceptsAFill(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.quote(20, time.Now().Add(-48*time.Hour))
		w.faulty(ofPrices, down)
		r := w.wantAfter(5*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		w.faulty(ofPrices, takes(1100*time.Millisecond))
		defer w.readBeside()()
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.wantBalanced(1)
	})
}

// A stock whose fill waits for a price stays stopped when the process restarts and the broker does not show the order.
func TestAFillThatWaitsStopsItsStockAfterARestart(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]fault{"the look-up fails": down, "it finds nothing": hidden}, func(w *world, lookUp fault) {
		w.quote(200, time.Now())
		w.faulty(ofPrices, down)
		w.reports(tooExpensive)
		far := w.wantAfter(5*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		unseen := hides(lookUp)
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if ofPrices(r) {
				return down(r, carry)
			}
			return unseen(r, carry)
		}
		w.run(10 * time.Second) // it is looked up
		w.restart()
		stopped := w.wantStopped(1)
		w.wantAlarm(rewards.AlarmOrderWaits, true)
		w.reportsTruth()
		w.wire.fault = nil
		w.wantAfter(30*time.Second, far, rewards.Executed)
		w.want(stopped, rewards.Executed)
		w.wantBalanced(2)
	})
}

// pausing is a store whose operator pauses ordering whenever an order is planned.
type pausing struct{ *store.Operator }

func (s pausing) PlanOrder(
	ctx context.Context, l rewards.Lease, r rewards.PlanRequest,
) (rewards.Order, rewards.Hold, error) {
	if err := s.SetPaused(ctx, "to look at it"); err != nil {
		return rewards.Order{}, rewards.NoHold, err
	}
	return s.Operator.PlanOrder(ctx, l, r)
}

// An order that was planned before a fill of its stock was far from the last price is sent after the decision.
func TestAPlannedOrderWaitsForTheDecisionAboutAFill(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.quote(200, time.Now())
		far := w.give("AAPL", 5*usd)
		w.reads(reading{reported("new", "0"), 3 * time.Second})
		w.restartWith(pausing{w.store}, newClient(w.wire))
		planned := w.wantAfter(3*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		off := w.faulty(ofPrices, down)
		w.reads(reading{tooExpensive, 3 * time.Second})
		w.pause("")
		w.run(10 * time.Second)
		w.wantOrders(1)
		off()
		w.run(20 * time.Second)
		o := w.quarantined()
		w.wantOrders(1)
		w.wire.rewrite = nil
		truth := w.orders()[0]
		w.resolve(o, rewards.Resolution{FilledQty: truth.FilledQty, Price: truth.FilledAvgPrice})
		w.wantAfter(5*time.Second, planned, rewards.Executed)
		w.want(far, rewards.Executed)
		w.wantBalanced(2)
	})
}
