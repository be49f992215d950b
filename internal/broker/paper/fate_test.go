package paper_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
)

// reading is an order's expected status some time after its submission, and the percentage
// of it that is filled.
type reading struct {
	after time.Duration
	want  string
}

// TestFates follows orders that a fault struck, and checks that the books end balanced.
func TestFates(t *testing.T) {
	t.Parallel()
	const closing = 6 * time.Hour // monday is at 10:00
	for _, c := range []struct {
		fault    string
		readings []reading
	}{
		{"reject", []reading{{0, "rejected 0"}, {time.Hour, "rejected 0"}}},
		{"reject-later by=2s", []reading{{0, "pending_new 0"}, {time.Second, "new 0"}, {2 * time.Second, "rejected 0"}}},
		{"cancel by=2s", []reading{{time.Second, "new 0"}, {2 * time.Second, "canceled 0"}}},
		{"expire", []reading{{time.Hour, "new 0"}, {closing, "expired 0"}}},
		{"cancel by=0s", []reading{{time.Second, "canceled 0"}}},
		{"expire by=2s", []reading{{time.Second, "new 0"}, {2 * time.Second, "expired 0"}}},
		{"partial-then-filled share=30 by=5s", []reading{{time.Second, "partially_filled 30"}, {6 * time.Second, "filled 100"}}},
		{"partial-then-canceled by=5s", []reading{{time.Second, "partially_filled 50"}, {6 * time.Second, "canceled 50"}}},
		{"partial-then-expired", []reading{{time.Hour, "partially_filled 50"}, {closing, "expired 50"}}},
		{"partial-then-expired by=9h", []reading{{time.Hour, "partially_filled 50"}, {closing, "expired 50"}}},
		{"fill-after-cancel by=5s", []reading{{time.Second, "canceled 0"}, {6 * time.Second, "filled 100"}}},
		{"shrinking-fill by=5s", []reading{{time.Second, "partially_filled 50"}, {6 * time.Second, "canceled 25"}}},
		{"unknown-status", []reading{{0, "hibernating 0"}, {time.Second, "hibernating 100"}}},
	} {
		for _, amount := range []string{notional("1000"), quantity("4")} {
			t.Run(c.fault+" "+amount, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, paper.Options{Hours: paper.USEquities})
				d.afflict(c.fault + " symbol=AAPL")
				d.place("ordinary", "F", "buy", notional("7"))
				got := d.place("one", "AAPL", "buy", amount)
				begun := d.now()
				for i, r := range c.readings {
					d.set(begun.Add(r.after))
					if i > 0 || r.after > 0 {
						got = d.find("one")
					}
					if text := got.Status + " " + percent(got, amount); text != r.want {
						t.Errorf("after %v: %s, want %s", r.after, text, r.want)
					}
				}
				d.advance(24 * time.Hour)
				d.checkEnded()
				if o := d.find("ordinary"); o.Status != "filled" {
					t.Errorf("the order for another stock: %+v", o)
				}
			})
		}
	}
}

// percent returns how much of an order is filled: of its shares, or of its dollars within
// the rounding, since the price moves between the fills.
func percent(o order, amount string) string {
	qty := int64(shares(o.FilledQty))
	if strings.Contains(amount, "qty") {
		return fmt.Sprint(qty * 100 / 4_000_000_000)
	}
	if o.FilledAvgPrice == nil {
		return fmt.Sprint(qty)
	}
	dollars := qty / 1_000 * int64(price(*o.FilledAvgPrice)) / 1_000_000_000 // millionths
	return fmt.Sprint((dollars*100 + 500_000_000) / 1_000_000_000)
}

// checkEnded checks that nothing is held for orders, and that cash and positions balance.
func (d *desk) checkEnded() {
	d.t.Helper()
	d.b.RemoveFault(0)
	a := d.account()
	if a.Cash != a.BuyingPower {
		d.t.Errorf("ended orders hold cash: %+v", a)
	}
	spent := usd("1000000000000") - usd(a.Cash)
	for _, p := range get[[]position](d, "/v2/positions") {
		spent -= usd(p.CostBasis)
		if p.Qty != p.QtyAvailable {
			d.t.Errorf("ended orders hold shares: %+v", p)
		}
	}
	if spent != 0 {
		d.t.Errorf("cash is off by %s", spent)
	}
}

