package paper_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

// TestBust corrects a fill down, up and back: order, position and cash follow.
func TestBust(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.buy("one", "F", "12")
	before, cash := d.find("one"), usd(d.account().Cash)
	for _, qty := range []string{"0.5", "1.25", before.FilledQty} {
		busted := send[order](d, "POST", "/control/orders/one/bust", `{"filled_qty":"`+qty+`"}`)
		found := d.find("one")
		if busted.FilledQty != qty || found.FilledQty != qty || found.Status != "filled" ||
			*found.FilledAvgPrice != *before.FilledAvgPrice {
			t.Errorf("bust to %s: answer %+v, order %+v", qty, busted, found)
		}
		if p := d.position("F"); p.Qty != qty {
			t.Errorf("bust to %s: the position is %s", qty, p.Qty)
		}
		back := usd(d.account().Cash) - cash
		if fewer := shares(before.FilledQty) - shares(qty); (back > 0) != (fewer > 0) || (back < 0) != (fewer < 0) {
			t.Errorf("bust from %s to %s: the cash changed by %s", before.FilledQty, qty, back)
		}
	}
}

func TestBustRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Cash: 1_000 * money.Dollar})
	d.buy("one", "F", "12")
	d.place("sale", "F", "sell", quantity("0.5"))
	d.advance(time.Second)
	d.afflict("cancel by=0s")
	d.place("none", "F", "buy", notional("12"))
	d.b.RemoveFault(0)
	d.advance(time.Second)
	d.place("open", "F", "buy", notional("12"))
	d.place("held", "F", "sell", quantity("0.3"))
	before := d.position("F")
	for _, c := range []struct {
		id, body, want string
		status         int
	}{
		{"no", `{"filled_qty":"1"}`, "not found", 404},
		{"open", `{"filled_qty":"1"}`, "only an ended buy", 422},
		{"none", `{"filled_qty":"1"}`, "only an ended buy", 422},
		{"sale", `{"filled_qty":"1"}`, "only an ended buy", 422},
		{"one", `{"filled_qty":"0"}`, "not to zero shares", 422},
		{"one", `{"filled_qty":"0.1"}`, "lacks the shares or the cash", 422},
		{"one", `{"filled_qty":"900"}`, "lacks the shares or the cash", 422},
		{"one", `{"filled_qty":"much"}`, "must be a number of shares", 400},
		{"one", `{}`, "must be a number of shares", 400},
		{"one", `{"qty":"1"}`, "the body must be", 400},
	} {
		d.expect("POST", "/control/orders/"+c.id+"/bust", c.body, c.status, c.want)
	}
	if after := d.position("F"); after != before {
		t.Errorf("the position changed from %+v to %+v", before, after)
	}
}

// TestActivitiesOfBusts: each bust writes an activity that names the one that it corrects.
func TestActivitiesOfBusts(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.place("one", "F", "buy", quantity("2"))
	for _, qty := range []string{"0.5", "3"} {
		d.advance(time.Second)
		d.expect("POST", "/control/orders/one/bust", `{"filled_qty":"`+qty+`"}`, 200, "")
	}
	var got []string
	previous := ""
	for _, a := range get[[]map[string]string](d, "/v2/account/activities?direction=asc") {
		if a["previous_id"] != previous || a["order_id"] != d.find("one").ID {
			t.Errorf("activity %v, want it to correct %s", a, previous)
		}
		previous = a["id"]
		got = append(got, a["activity_type"]+" "+a["type"]+" "+a["qty"]+" "+a["cum_qty"])
	}
	want := []string{"FILL fill 2 2", "FILL trade_bust -1.5 0.5", "FILL trade_correct 2.5 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
}

// TestConcurrentBusts checks that busts of one order are serialized: the position agrees
// with the last one.
func TestConcurrentBusts(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.buy("one", "F", "12")
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() { d.do("POST", "/control/orders/one/bust", fmt.Sprintf(`{"filled_qty":"0.%02d"}`, 20+n)) })
	}
	all.Wait()
	if p, o := d.position("F"), d.find("one"); p.Qty != o.FilledQty {
		t.Errorf("the position is %s, the order bought %s", p.Qty, o.FilledQty)
	}
}
