package paper_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
)

// reading is what is told of an order after some seconds: its status and about how
// much of it is filled, in percent.
type reading struct {
	after time.Duration
	want  string
}

// The true lives: what is told is what the books say in the end.
func TestFates(t *testing.T) {
	t.Parallel()
	const closing = 6 * time.Hour // monday is at 10:00
	for _, c := range []struct {
		fault string
		tells []reading
	}{
		{"reject", []reading{{0, "rejected 0"}, {time.Hour, "rejected 0"}}},
		{"reject-later by=2s", []reading{{0, "pending_new 0"}, {time.Second, "new 0"}, {2 * time.Second, "rejected 0"}}},
		{"cancel by=2s", []reading{{time.Second, "new 0"}, {2 * time.Second, "canceled 0"}}},
		{"expire", []reading{{time.Hour, "new 0"}, {closing, "expired 0"}}},
		{"expire by=2s", []reading{{time.Second, "new 0"}, {2 * time.Second, "expired 0"}}},
		{"partial-then-filled share=30 by=5s", []reading{{time.Second, "partially_filled 30"}, {6 * time.Second, "filled 100"}}},
		{"partial-then-canceled by=5s", []reading{{time.Second, "partially_filled 50"}, {6 * time.Second, "canceled 50"}}},
		{"partial-then-expired", []reading{{time.Hour, "partially_filled 50"}, {closing, "expired 50"}}},
		{"partial-then-expired by=9h", []reading{{time.Hour, "partially_filled 50"}, {closing, "expired 50"}}},
		{"fill-after-cancel by=5s", []reading{{time.Second, "canceled 0"}, {6 * time.Second, "filled 100"}}},
		{"shrinking-fill by=5s", []reading{{time.Second, "partially_filled 50"}, {6 * time.Second, "canceled 25"}}},
		{"unknown-status", []reading{{0, "hibernating 0"}, {time.Second, "hibernating 100"}}},
	} {
		for _, amount := range []string{`"notional":"1000"`, `"qty":"4"`} {
			t.Run(c.fault+" "+amount, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, paper.Options{Hours: paper.USEquities})
				afflict(t, d.b, c.fault+" symbol=AAPL")
				d.place(t, "ordinary", "F", "buy", `"notional":"7"`)
				got := d.place(t, "one", "AAPL", "buy", amount)
				begun := d.now()
				for i, r := range c.tells {
					d.set(begun.Add(r.after))
					if i > 0 || r.after > 0 {
						got = d.find(t, "one")
					}
					if text := got.Status + " " + percent(t, got, amount); text != r.want {
						t.Errorf("after %v: %s, want %s", r.after, text, r.want)
					}
				}
				d.advance(24 * time.Hour)
				balanced(t, d)
				if o := d.find(t, "ordinary"); o.Status != "filled" {
					t.Errorf("the order for another stock: %+v", o)
				}
			})
		}
	}
}

// percent is how much of an order is filled, rounded; of a price that wanders a
// little the dollars are what counts.
func percent(t *testing.T, o order, amount string) string {
	t.Helper()
	qty := int64(shares(t, o.FilledQty))
	if strings.Contains(amount, "qty") {
		return fmt.Sprint(qty * 100 / 4_000_000_000)
	}
	if o.FilledAvgPrice == nil {
		return fmt.Sprint(qty)
	}
	dollars := qty / 1_000 * int64(price(t, *o.FilledAvgPrice)) / 1_000_000_000 // millionths
	return fmt.Sprint((dollars*100 + 500_000_000) / 1_000_000_000)
}

// balanced checks that no order holds anything, and that cash and positions agree
// with what was told to be filled.
func balanced(t *testing.T, d *desk) {
	t.Helper()
	d.b.RemoveFault(0)
	a := get[account](t, d, "/v2/account")
	if a.Cash != a.BuyingPower {
		t.Errorf("ended orders hold money: %+v", a)
	}
	spent := usd(t, "1000000000000") - usd(t, a.Cash)
	for _, p := range get[[]position](t, d, "/v2/positions") {
		spent -= usd(t, p.CostBasis)
		if p.Qty != p.QtyAvailable {
			t.Errorf("ended orders hold shares: %+v", p)
		}
	}
	if spent != 0 {
		t.Errorf("cash is off by %s", spent)
	}
}

