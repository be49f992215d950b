package paper_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

type announced struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	Status      string         `json:"status"`
	Symbol      string         `json:"symbol"`
	OldRate     jsontext.Value `json:"old_rate"`
	NewRate     jsontext.Value `json:"new_rate"`
	ExDate      string         `json:"ex_date"`
	ProcessDate string         `json:"process_date"`
	Cusip       string         `json:"cusip"`
	OldCusip    string         `json:"old_cusip"`
	NewCusip    string         `json:"new_cusip"`
}

type actionList struct {
	Actions map[string][]announced `json:"corporate_actions"`
	Next    *string                `json:"next_page_token"`
}

// announce announces a corporate action that must be accepted.
func (d *desk) announce(body string) (a announced) {
	d.t.Helper()
	r := d.do("POST", "/control/corporate-actions", body)
	if r.status != http.StatusCreated {
		d.t.Fatalf("announce %s: %d %s", body, r.status, r.body)
	}
	d.check(json.Unmarshal([]byte(r.body), &a))
	return a
}

// lastTrade returns the time and price of a stock's latest trade.
func (d *desk) lastTrade(symbol string) (time.Time, money.Price) {
	d.t.Helper()
	type snapshot struct {
		LatestTrade struct {
			Time  time.Time      `json:"t"`
			Price jsontext.Value `json:"p"`
		} `json:"latestTrade"`
	}
	s := get[map[string]snapshot](d, "/v2/stocks/snapshots?symbols="+symbol)[symbol]
	return s.LatestTrade.Time, price(string(s.LatestTrade.Price))
}

func split(kind, symbol, oldRate, newRate, exDate string) string {
	return `{"type":"` + kind + `_split","symbol":"` + symbol + `","old_rate":` + oldRate + `,"new_rate":` + newRate +
		`,"ex_date":"` + exDate + `"}`
}

func newYork(text string) time.Time {
	return must(time.ParseInLocation(time.DateTime, text, must(time.LoadLocation("America/New_York")))).UTC()
}

// TestForwardSplit: section 9 of interface-additions.md. Positions and prices change at
// 02:30 New York. From 20:00 of the session before, the stock is halted and orders wait.
func TestForwardSplit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.buy("before", "F", "1000")
	before := d.position("F")
	a := d.announce(split("forward", "F", "1", "4.000", "2026-03-17"))
	if string(a.NewRate) != "4.000" || a.ExDate != "2026-03-17" || a.ProcessDate != "2026-03-17" || a.ID == "" || len(a.Cusip) != 9 {
		t.Errorf("announcement %+v", a)
	}
	d.set(newYork("2026-03-16 19:59:59"))
	lastTime, lastPrice := d.lastTrade("F")
	d.set(newYork("2026-03-17 02:29:59"))
	if at, p := d.lastTrade("F"); !at.Equal(lastTime) || p != lastPrice {
		t.Errorf("while halted the last trade is %s at %v, want %s at %v", p, at, lastPrice, lastTime)
	}
	d.place("waits", "F", "buy", notional("10"))
	d.place("other", "NVDA", "buy", notional("10"))
	d.advance(900 * time.Millisecond)
	if waits, other := d.find("waits"), d.find("other"); waits.Status != "new" || other.Status != "filled" {
		t.Errorf("while halted an order is %s, another stock's %s", waits.Status, other.Status)
	}
	if got := d.position("F"); got.Qty != before.Qty {
		t.Errorf("before 02:30 the position is %s, want %s", got.Qty, before.Qty)
	}
	d.advance(100 * time.Millisecond)
	got := d.position("F")
	if want := (shares(before.Qty) * 4).String(); got.Qty != want || got.CostBasis != before.CostBasis {
		t.Errorf("at 02:30: %s shares, cost %s; want %s and %s", got.Qty, got.CostBasis, want, before.CostBasis)
	}
	_, newPrice := d.lastTrade("F")
	if newPrice < lastPrice*10/42 || newPrice > lastPrice*10/38 {
		t.Errorf("the price changed from %s to %s", lastPrice, newPrice)
	}
	d.advance(time.Second)
	if o := d.find("waits"); o.Status != "filled" || price(*o.FilledAvgPrice) > newPrice*21/20 {
		t.Errorf("after the halt: %+v, at %s", o, *o.FilledAvgPrice)
	}
}