// TestFalsifiedAnswers checks that such a fault changes only the answers: the books have an
// ordinary order.
func TestFalsifiedAnswers(t *testing.T) {
	t.Parallel()
	for fault, wrong := range map[string]func(o order) bool{
		"wrong-symbol":   func(o order) bool { return o.Symbol != "F" },
		"wrong-side":     func(o order) bool { return o.Side == "sell" },
		"wrong-notional": func(o order) bool { return *o.Notional == "12.01" },
		"zero-price":     func(o order) bool { return *o.FilledAvgPrice == "0" },
		"absurd-price":   func(o order) bool { return len(*o.FilledAvgPrice) >= 5 && !strings.Contains(*o.FilledAvgPrice, ".") },
	} {
		d := newDesk(t, paper.Options{Control: true})
		d.afflict(fault)
		d.place("one", "F", "buy", notional("12"))
		d.advance(time.Second)
		if o := d.find("one"); o.Status != "filled" || !wrong(o) {
			t.Errorf("%s: %+v", fault, o)
		}
		if list := get[[]order](d, "/v2/orders?status=all"); len(list) != 1 || !wrong(list[0]) {
			t.Errorf("%s in the list: %+v", fault, list)
		}
		if o := get[order](d, "/control/orders/one"); wrong(o) || o.Status != "filled" {
			t.Errorf("%s: the actual order is %+v", fault, o)
		}
		r, found, err := d.b.Order(t.Context(), "one")
		if err != nil || !found || r.Symbol != "F" || r.Status != "filled" || r.FilledPrice <= 0 || r.Fault != fault {
			t.Errorf("%s: %+v %v %v", fault, r, found, err)
		}
		d.checkEnded()
		if p := d.position("F"); p.CostBasis < "11.99" {
			t.Errorf("%s: %+v", fault, p)
		}
	}
}

func TestLateVisibility(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	d.afflict("late-visibility by=10m times=1")
	o := d.place("one", "F", "buy", notional("12"))
	d.place("two", "F", "buy", notional("12"))
	checkVisible := func(want string) {
		t.Helper()
		listed := len(get[[]order](d, "/v2/orders?status=all"))
		if got := fmt.Sprint(listed, d.status("/v2/orders/"+o.ID), d.status(byClientID("one"))); got != want {
			t.Errorf("orders listed, status by id and by client order id: %s, want %s", got, want)
		}
	}
	for id, want := range map[string]bool{"one": true, "none": false} {
		if _, found, err := d.b.Order(t.Context(), id); found != want || err != nil {
			t.Errorf("Order(%s): found %v, %v; want %v", id, found, err, want)
		}
	}
	checkVisible("1 404 404")
	d.expect("POST", "/v2/orders", market("one", "F", "buy", notional("12")), 422, "must be unique")
	d.advance(10 * time.Minute)
	checkVisible("2 200 200")
}

// TestFatesSurviveARestart: a fate is stored with its order, a fault is not.
func TestFatesSurviveARestart(t *testing.T) {
	t.Parallel()
	d := newFileDesk(t, paper.Options{})
	d.afflict("partial-then-canceled by=5s chance=100% times=1", "late-visibility by=3s")
	d.place("one", "F", "buy", notional("12"))
	d.advance(time.Second)
	d.reopen(paper.Options{})
	if got := d.status(byClientID("one")); got != 404 {
		t.Errorf("after 1 s: status %d, want the order hidden", got)
	}
	d.advance(2 * time.Second)
	if o := d.find("one"); o.Status != "partially_filled" {
		t.Errorf("after 3 s: %+v", o)
	}
	d.advance(3 * time.Second)
	if o := d.find("one"); o.Status != "canceled" || o.FilledQty == "0" {
		t.Errorf("after 6 s: %+v", o)
	}
}
