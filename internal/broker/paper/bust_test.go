package paper_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

// A bust changes the order, the position and the cash, by as much of each.
func TestBust(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.bought(t, "one", "F", "12")
	before := d.find(t, "one")
	qty, cash := shares(t, before.FilledQty), usd(t, get[account](t, d, "/v2/account").Cash)
	for _, part := range []string{"0.5", "1.25"} {
		told := decode[order](t, d.do(t, http.MethodPost, "/control/orders/one/bust", `{"filled_qty":"`+part+`"}`))
		found := d.find(t, "one")
		if told.FilledQty != part || found.FilledQty != part || found.Status != "filled" ||
			*found.FilledAvgPrice != *before.FilledAvgPrice {
			t.Errorf("bust to %s: told %+v, found %+v", part, told, found)
		}
		held := get[[]position](t, d, "/v2/positions")
		if len(held) != 1 || held[0].Qty != part {
			t.Errorf("bust to %s: the account holds %+v", part, held)
		}
		moved := usd(t, get[account](t, d, "/v2/account").Cash) - cash
		if less := shares(t, part) < qty; less != (moved > 0) {
			t.Errorf("bust from %s to %s: the cash moved by %s", qty, part, moved)
		}
	}
	decode[order](t, d.do(t, http.MethodPost, "/control/orders/one/bust", `{"filled_qty":"`+before.FilledQty+`"}`))
	if got := usd(t, get[account](t, d, "/v2/account").Cash); got != cash {
		t.Errorf("back at first the cash is %s, was %s", got, cash)
	}
}

func TestBustRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Cash: 1_000 * money.Dollar})
	d.bought(t, "one", "F", "12")
	d.place(t, "sale", "F", "sell", `"qty":"0.5"`)
	d.advance(time.Second)
	afflict(t, d.b, "cancel by=0s")
	d.place(t, "none", "F", "buy", `"notional":"12"`)
	d.b.RemoveFault(0)
	d.advance(time.Second)
	d.place(t, "open", "F", "buy", `"notional":"12"`)
	d.place(t, "held", "F", "sell", `"qty":"0.3"`)
	before := get[[]position](t, d, "/v2/positions")
	for _, c := range []struct {
		id, body, want string
		status         int
	}{
		{"no", `{"filled_qty":"1"}`, "not found", http.StatusNotFound},
		{"open", `{"filled_qty":"1"}`, "only an ended buy", http.StatusUnprocessableEntity},
		{"none", `{"filled_qty":"1"}`, "only an ended buy", http.StatusUnprocessableEntity},
		{"sale", `{"filled_qty":"1"}`, "only an ended buy", http.StatusUnprocessableEntity},
		{"one", `{"filled_qty":"0"}`, "not to zero shares", http.StatusUnprocessableEntity},
		{"one", `{"filled_qty":"0.1"}`, "lacks the shares or the cash", http.StatusUnprocessableEntity},
		{"one", `{"filled_qty":"900"}`, "lacks the shares or the cash", http.StatusUnprocessableEntity},
		{"one", `{"filled_qty":"much"}`, "must be a number of shares", http.StatusBadRequest},
		{"one", `{}`, "must be a number of shares", http.StatusBadRequest},
		{"one", `{"qty":"1"}`, "the body must be", http.StatusBadRequest},
	} {
		got := d.do(t, http.MethodPost, "/control/orders/"+c.id+"/bust", c.body)
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.id, c.body, got.status, got.body, c.status, c.want)
		}
	}
	if after := get[[]position](t, d, "/v2/positions"); len(after) != 1 || after[0].Qty != before[0].Qty {
		t.Errorf("the account holds %+v, held %+v", after, before)
	}
}

// Busts of one order at once come one after the other: the account holds what the last
// one left of the order.
func TestBustsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.bought(t, "one", "F", "12")
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			d.do(t, http.MethodPost, "/control/orders/one/bust", fmt.Sprintf(`{"filled_qty":"0.%02d"}`, 20+n))
		})
	}
	all.Wait()
	held := get[[]position](t, d, "/v2/positions")
	if o := d.find(t, "one"); len(held) != 1 || held[0].Qty != o.FilledQty {
		t.Errorf("the account holds %+v, the order brought %s", held, o.FilledQty)
	}
}
