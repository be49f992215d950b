package paper_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

const initialCash = 100_000 * money.Dollar

// TestAnythingGoes: whatever is announced, faulted, traded, busted, moved and closed, in any
// order, the brokerage answers, and its activities add up to its positions and its cash.
func TestAnythingGoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		hours := rapid.SampledFrom([]paper.Hours{paper.AlwaysOpen, paper.USEquities}).Draw(r, "hours")
		d := newDesk(t, paper.Options{Control: true, Hours: hours, Cash: initialCash})
		for step := range rapid.IntRange(4, 16).Draw(r, "steps") {
			method, path, body := drawRequest(r, d, step)
			if got := d.do(method, path, body); got.status >= http.StatusInternalServerError {
				r.Fatalf("%s %s %s: %d %s", method, path, body, got.status, got.body)
			}
			d.advance(time.Duration(rapid.SampledFrom([]int64{0, 1, 3_600, 30_000, 90_000}).Draw(r, "wait")) * time.Second)
		}
		d.advance(8 * 24 * time.Hour)
		d.checkSums(r)
	})
}

// actionFaults strike corporate actions.
func actionFaults() []string {
	return []string{
		faults.LateAnnouncement, faults.WrongRatio, faults.ReversedRatio, faults.DuplicateAnnouncement, faults.Revised,
		faults.LatePosition, faults.CashInLieu, faults.FractionReversed, faults.RoundUp, faults.WrongDirection,
		faults.NewAssetID,
	}
}

// drawRequest returns any request that changes something.
func drawRequest(r *rapid.T, d *desk, step int) (method, path, body string) {
	symbol := func() string {
		return rapid.SampledFrom([]string{"F", "F", "NVDA", "AAPL", "NEW", "OLD", "WHOLE"}).Draw(r, "symbol")
	}
	number := func() string {
		return rapid.SampledFrom([]string{"1", "2", "3", "0.05", "7.25", "1000000"}).Draw(r, "number")
	}
	day := func() string {
		return d.now().AddDate(0, 0, rapid.IntRange(-1, 3).Draw(r, "days")).Format(time.DateOnly)
	}
	const actions = "/control/corporate-actions"
	switch rapid.IntRange(0, 9).Draw(r, "request") {
	case 0, 1:
		side := rapid.SampledFrom([]string{"buy", "buy", "sell"}).Draw(r, "side")
		return "POST", "/v2/orders", market(fmt.Sprint("order", step), symbol(), side, quantity(number()))
	case 2:
		return "POST", "/control/faults", rapid.SampledFrom(actionFaults()).Draw(r, "fault") + " times=1"
	case 3:
		return "POST", fmt.Sprintf("/control/orders/order%d/bust", rapid.IntRange(0, step).Draw(r, "order")),
			`{"filled_qty":"` + number() + `"}`
	case 4:
		return "PUT", "/control/prices/" + symbol(), `{"price":"` + number() + `"}`
	case 5:
		return "PUT", "/control/market", fmt.Sprintf(`{"open":%t}`, rapid.Bool().Draw(r, "open"))
	case 6:
		if list := get[[]announced](d, actions); len(list) > 0 {
			return "DELETE", actions + "/" + rapid.SampledFrom(list).Draw(r, "action").ID, ""
		}
	}
	template := rapid.SampledFrom([]string{
		`{"type":"forward_split","symbol":S,"old_rate":N,"new_rate":N,"ex_date":D}`,
		`{"type":"reverse_split","symbol":S,"old_rate":N,"new_rate":N,"new_symbol":S,"ex_date":D}`,
		`{"type":"stock_dividend","symbol":S,"rate":N,"ex_date":D}`,
		`{"type":"cash_dividend","symbol":S,"rate":N,"tax_rate":0.15,"ex_date":D,"payable_date":D}`,
		`{"type":"name_change","old_symbol":S,"new_symbol":S,"process_date":D}`,
		`{"type":"spin_off","source_symbol":S,"source_rate":N,"new_symbol":S,"new_rate":N,"ex_date":D}`,
		`{"type":"stock_merger","acquiree_symbol":S,"acquirer_symbol":S,"acquiree_rate":N,"acquirer_rate":N,"effective_date":D}`,
		`{"type":"cash_merger","acquiree_symbol":S,"rate":N,"effective_date":D,"payable_date":D}`,
		`{"type":"stock_and_cash_merger","acquiree_symbol":S,"acquirer_symbol":S,"acquiree_rate":N,"acquirer_rate":N,"cash_rate":N,"effective_date":D}`,
		`{"type":"worthless_removal","symbol":S,"process_date":D}`,
	}).Draw(r, "kind")
	for _, p := range []struct {
		name, quote string
		draw        func() string
	}{{":S", `"`, symbol}, {":N", "", number}, {":D", `"`, day}} {
		for strings.Contains(template, p.name) {
			template = strings.Replace(template, p.name, ":"+p.quote+p.draw()+p.quote, 1)
		}
	}
	return "POST", actions, template
}

// checkSums compares the activities with the positions, and reads everything else.
func (d *desk) checkSums(r *rapid.T) {
	for _, path := range []string{
		"/v2/account", "/v2/assets", "/v2/clock", "/v2/orders?status=all", "/v2/stocks/snapshots?symbols=F,NEW,OLD,NVDA",
		"/v1/corporate-actions?start=2026-01-01&end=2027-12-31", "/control/corporate-actions",
	} {
		if got := d.do(http.MethodGet, path, ""); got.status != http.StatusOK {
			r.Errorf("GET %s: %d %s", path, got.status, got.body)
		}
	}
	sums, cash := map[string]money.Shares{}, money.USD(0)
	for token := ""; ; {
		page := get[[]map[string]string](d, "/v2/account/activities?direction=asc&page_token="+token)
		if len(page) == 0 {
			break
		}
		for _, a := range page {
			qty := shares(a["qty"])
			switch {
			case a["activity_sub_type"] == "CDIV" || a["activity_type"] == "DIVNRA": // what was paid for
				qty = 0
			case a["side"] == "sell":
				qty = -qty
			}
			sums[a["symbol"]] += qty
			if a["net_amount"] != "" {
				cash += usd(a["net_amount"])
			}
			token = a["id"]
		}
	}
	for _, o := range get[[]order](d, "/v2/orders?status=all&limit=500") {
		actual, _, err := d.b.Order(d.t.Context(), o.ClientOrderID)
		d.check(err)
		if o.Side == "sell" {
			cash += actual.FilledValue
		} else {
			cash -= actual.FilledValue
		}
	}
	if got := usd(d.account().Cash) - initialCash; got != cash {
		r.Errorf("the cash changed by %s, the sum of activities and orders is %s", got, cash)
	}
	for _, p := range get[[]position](d, "/v2/positions") {
		if sums[p.Symbol] != shares(p.Qty) {
			r.Errorf("the position of %s is %s, the sum of its activities %s", p.Symbol, p.Qty, sums[p.Symbol])
		}
		delete(sums, p.Symbol)
	}
	for symbol, sum := range sums {
		if sum != 0 {
			r.Errorf("there is no position of %s, the sum of its activities is %s", symbol, sum)
		}
	}
}
