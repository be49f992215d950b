package paper_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

// listedRates returns the ids and rates of what the market data API lists of F.
func (d *desk) listedRates() (rates []string) {
	d.t.Helper()
	list := get[actionList](d, "/v1/corporate-actions?start=2026-01-01&end=2026-12-31&symbols=F")
	for _, group := range list.Actions {
		for _, a := range group {
			rates = append(rates, string(a.OldRate)+":"+string(a.NewRate)+" "+a.ExDate)
		}
	}
	return rates
}

// TestFalsifiedAnnouncements: a fault changes what is listed of a split, and nothing else.
func TestFalsifiedAnnouncements(t *testing.T) {
	t.Parallel()
	right, wrong := []string{"1:4 2026-03-17"}, []string{"1:8 2026-03-17"}
	for _, c := range []struct {
		fault         string
		posted, after []string // listed at once, and by an hour after it happened
		early         string   // a time before after
	}{
		{"late-announcement", nil, right, "2026-03-17 03:29:59"},
		{"late-announcement by=5m", nil, right, "2026-03-16 10:04:59"},
		{"wrong-ratio", wrong, wrong, ""},
		{"reversed-ratio", []string{"4:1 2026-03-17"}, []string{"4:1 2026-03-17"}, ""},
		{"revised", right, wrong, "2026-03-17 03:29:59"},
		{"duplicate-announcement", []string{"1:4 2026-03-17", "1:4 2026-03-19"}, []string{"1:4 2026-03-17", "1:4 2026-03-19"}, ""},
	} {
		d := newDeskWith(t, "10")
		d.afflict(c.fault+" symbol=NVDA", c.fault+" symbol=F times=1")
		a := d.announce(split("forward", "F", "1", "4", "2026-03-17"))
		if diff := cmp.Diff(c.posted, d.listedRates()); diff != "" {
			t.Errorf("%s: listed at once (-want +got):\n%s", c.fault, diff)
		}
		if c.early != "" {
			d.set(newYork(c.early))
			if diff := cmp.Diff(c.posted, d.listedRates()); diff != "" {
				t.Errorf("%s: listed at %s (-want +got):\n%s", c.fault, c.early, diff)
			}
		}
		d.set(newYork("2026-03-17 03:30:00"))
		if diff := cmp.Diff(c.after, d.listedRates()); diff != "" || d.position("F").Qty != "40" {
			t.Errorf("%s: position %s; listed (-want +got):\n%s", c.fault, d.position("F").Qty, diff)
		}
		d.set(newYork("2026-03-20 12:00:00"))
		if got := d.position("F").Qty; got != "40" || len(d.booked()) != 1 {
			t.Errorf("%s: later the position is %s, activities %v", c.fault, got, d.booked())
		}
		if got := get[[]announced](d, "/control/corporate-actions"); len(got) != 1 || got[0].ID != a.ID {
			t.Errorf("%s: posted %+v", c.fault, got)
		}
	}
}

// TestPositionMishaps: a fault changes what an action does to the position; the prices
// change by the true ratio.
func TestPositionMishaps(t *testing.T) {
	t.Parallel()
	reverse := split("reverse", "F", "4", "1", "2026-03-17")
	for _, c := range []struct {
		fault, held, body, want string
		legs                    []string // types, quantities and whether there is cash
	}{
		{"round-up", "10", reverse, "3", []string{"SPLIT -7"}},
		{"wrong-direction", "10", reverse, "40", []string{"SPLIT 30"}},
		{"cash-in-lieu", "10", reverse, "2", []string{"SPLIT -7.5", "CIL -0.5 cash"}},
		{"cash-in-lieu", "8", reverse, "2", []string{"SPLIT -6"}},
		{"fraction-reversed", "10", reverse, "2", []string{"SPLIT -7.5", "CIL -0.5 cash"}},
		{
			"cash-in-lieu", "10.5", `{"type":"stock_dividend","symbol":"F","rate":0.1,"ex_date":"2026-03-17"}`, "11",
			[]string{"DIV 1.05", "CIL -0.55 cash"},
		},
	} {
		d := newDeskWith(t, c.held)
		d.afflict(c.fault)
		d.announce(c.body)
		cash := usd(d.account().Cash)
		d.set(newYork("2026-03-17 02:30:00"))
		if got := d.position("F").Qty; got != c.want {
			t.Errorf("%s: the position is %s, want %s", c.fault, got, c.want)
		}
		got, sum := map[string]bool{}, cash
		for _, b := range d.booked() {
			leg := b.Type + " " + b.Qty
			if b.Net != "0" {
				leg += " cash"
				sum += usd(b.Net)
			}
			got[leg] = true
		}
		for _, leg := range c.legs {
			if !got[leg] || len(got) != len(c.legs) {
				t.Errorf("%s: activities %v, want %v", c.fault, got, c.legs)
			}
		}
		if now := usd(d.account().Cash); now != sum || sum > cash+30*money.Dollar {
			t.Errorf("%s: the cash is %s, want %s", c.fault, now, sum)
		}
	}
}