// TestReverseSplitRoundsDown: a position becomes the exact ratio, rounded down at nine decimals.
func TestReverseSplitRoundsDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	d.place("one", "F", "buy", quantity("10.000000001"))
	d.advance(time.Second)
	a := d.announce(split("reverse", "F", "3", "1", "2026-03-17"))
	if a.OldCusip == "" || a.OldCusip == a.NewCusip || a.Cusip != "" {
		t.Errorf("announcement %+v", a)
	}
	_, before := d.lastTrade("F")
	d.set(newYork("2026-03-17 03:00:00"))
	if got := d.position("F"); got.Qty != "3.333333333" {
		t.Errorf("the position is %s", got.Qty)
	}
	if at, p := d.lastTrade("F"); !at.Equal(newYork("2026-03-17 02:30:00")) || p < before*2 {
		t.Errorf("while the market is closed the last trade is %s at %v, it was %s before", p, at, before)
	}
	list := get[[]map[string]string](d, "/v2/account/activities?activity_types=SPLIT")
	if len(list) != 1 {
		t.Fatalf("activities %v, want one", list)
	}
	want := map[string]string{
		"activity_type": "SPLIT", "activity_sub_type": "RSPLIT", "qty": "-6.666666668", "symbol": "F",
		"date": "2026-03-17", "status": "executed", "group_id": a.ID, "net_amount": "0", "currency": "USD",
		"id": list[0]["id"], "created_at": list[0]["created_at"], "cusip": list[0]["cusip"],
	}
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Errorf("activity (-want +got):\n%s", diff)
	}
}

// TestHaltBeginsWithTheLastSession: a split after a long weekend halts the stock from the
// evening of the session before.
func TestHaltBeginsWithTheLastSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	d.announce(split("forward", "F", "1", "2", "2026-04-06")) // the Monday after Good Friday
	for _, c := range []struct{ now, traded string }{
		{"2026-04-02 15:59:00", "2026-04-02 15:59:00"},
		{"2026-04-02 20:00:00", "2026-04-02 16:00:00"},
		{"2026-04-06 02:29:59", "2026-04-02 16:00:00"},
		{"2026-04-06 02:30:00", "2026-04-06 02:30:00"},
		{"2026-04-06 09:45:00", "2026-04-06 09:45:00"},
	} {
		d.set(newYork(c.now))
		if got, _ := d.lastTrade("F"); !got.Equal(newYork(c.traded)) {
			t.Errorf("at %s the last trade is of %v, want %s", c.now, got, c.traded)
		}
	}
}