// What is told wrongly is told wrongly only: the books have the ordinary order.
func TestLies(t *testing.T) {
	t.Parallel()
	for fault, wrong := range map[string]func(o order) bool{
		"wrong-symbol":   func(o order) bool { return o.Symbol != "F" },
		"wrong-side":     func(o order) bool { return o.Side == "sell" },
		"wrong-notional": func(o order) bool { return *o.Notional == "12.01" },
		"zero-price":     func(o order) bool { return *o.FilledAvgPrice == "0" },
		"absurd-price":   func(o order) bool { return len(*o.FilledAvgPrice) >= 5 && !strings.Contains(*o.FilledAvgPrice, ".") },
	} {
		d := newDesk(t, paper.Options{Control: true})
		afflict(t, d.b, fault)
		d.place(t, "one", "F", "buy", `"notional":"12"`)
		d.advance(time.Second)
		if o := d.find(t, "one"); o.Status != "filled" || !wrong(o) {
			t.Errorf("%s: %+v", fault, o)
		}
		if list := get[[]order](t, d, "/v2/orders?status=all"); len(list) != 1 || !wrong(list[0]) {
			t.Errorf("%s in the list: %+v", fault, list)
		}
		if o := get[order](t, d, "/control/orders/one"); wrong(o) || o.Status != "filled" {
			t.Errorf("%s: the truth is told as %+v", fault, o)
		}
		r, found, err := d.b.Order(t.Context(), "one")
		if err != nil || !found || r.Symbol != "F" || r.Status != "filled" || r.FilledPrice <= 0 || r.Fault != fault {
			t.Errorf("%s: %+v %v %v", fault, r, found, err)
		}
		balanced(t, d)
		if p := get[position](t, d, "/v2/positions/F"); p.CostBasis < "11.99" {
			t.Errorf("%s: %+v", fault, p)
		}
	}
}

func TestLateVisibility(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	afflict(t, d.b, "late-visibility by=10m times=1")
	o := d.place(t, "one", "F", "buy", `"notional":"12"`)
	d.place(t, "two", "F", "buy", `"notional":"12"`)
	visible := func() string {
		return fmt.Sprint(len(get[[]order](t, d, "/v2/orders?status=all")),
			d.do(t, "GET", "/v2/orders/"+o.ID, "").status,
			d.do(t, "GET", "/v2/orders:by_client_order_id?client_order_id=one", "").status)
	}
	if _, found, err := d.b.Order(t.Context(), "one"); !found || err != nil {
		t.Errorf("the books have it: %v %v", found, err)
	}
	if _, found, err := d.b.Order(t.Context(), "none"); found || err != nil {
		t.Errorf("the books do not have it: %v %v", found, err)
	}
	if got := visible(); got != "1 404 404" {
		t.Errorf("hidden: %s", got)
	}
	again := d.do(t, "POST", "/v2/orders", market("one", "F", "buy", `"notional":"12"`))
	if again.status != 422 || !strings.Contains(again.body, "must be unique") {
		t.Errorf("sent again while hidden: %+v", again)
	}
	d.advance(10 * time.Minute)
	if got := visible(); got != "2 200 200" {
		t.Errorf("shown: %s", got)
	}
}

// A fate is in the books: it goes on after a restart, without the fault.
func TestFatesSurviveARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paper.db")
	w := &watch{at: monday()}
	first, err := paper.Open(t.Context(), path, paper.Options{Catalog: catalog(), Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{watch: w, b: first}
	afflict(t, d.b, "partial-then-canceled by=5s chance=100% times=1", "late-visibility by=3s")
	d.place(t, "one", "F", "buy", `"notional":"12"`)
	d.advance(time.Second)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	d.b = open(t, path, paper.Options{Now: w.now})
	if got := d.do(t, "GET", "/v2/orders:by_client_order_id?client_order_id=one", ""); got.status != 404 {
		t.Errorf("hidden no more: %+v", got)
	}
	d.advance(2 * time.Second)
	if o := d.find(t, "one"); o.Status != "partially_filled" {
		t.Errorf("after 3 s: %+v", o)
	}
	d.advance(3 * time.Second)
	if o := d.find(t, "one"); o.Status != "canceled" || o.FilledQty == "0" || o.FilledAt != nil && o.Status != "canceled" {
		t.Errorf("after 6 s: %+v", o)
	}
}