// TestFractionReversed: four days later the fraction returns, the cash is taken, and the
// activity names the one that it corrects.
func TestFractionReversed(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	d.afflict("fraction-reversed")
	d.announce(split("reverse", "F", "4", "1", "2026-03-17"))
	before := usd(d.account().Cash)
	d.set(newYork("2026-03-21 02:29:59"))
	if got := d.position("F").Qty; got != "2" {
		t.Errorf("the position is %s, want 2", got)
	}
	d.set(newYork("2026-03-21 02:30:00"))
	if got, cash := d.position("F").Qty, usd(d.account().Cash); got != "2.5" || cash != before {
		t.Errorf("the position is %s, want 2.5; the cash %s, want %s", got, cash, before)
	}
	list := d.booked()
	paid, taken := list[len(list)-2], list[len(list)-1]
	if paid.Type != "CIL" { // both are of one instant
		paid = list[0]
	}
	if taken.Status != "correct" || taken.Previous != paid.ID || taken.Qty != "0.5" || usd(taken.Net) != -usd(paid.Net) {
		t.Errorf("activities %+v and %+v", paid, taken)
	}
}

// TestFractionOfARenamedStockReturns: it comes back under the symbol that the stock has then.
func TestFractionOfARenamedStockReturns(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	d.afflict("fraction-reversed")
	d.announce(split("reverse", "F", "4", "1", "2026-03-17"))
	d.announce(`{"type":"name_change","old_symbol":"F","new_symbol":"FRD","process_date":"2026-03-19"}`)
	d.set(newYork("2026-03-21 02:30:00"))
	if got := d.position("FRD").Qty; got != "2.5" {
		t.Errorf("the position is %s, want 2.5", got)
	}
}

// TestFractionOfAMergerReturns: the cash of the merger comes between the fraction's sale and
// its return.
func TestFractionOfAMergerReturns(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	d.afflict("fraction-reversed")
	before := usd(d.account().Cash)
	d.announce(`{"type":"stock_and_cash_merger","acquiree_symbol":"F","acquirer_symbol":"NVDA","acquiree_rate":4,
		"acquirer_rate":1,"cash_rate":2,"effective_date":"2026-03-17","payable_date":"2026-03-18"}`)
	for _, c := range []struct{ at, qty string }{
		{"2026-03-17 02:30:00", "2"}, {"2026-03-18 02:30:00", "2"}, {"2026-03-21 02:30:00", "2.5"},
	} {
		d.set(newYork(c.at))
		if got := d.position("NVDA").Qty; got != c.qty {
			t.Errorf("at %s the position is %s, want %s", c.at, got, c.qty)
		}
	}
	if got, want := usd(d.account().Cash), before+20*money.Dollar; got != want {
		t.Errorf("the cash is %s, want %s", got, want)
	}
}

// TestLatePosition: prices change at 02:30, and position and activity later. Shares that are
// bought in between are new ones.
func TestLatePosition(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	d.afflict("late-position by=12h")
	_, before := d.lastTrade("F")
	d.announce(split("forward", "F", "1", "4", "2026-03-17"))
	d.set(newYork("2026-03-17 10:00:00"))
	d.place("between", "F", "buy", quantity("1"))
	d.set(newYork("2026-03-17 14:29:59"))
	if _, p := d.lastTrade("F"); !near(int64(p)*4, int64(before), 5) || d.position("F").Qty != "11" || len(d.booked()) != 0 {
		t.Errorf("price %s, it was %s; position %s, activities %v", p, before, d.position("F").Qty, d.booked())
	}
	d.set(newYork("2026-03-17 14:30:00"))
	if list := d.booked(); d.position("F").Qty != "41" || len(list) != 1 || list[0].Qty != "30" {
		t.Errorf("position %s, activities %+v", d.position("F").Qty, list)
	}
}

// TestNewAssetID: a rename gives the stock a new asset id at the same price. The old asset is
// inactive, and an old order keeps its id.
func TestNewAssetID(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	old := d.asset("F")
	d.afflict("new-asset-id")
	d.announce(`{"type":"reverse_split","symbol":"F","old_rate":2,"new_rate":1,"new_symbol":"FX","ex_date":"2026-03-17"}`)
	_, before := d.lastTrade("F")
	d.set(newYork("2026-03-17 10:00:00"))
	fresh, gone := d.asset("FX"), d.asset("F")
	if fresh.ID == old.ID || !fresh.Tradable || gone.ID != old.ID || gone.Status != "inactive" {
		t.Errorf("assets %+v and %+v, it was %+v", fresh, gone, old)
	}
	if _, p := d.lastTrade("FX"); !near(int64(p), int64(before)*2, 5) || d.position("FX").Qty != "5" {
		t.Errorf("price %s, it was %s; position %s", p, before, d.position("FX").Qty)
	}
	d.place("new", "FX", "buy", quantity("1"))
	d.advance(time.Second)
	for id, want := range map[string]string{"one": old.ID, "new": fresh.ID} {
		if got := get[map[string]any](d, byClientID(id))["asset_id"]; got != want {
			t.Errorf("the order %s has the asset %v, want %s", id, got, want)
		}
	}
}

// TestFaultsThatDoNotApply: a fault does not strike an action that it cannot change, and one
// of each kind strikes together.
func TestFaultsThatDoNotApply(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.afflict("wrong-ratio times=1", "cash-in-lieu times=1", "round-up times=1", "late-position times=2", "late-position times=1")
	d.announce(`{"type":"name_change","old_symbol":"AAPL","new_symbol":"APPL","process_date":"2026-03-20"}`)
	d.announce(split("reverse", "F", "4", "1", "2026-03-17"))
	d.advance(time.Second)
	var hits []int
	for _, r := range d.b.Faults() {
		hits = append(hits, r.Hits)
	}
	if diff := cmp.Diff([]int{1, 1, 0, 2, 0}, hits); diff != "" {
		t.Errorf("strikes (-want +got):\n%s", diff)
	}
}
