package paper_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

// announced is what the tests look at in an announcement.
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

type lastTrade struct {
	LatestTrade struct {
		Time  time.Time      `json:"t"`
		Price jsontext.Value `json:"p"`
	} `json:"latestTrade"`
}

// announce announces an action that must be taken.
func (d *desk) announce(t *testing.T, body string) announced {
	t.Helper()
	r := d.do(t, http.MethodPost, "/control/corporate-actions", body)
	if r.status != http.StatusCreated {
		t.Fatalf("announce %s: %d %s", body, r.status, r.body)
	}
	var a announced
	if err := json.Unmarshal([]byte(r.body), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func (d *desk) snapshot(t *testing.T, symbol string) lastTrade {
	t.Helper()
	return get[map[string]lastTrade](t, d, "/v2/stocks/snapshots?symbols="+symbol)[symbol]
}

func split(symbol, oldRate, newRate, exDate string) string {
	kind := "forward_split"
	if len(newRate) < len(oldRate) || newRate < oldRate {
		kind = "reverse_split"
	}
	return `{"type":"` + kind + `","symbol":"` + symbol + `","old_rate":` + oldRate + `,"new_rate":` + newRate +
		`,"ex_date":"` + exDate + `"}`
}

func newYork(t *testing.T, text string) time.Time {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation(time.DateTime, text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// interface-additions.md, section 9: at 02:30 New York positions and prices change,
// from 20:00 of the session before there is no trade and orders wait.
func TestForwardSplit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.bought(t, "before", "F", "1000")
	before := get[position](t, d, "/v2/positions/F")
	a := d.announce(t, split("F", "1", "4.000", "2026-03-17"))
	if string(a.NewRate) != "4.000" || a.ExDate != "2026-03-17" || a.ProcessDate != "2026-03-17" || a.ID == "" || len(a.Cusip) != 9 {
		t.Errorf("the announcement: %+v", a)
	}
	d.set(newYork(t, "2026-03-16 19:59:59").UTC())
	last := d.snapshot(t, "F").LatestTrade
	d.set(newYork(t, "2026-03-17 02:29:59").UTC())
	if got := d.snapshot(t, "F").LatestTrade; !got.Time.Equal(last.Time) || string(got.Price) != string(last.Price) {
		t.Errorf("in the dark the last trade is %s of %v, want %s of %v", got.Price, got.Time, last.Price, last.Time)
	}
	d.place(t, "waits", "F", "buy", `"notional":"10"`)
	d.place(t, "other", "NVDA", "buy", `"notional":"10"`)
	d.advance(900 * time.Millisecond)
	if waits, other := d.find(t, "waits"), d.find(t, "other"); waits.Status != "new" || other.Status != "filled" {
		t.Errorf("in the dark: %s, another stock: %s", waits.Status, other.Status)
	}
	if got := get[position](t, d, "/v2/positions/F"); got.Qty != before.Qty {
		t.Errorf("before 02:30 the position is %s, want %s", got.Qty, before.Qty)
	}
	d.advance(100 * time.Millisecond)
	want := (shares(t, before.Qty) * 4).String()
	got := get[position](t, d, "/v2/positions/F")
	if got.Qty != want || got.CostBasis != before.CostBasis {
		t.Errorf("at 02:30: %s shares, cost %s; want %s and %s", got.Qty, got.CostBasis, want, before.CostBasis)
	}
	newPrice := price(t, string(d.snapshot(t, "F").LatestTrade.Price))
	if ratio := float64(price(t, string(last.Price))) / float64(newPrice); ratio < 3.8 || ratio > 4.2 {
		t.Errorf("the price went from %s to %s", last.Price, newPrice)
	}
	d.advance(time.Second)
	if o := d.find(t, "waits"); o.Status != "filled" || price(t, *o.FilledAvgPrice) > newPrice*21/20 {
		t.Errorf("after the dark: %+v, at %s", o, *o.FilledAvgPrice)
	}
}

// A position is the exact rational, rounded down at nine decimals.
func TestReverseSplitRoundsDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	d.place(t, "one", "F", "buy", `"qty":"10.000000001"`)
	d.advance(time.Second)
	a := d.announce(t, split("F", "3", "1", "2026-03-17"))
	if a.OldCusip == "" || a.OldCusip == a.NewCusip || a.Cusip != "" {
		t.Errorf("%+v", a)
	}
	before := price(t, string(d.snapshot(t, "F").LatestTrade.Price))
	d.set(newYork(t, "2026-03-17 03:00:00").UTC())
	if got := get[position](t, d, "/v2/positions/F"); got.Qty != "3.333333333" {
		t.Errorf("the position is %s", got.Qty)
	}
	trade := d.snapshot(t, "F").LatestTrade
	if !trade.Time.Equal(newYork(t, "2026-03-17 02:30:00")) || price(t, string(trade.Price)) < before*2 {
		t.Errorf("while the market is closed the new price is %s of %v, before it was %s", trade.Price, trade.Time, before)
	}
	acts := get[[]map[string]string](t, d, "/v2/account/activities?activity_types=SPLIT")
	if len(acts) != 1 {
		t.Fatalf("%v", acts)
	}
	want := map[string]string{
		"activity_type": "SPLIT", "activity_sub_type": "RSPLIT", "qty": "-6.666666668", "symbol": "F",
		"date": "2026-03-17", "status": "executed", "group_id": a.ID, "net_amount": "0", "currency": "USD",
	}
	for name, text := range want {
		if acts[0][name] != text {
			t.Errorf("the activity's %s is %q, want %q", name, acts[0][name], text)
		}
	}
}

// A Monday's split is dark from Friday evening; a holiday is no session.
func TestTheNightBeforeIsOfTheLastSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	d.announce(t, split("F", "1", "2", "2026-04-06")) // the Monday after Good Friday
	for _, c := range []struct {
		now, traded string
	}{
		{"2026-04-02 15:59:00", "2026-04-02 15:59:00"},
		{"2026-04-02 20:00:00", "2026-04-02 16:00:00"},
		{"2026-04-06 02:29:59", "2026-04-02 16:00:00"},
		{"2026-04-06 02:30:00", "2026-04-06 02:30:00"},
		{"2026-04-06 09:45:00", "2026-04-06 09:45:00"},
	} {
		d.set(newYork(t, c.now).UTC())
		if got := d.snapshot(t, "F").LatestTrade.Time; !got.Equal(newYork(t, c.traded)) {
			t.Errorf("at %s the last trade is of %v, want %s", c.now, got, c.traded)
		}
	}
}

func TestListOfCorporateActions(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	today := d.announce(t, split("F", "1", "2", "2026-03-16")) // it happens at once
	later := d.announce(t, split("NVDA", "10", "1", "2026-03-20"))
	d.announce(t, `{"type":"cash_dividend","symbol":"F","rate":0.123456789,"ex_date":"2026-03-18","payable_date":"2026-04-20"}`)
	d.announce(t, `{"type":"name_change","old_symbol":"NVDA","new_symbol":"NVID","process_date":"2026-03-19"}`)
	check := func(query string, want ...string) actionList {
		t.Helper()
		list := get[actionList](t, d, "/v1/corporate-actions"+query)
		var got []string
		for group, actions := range list.Actions {
			for _, a := range actions {
				got = append(got, group+" "+a.ProcessDate)
			}
		}
		if diff := cmp.Diff(strings.Join(sorted(want), "\n"), strings.Join(sorted(got), "\n")); diff != "" {
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
		if got := d.do(t, "GET", "/v1/corporate-actions"+query, ""); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	states := map[string]string{}
	for _, a := range get[[]announced](t, d, "/control/corporate-actions") {
		states[a.ID] = a.Type + " " + a.Status
	}
	if states[today.ID] != "forward_split happened" || states[later.ID] != "reverse_split announced" || len(states) != 4 {
		t.Errorf("%v", states)
	}
}

func sorted(list []string) []string {
	for i := range list {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}

func TestWithdrawnCorporateAction(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.bought(t, "one", "F", "100")
	before := get[position](t, d, "/v2/positions/F").Qty
	a := d.announce(t, split("F", "1", "2", "2026-03-17"))
	happened := d.announce(t, split("NVDA", "1", "2", "2026-03-16"))
	for _, c := range []struct {
		id   string
		want int
	}{{a.ID, 204}, {a.ID, 404}, {happened.ID, 409}, {"nobody", 404}} {
		if got := d.do(t, "DELETE", "/control/corporate-actions/"+c.id, ""); got.status != c.want {
			t.Errorf("withdraw %s: %d %s, want %d", c.id, got.status, got.body, c.want)
		}
	}
	d.set(newYork(t, "2026-03-17 01:00:00").UTC())
	if traded := d.snapshot(t, "F").LatestTrade.Time; !traded.Equal(d.now()) {
		t.Errorf("it is still dark: the last trade is of %v", traded)
	}
	d.set(newYork(t, "2026-03-17 10:00:00").UTC())
	d.place(t, "two", "NVDA", "buy", `"notional":"10"`) // it carries out what is due as well
	if got := get[position](t, d, "/v2/positions/F").Qty; got != before {
		t.Errorf("a withdrawn split changed %s to %s", before, got)
	}
}

func TestAnnouncementsThatAreRefused(t *testing.T) {
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
		"zero":             split("F", "0", "2", "2026-03-17"),
		"negative":         `{"type":"forward_split","symbol":"F","old_rate":-1,"new_rate":2,"ex_date":"2026-03-17"}`,
		"too fine":         split("F", "1", "2.0000000001", "2026-03-17"),
		"too large":        split("F", "1", "1000001", "2026-03-17"),
		"equal":            `{"type":"forward_split","symbol":"F","old_rate":2,"new_rate":2,"ex_date":"2026-03-17"}`,
		"wrong way":        `{"type":"reverse_split","symbol":"F","old_rate":1,"new_rate":2,"ex_date":"2026-03-17"}`,
		"no such stock":    split("NOPE", "1", "2", "2026-03-17"),
		"no symbol":        split("f", "1", "2", "2026-03-17"),
		"no date":          split("F", "1", "2", "2026-02-30"),
		"a time":           split("F", "1", "2", "2026-03-17T00:00:00Z"),
		"a year too early": split("F", "1", "2", "1969-03-17"),
		"paid before":      `{"type":"cash_dividend","symbol":"F","rate":1,"ex_date":"2026-03-17","payable_date":"2026-03-16"}`,
	} {
		if got := d.do(t, "POST", "/control/corporate-actions", body); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if list := get[[]announced](t, d, "/control/corporate-actions"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// Every type can be announced, so that a service's reading of it can be tried.
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
		d.announce(t, body)
	}
	list := get[actionList](t, d, "/v1/corporate-actions?start=2026-03-20&end=2026-03-20")
	if len(list.Actions) != 6 {
		t.Errorf("%+v", list)
	}
	d.bought(t, "one", "F", "10")
	before := get[position](t, d, "/v2/positions/F").Qty
	d.set(newYork(t, "2026-03-21 12:00:00").UTC())
	if got := get[position](t, d, "/v2/positions/F").Qty; got != before {
		t.Errorf("the position went from %s to %s", before, got)
	}
}

func TestActivitiesOfFills(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	afflict(t, d.b, "partial-then-filled times=1")
	d.place(t, "one", "F", "buy", `"qty":"2"`)
	d.advance(time.Minute)
	d.bought(t, "two", "NVDA", "10")
	acts := get[[]map[string]string](t, d, "/v2/account/activities/FILL?direction=asc")
	var got []string
	for _, a := range acts {
		got = append(got, a["symbol"]+" "+a["type"]+" "+a["qty"]+" "+a["cum_qty"]+" "+a["leaves_qty"]+" "+a["order_status"])
	}
	want := []string{"F partial_fill 1 1 1 partially_filled", "F fill 1 2 0 filled"}
	if diff := cmp.Diff(want, got[:2]); diff != "" || len(got) != 3 {
		t.Errorf("(-want +got):\n%s\n%v", diff, got)
	}
	page := get[[]map[string]string](t, d, "/v2/account/activities?page_size=2")
	rest := get[[]map[string]string](t, d, "/v2/account/activities?page_size=2&page_token="+page[1]["id"])
	if len(page) != 2 || len(rest) != 1 || rest[0]["id"] != acts[0]["id"] || page[0]["id"] != acts[2]["id"] {
		t.Errorf("pages: %v then %v", page, rest)
	}
	for _, query := range []string{"?page_size=101", "?page_size=0", "?category=x", "?after=yesterday", "?category=trade_activity&activity_types=FILL"} {
		if got := d.do(t, "GET", "/v2/account/activities"+query, ""); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", query, got.status)
		}
	}
}

// The books keep what was announced; a second process that has them open sees it.
func TestCorporateActionsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paper.db")
	w := &watch{at: monday()}
	d := &desk{watch: w, b: open(t, path, paper.Options{Control: true, Now: w.now})}
	other := &desk{watch: w, b: open(t, path, paper.Options{Now: w.now})}
	d.bought(t, "one", "F", "100")
	before := get[position](t, other, "/v2/positions/F").Qty
	d.announce(t, split("F", "1", "3", "2026-03-17"))
	if err := d.b.Close(); err != nil {
		t.Fatal(err)
	}
	w.set(newYork(t, "2026-03-17 02:30:00").UTC())
	last, now := other.snapshot(t, "F").LatestTrade, get[position](t, other, "/v2/positions/F").Qty
	if want := (shares(t, before) * 3).String(); now != want || !last.Time.Equal(w.now()) {
		t.Errorf("the position is %s, want %s; the last trade is of %v", now, want, last.Time)
	}
}
