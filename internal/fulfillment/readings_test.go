package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// An end with nothing filled carries the order's dollars into the next order; only a rejected order
// fails its rewards.
func TestEndsWithNothingFilled(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{"canceled": "canceled", "expired": "expired", "rejected": "rejected"}, func(w *world, status string) {
		w.reports(order{"status": status, "filled_qty": "0", "filled_avg_price": nil, "filled_at": nil})
		r := w.give("AAPL", 2*usd)
		w.run(3 * time.Second)
		time.Sleep(25 * time.Second)
		w.wantAfter(time.Second, r, rewards.Executing)
		time.Sleep(5 * time.Second)
		w.run(5 * time.Second)
		if status == "rejected" {
			w.wantFailed(r, "order_rejected")
			return
		}
		w.want(r, rewards.Executed)
		w.wantOrders(2)
	})
}

// An end with a part filled books the part and carries the rest into the next order.
func TestEndsWithAPartFilled(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{"canceled": "canceled", "expired": "expired", "rejected": "rejected"}, func(w *world, status string) {
		w.reports(reported(status, "0.015"))
		first, second := w.give("AAPL", 2*usd), w.give("AAPL", 2*usd)
		w.run(3 * time.Second)
		w.pause("to look at it")
		time.Sleep(rewards.TerminalWait)
		w.wantAfter(3*time.Second, first, rewards.Executed)
		if got := w.want(second, rewards.Executing); got.Booked != usd {
			w.t.Errorf("%s booked, want half", got.Booked)
		}
		w.pause("")
		w.wantAfter(5*time.Second, second, rewards.Executed)
		if list := w.orders(); len(list) != 2 || list[1].Notional != usd {
			w.t.Errorf("orders %+v, want the rest in a second one", list)
		}
	})
}

// A contradiction quarantines the order and stops its asset; others go on. An operator's decision
// releases it. Packages rewards and alpaca test every contradiction.
func TestContradictionsQuarantine(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]order{
		"another side":   {"side": "sell"},
		"replaced":       {"status": "replaced"},
		"ten decimals":   {"status": "canceled", "filled_qty": "0.0250000001", "filled_avg_price": "200"},
		"an odd time":    {"filled_at": "yesterday"},
		"too cheap":      {"status": "canceled", "filled_qty": "0.02193", "filled_avg_price": "0.01"},
		"another symbol": {"symbol": "KO"},
	}, func(w *world, members order) {
		w.reports(members)
		r := w.wantAfter(3*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		o := w.quarantined()
		w.wantAlarm(rewards.AlarmOrderQuarantined+o.ID.String(), true)
		w.wire.rewrite = nil
		stopped, other := w.give("AAPL", 5*usd), w.give("KO", 5*usd)
		w.wantAfter(5*time.Second, stopped, rewards.Recorded)
		w.want(other, rewards.Executed)
		truth := w.orders()[0]
		w.resolve(o, rewards.Resolution{FilledQty: truth.FilledQty, Price: truth.FilledAvgPrice})
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.want(stopped, rewards.Executed)
		w.wantBalance()
	})
}

func TestAFillThatShrinks(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 5*usd)
		w.reads(reading{reported("partially_filled", "0.02"), 3 * time.Second}, reading{reported("partially_filled", "0.01"), 3 * time.Second})
		if got := w.live()[0]; got.State != rewards.OrderOpen || got.FilledQty != 20_000_000 {
			w.t.Errorf("got %+v, want the largest fill", got)
		}
		w.reads(reading{reported("canceled", "0.01"), 3 * time.Second})
		w.quarantined()
		w.want(r, rewards.Executing)
	})
}

// Readings of an end that do not agree: package rewards tests every pair.
func TestEndsThatDoNotAgree(t *testing.T) {
	t.Parallel()
	part := reading{reported("canceled", "0.01"), 3 * time.Second}
	grown := reported("canceled", "0.015")
	absurd := order{"status": "canceled", "filled_qty": "0.01", "filled_avg_price": "0.01"}
	type variant struct {
		then   reading
		sleep  time.Duration
		state  rewards.OrderState
		status rewards.Status
	}
	inWorlds(t, map[string]variant{
		"goes on":      {reading{reported("partially_filled", "0.02"), 3 * time.Second}, 0, rewards.OrderQuarantined, rewards.Executing},
		"grows":        {reading{grown, 3 * time.Second}, 20 * time.Second, rewards.OrderOpen, rewards.Executing},
		"has grown":    {reading{grown, 3 * time.Second}, 30 * time.Second, rewards.OrderSettled, rewards.Executed},
		"absurd price": {reading{absurd, time.Second}, 0, rewards.OrderQuarantined, rewards.Executing},
		"filled later": {reading{reported("filled", "0.025"), time.Second}, 0, rewards.OrderSettled, rewards.Executed},
	}, func(w *world, test variant) {
		r := w.give("AAPL", 5*usd)
		w.reads(part)
		time.Sleep(20 * time.Second)
		w.reads(test.then)
		time.Sleep(test.sleep)
		w.run(3 * time.Second)
		list, err := w.store.Orders(w.t.Context(), 0, rewards.Page[rewards.Order]{Limit: 10})
		w.check(err)
		if first := list[len(list)-1]; first.State != test.state {
			w.t.Errorf("the order is %s (%s), want %s", first.State, first.Reason, test.state)
		}
		w.want(r, test.status)
	})
}