func TestListOfCorporateActions(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	today := d.announce(split("forward", "F", "1", "2", "2026-03-16")) // happens at once
	later := d.announce(split("reverse", "NVDA", "10", "1", "2026-03-20"))
	d.announce(`{"type":"cash_dividend","symbol":"F","rate":0.123456789,"ex_date":"2026-03-18","payable_date":"2026-04-20"}`)
	d.announce(`{"type":"name_change","old_symbol":"NVDA","new_symbol":"NVID","process_date":"2026-03-19"}`)
	check := func(query string, want ...string) actionList {
		t.Helper()
		list := get[actionList](d, "/v1/corporate-actions"+query)
		var got []string
		for group, actions := range list.Actions {
			for _, a := range actions {
				got = append(got, group+" "+a.ProcessDate)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		return list
	}
	check("", "forward_splits 2026-03-16")
	const all = "?start=2026-03-01&end=2026-12-31"
	check(all, "forward_splits 2026-03-16", "reverse_splits 2026-03-20", "cash_dividends 2026-04-20", "name_changes 2026-03-19")
	check(all+"&symbols=F,AAPL", "forward_splits 2026-03-16", "cash_dividends 2026-04-20")
	check(all+"&symbols=NVID", "name_changes 2026-03-19")
	check(all+"&types=reverse_split,name_change", "reverse_splits 2026-03-20", "name_changes 2026-03-19")
	check("?ids="+later.ID, "reverse_splits 2026-03-20")
	first := check(all+"&limit=3", "forward_splits 2026-03-16", "name_changes 2026-03-19", "reverse_splits 2026-03-20")
	if first.Next == nil {
		t.Fatal("no next page")
	}
	if last := check(all+"&limit=3&page_token="+*first.Next, "cash_dividends 2026-04-20"); last.Next != nil {
		t.Errorf("a page after the last: %q", *last.Next)
	}
	check(all+"&limit=1&sort=desc", "cash_dividends 2026-04-20")
	for _, query := range []string{"?limit=0", "?limit=1001", "?sort=up", "?start=today", "?types=split", "?page_token=x"} {
		d.expect("GET", "/v1/corporate-actions"+query, "", 400, "")
	}
	states := map[string]string{}
	for _, a := range get[[]announced](d, "/control/corporate-actions") {
		states[a.ID] = a.Type + " " + a.Status
	}
	if states[today.ID] != "forward_split happened" || states[later.ID] != "reverse_split announced" || len(states) != 4 {
		t.Errorf("%v", states)
	}
}

func TestWithdrawnCorporateAction(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.buy("one", "F", "100")
	before := d.position("F").Qty
	a := d.announce(split("forward", "F", "1", "2", "2026-03-17"))
	happened := d.announce(split("forward", "NVDA", "1", "2", "2026-03-16"))
	for _, c := range []struct {
		id   string
		want int
	}{{a.ID, 204}, {a.ID, 404}, {happened.ID, 409}, {"nobody", 404}} {
		d.expect("DELETE", "/control/corporate-actions/"+c.id, "", c.want, "")
	}
	d.set(newYork("2026-03-17 01:00:00"))
	if traded, _ := d.lastTrade("F"); !traded.Equal(d.now()) {
		t.Errorf("the stock is still halted: the last trade is of %v", traded)
	}
	d.set(newYork("2026-03-17 10:00:00"))
	d.place("two", "NVDA", "buy", notional("10")) // also carries out what is due
	if got := d.position("F").Qty; got != before {
		t.Errorf("a withdrawn split changed %s to %s", before, got)
	}
}

func TestAnnounceRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	for name, body := range map[string]string{
		"no object":        `[]`,
		"no type":          `{"symbol":"F","old_rate":1,"new_rate":2,"ex_date":"2026-03-17"}`,
		"unknown type":     `{"type":"split","symbol":"F","old_rate":1,"new_rate":2,"ex_date":"2026-03-17"}`,
		"unknown member":   `{"type":"forward_split","symbol":"F","old_rate":1,"new_rate":2,"ex_date":"2026-03-17","rate":1}`,
		"twice":            `{"type":"forward_split","symbol":"F","symbol":"F","old_rate":1,"new_rate":2,"ex_date":"2026-03-17"}`,
		"no rate":          `{"type":"forward_split","symbol":"F","new_rate":2,"ex_date":"2026-03-17"}`,
		"a string":         `{"type":"forward_split","symbol":"F","old_rate":"1","new_rate":2,"ex_date":"2026-03-17"}`,
		"zero":             split("forward", "F", "0", "2", "2026-03-17"),
		"negative":         `{"type":"forward_split","symbol":"F","old_rate":-1,"new_rate":2,"ex_date":"2026-03-17"}`,
		"too fine":         split("forward", "F", "1", "2.0000000001", "2026-03-17"),
		"too large":        split("forward", "F", "1", "1000001", "2026-03-17"),
		"equal":            `{"type":"forward_split","symbol":"F","old_rate":2,"new_rate":2,"ex_date":"2026-03-17"}`,
		"wrong way":        `{"type":"reverse_split","symbol":"F","old_rate":1,"new_rate":2,"ex_date":"2026-03-17"}`,
		"no such stock":    split("forward", "NOPE", "1", "2", "2026-03-17"),
		"no symbol":        split("forward", "f", "1", "2", "2026-03-17"),
		"no date":          split("forward", "F", "1", "2", "2026-02-30"),
		"a time":           split("forward", "F", "1", "2", "2026-03-17T00:00:00Z"),
		"a year too early": split("forward", "F", "1", "2", "1969-03-17"),
		"taxed too much":   `{"type":"cash_dividend","symbol":"F","rate":1,"tax_rate":1.1,"ex_date":"2026-03-17","payable_date":"2026-03-17"}`,
		"merged with self": `{"type":"stock_merger","acquiree_symbol":"F","acquirer_symbol":"F","acquiree_rate":1,"acquirer_rate":2,"effective_date":"2026-03-17"}`,
		"paid before":      `{"type":"cash_dividend","symbol":"F","rate":1,"ex_date":"2026-03-17","payable_date":"2026-03-16"}`,
	} {
		if got := d.do("POST", "/control/corporate-actions", body); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	for name, body := range map[string]string{
		"new_symbol": `{"type":"name_change","old_symbol":"F","new_symbol":"AAPL","process_date":"2026-03-17"}`,
		"exists":     `{"type":"reverse_split","symbol":"F","old_rate":2,"new_rate":1,"new_symbol":"AAPL","ex_date":"2026-03-17"}`,
	} {
		d.expect("POST", "/control/corporate-actions", body, http.StatusConflict, name)
	}
	if list := get[[]announced](d, "/control/corporate-actions"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// TestActionThatCannotHappen: of two renames to one symbol the second is withdrawn, and
// nothing of it is done.
func TestActionThatCannotHappen(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	d.announce(`{"type":"name_change","old_symbol":"AAPL","new_symbol":"X","process_date":"2026-03-17"}`)
	d.announce(`{"type":"reverse_split","symbol":"F","old_rate":2,"new_rate":1,"new_symbol":"X","ex_date":"2026-03-17"}`)
	d.set(newYork("2026-03-17 10:00:00"))
	if got := d.position("F").Qty; got != "10" || len(d.booked()) != 0 {
		t.Errorf("the position is %s, activities %v", got, d.booked())
	}
	list := get[[]announced](d, "/control/corporate-actions")
	if list[0].Status != "happened" || list[1].Status != "withdrawn" {
		t.Errorf("%+v", list)
	}
}

// TestAllTypesAreListed announces every other type: each is in the group of its name.
func TestAllTypesAreListed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	for _, body := range []string{
		`{"type":"stock_dividend","symbol":"F","rate":0.05,"ex_date":"2026-03-20"}`,
		`{"type":"spin_off","source_symbol":"F","source_rate":5,"new_symbol":"NEW","new_rate":1,"ex_date":"2026-03-20"}`,
		`{"type":"stock_merger","acquiree_symbol":"F","acquirer_symbol":"NVDA","acquiree_rate":1,"acquirer_rate":0.5,"effective_date":"2026-03-20"}`,
		`{"type":"cash_merger","acquiree_symbol":"F","acquirer_symbol":"NVDA","rate":20,"effective_date":"2026-03-20"}`,
		`{"type":"stock_and_cash_merger","acquiree_symbol":"F","acquirer_symbol":"NVDA","acquiree_rate":1,"acquirer_rate":0.5,"cash_rate":2,"effective_date":"2026-03-20"}`,
		`{"type":"worthless_removal","symbol":"F","process_date":"2026-03-20"}`,
	} {
		d.announce(body)
	}
	list := get[actionList](d, "/v1/corporate-actions?start=2026-03-20&end=2026-03-20")
	if len(list.Actions) != 6 {
		t.Errorf("%+v", list)
	}
}

func TestActivitiesOfFills(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.afflict("partial-then-filled times=1")
	d.place("one", "F", "buy", quantity("2"))
	d.advance(time.Minute)
	d.buy("two", "NVDA", "10")
	list := get[[]map[string]string](d, "/v2/account/activities/FILL?direction=asc")
	var got []string
	for _, a := range list {
		got = append(got, a["symbol"]+" "+a["type"]+" "+a["qty"]+" "+a["cum_qty"]+" "+a["leaves_qty"]+" "+a["order_status"])
	}
	want := []string{"F partial_fill 1 1 1 partially_filled", "F fill 1 2 0 filled"}
	if diff := cmp.Diff(want, got[:2]); diff != "" || len(got) != 3 {
		t.Errorf("(-want +got):\n%s\n%v", diff, got)
	}
	page := get[[]map[string]string](d, "/v2/account/activities?page_size=2")
	rest := get[[]map[string]string](d, "/v2/account/activities?page_size=2&page_token="+page[1]["id"])
	if len(page) != 2 || len(rest) != 1 || rest[0]["id"] != list[0]["id"] || page[0]["id"] != list[2]["id"] {
		t.Errorf("pages: %v then %v", page, rest)
	}
	for _, query := range []string{"?page_size=101", "?page_size=0", "?category=x", "?after=yesterday", "?category=trade_activity&activity_types=FILL"} {
		d.expect("GET", "/v2/account/activities"+query, "", 422, "")
	}
}

// newDesks opens two brokerages on the same books; the first one takes announcements.
func newDesks(t *testing.T) (d, other *desk) {
	t.Helper()
	d = newFileDesk(t, paper.Options{Control: true})
	other = &desk{watch: d.watch, t: t, path: d.path}
	other.open(paper.Options{})
	return d, other
}

// TestSpinOffIsGivenByAnotherProcess: one of two brokerages on the same books lists the new stock, and the other one,
// which has not seen that, gives it. It may as well be another request.
func TestSpinOffIsGivenByAnotherProcess(t *testing.T) {
	t.Parallel()
	d, other := newDesks(t)
	d.buy("one", "F", "100")
	d.afflict("late-position symbol=F by=1h")
	d.announce(`{"type":"spin_off","source_symbol":"F","source_rate":1,"new_symbol":"SPUN","new_rate":2,"ex_date":"2026-03-17"}`)
	d.set(newYork("2026-03-17 02:30:00"))
	before := d.position("F").Qty
	d.set(newYork("2026-03-17 03:30:00"))
	if got, want := other.position("SPUN").Qty, (2 * shares(before)).String(); got != want {
		t.Errorf("%s shares of the new stock, want %s", got, want)
	}
}

// TestSplitIsSeenByOtherProcesses announces a split through one of two brokerages on the same books.
func TestSplitIsSeenByOtherProcesses(t *testing.T) {
	t.Parallel()
	d, other := newDesks(t)
	d.buy("one", "F", "100")
	before := other.position("F").Qty
	d.announce(split("forward", "F", "1", "3", "2026-03-17"))
	d.check(d.b.Close())
	d.set(newYork("2026-03-17 02:30:00"))
	last, _ := other.lastTrade("F")
	if got, want := other.position("F").Qty, (shares(before) * 3).String(); got != want || !last.Equal(d.now()) {
		t.Errorf("the position is %s, want %s; the last trade is of %v", got, want, last)
	}
}