// One stale reading of an end is no end: nothing is bought again.
func TestOneStaleReadingOfAnEndIsNoEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 5*usd)
		w.reads(reading{reported("canceled", "0"), 1500 * time.Millisecond}, reading{reported("new", "0"), 3 * time.Second})
		time.Sleep(time.Minute)
		w.wantAfter(3*time.Second, r, rewards.Executing)
		w.wantAlarm("", false)
		w.wire.rewrite = nil
		w.wantAfter(3*time.Second, r, rewards.Executed)
		w.wantBalanced(1)
	})
}

// An order that is open over the close is polled in the night.
func TestAFillInTheNightIsBooked(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.until("2000-01-03 15:59:50")
		r := w.give("AAPL", 5*usd)
		w.reads(reading{reported("accepted", "0"), 5 * time.Second})
		time.Sleep(time.Hour)
		w.wantAfter(6*time.Second, r, rewards.Executing)
		w.reads(reading{reported("filled", "0.025"), 6 * time.Second})
		w.want(r, rewards.Executed)
	}, usHours)
}

// What cannot be booked is quarantined: here the user would hold more than can be counted.
func TestAHoldingThatWouldOverflowIsQuarantined(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.faulty(ofPrices, down) // no price to compare the fills with
		fill := order{"status": "filled", "filled_qty": "5000000000", "filled_avg_price": "0.000000001"}
		w.reports(fill)
		w.give("AAPL", 5*usd)
		w.run(3 * time.Second)
		w.reportsTruth()
		w.reports(fill)
		second := w.wantAfter(3*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		o := w.quarantined()
		w.resolve(o, rewards.Resolution{FilledQty: o.FilledQty, Price: o.FilledAvgPrice}) // cannot be booked either
		w.wantAfter(3*time.Second, second, rewards.Executing)
		w.quarantined()
	})
}

// quote stores a price of AAPL as of a moment.
func (w *world) quote(price money.Price, at time.Time) {
	w.t.Helper()
	w.check(w.store.SaveQuotes(w.t.Context(), []rewards.Quote{{
		AssetID: w.asset("AAPL"), Price: price * 1_000_000_000, TradedAt: at, ConfirmedAt: at,
	}}))
	w.restart()
}

// An old stored price judges no fill before the price is read again.
func TestAnOldPriceDoesNotJudgeAFill(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		first := w.give("AAPL", 5*usd)
		w.quote(20, time.Now().Add(-48*time.Hour))
		w.wantAfter(3*time.Second, first, rewards.Executed)
		w.wantBalance()
	})
}

// A fill near the level that an operator confirmed is booked, far from the one before.
func TestAFillNearAConfirmedLevelIsBooked(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 5*usd)
		w.reads(reading{reported("new", "0"), 3 * time.Second})
		w.check(w.store.DoubtAsset(w.t.Context(), w.asset("AAPL"), 100_000_000_000))
		w.faulty(ofPrices, down)
		_, err := w.store.ConfirmAsset(w.t.Context(), "AAPL")
		w.check(err)
		w.restart()
		w.reads(reading{order{"status": "filled", "filled_qty": "0.05", "filled_avg_price": "100"}, 3 * time.Second})
		w.want(r, rewards.Executed)
	})
}

// A believed fill is not judged again by later prices.
func TestABelievedFillStaysBelieved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 5*usd)
		w.reads(reading{reported("partially_filled", "0.01"), 3 * time.Second})
		w.faulty(ofPrices, down)
		w.quote(90, time.Now())
		w.reads(reading{reported("canceled", "0.01"), 3 * time.Second})
		time.Sleep(rewards.TerminalWait)
		w.run(3 * time.Second)
		if got := w.reward(r); got.Booked != 2*usd {
			w.t.Errorf("%s booked, want the part that was believed", got.Booked)
		}
	})
}
