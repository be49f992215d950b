package paper_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

// booked is what an activity of a corporate action reports.
type booked struct {
	Type     string `json:"activity_type"`
	SubType  string `json:"activity_sub_type"`
	Symbol   string `json:"symbol"`
	Qty      string `json:"qty"`
	Net      string `json:"net_amount"`
	PerShare string `json:"per_share_amount"`
	Status   string `json:"status"`
	Date     string `json:"date"`
	Group    string `json:"group_id"`

	ID       string `json:"id"`
	Price    string `json:"price"`
	Previous string `json:"previous_id"`
}

// booked returns the activities that are no fills, oldest first.
func (d *desk) booked() []booked {
	d.t.Helper()
	return get[[]booked](d, "/v2/account/activities?category=non_trade_activity&direction=asc")
}

// plain leaves the ids and prices out, and sorts by quantity.
func plain(list []booked) map[string]booked {
	byLeg := make(map[string]booked)
	for _, b := range list {
		b.ID, b.Price, b.Previous = "", "", ""
		byLeg[b.Type+" "+b.Symbol+" "+b.Status] = b
	}
	return byLeg
}

// legs returns activities of one action as plain does.
func legs(a announced, date string, list ...booked) map[string]booked {
	for i := range list {
		list[i].Group, list[i].Date, list[i].Status = a.ID, date, "executed"
		if list[i].Net == "" {
			list[i].Net = "0"
		}
	}
	return plain(list)
}

type assetOf struct {
	ID           string `json:"id"`
	Symbol       string `json:"symbol"`
	Status       string `json:"status"`
	Tradable     bool   `json:"tradable"`
	Fractionable bool   `json:"fractionable"`
}

func (d *desk) asset(symbol string) assetOf {
	d.t.Helper()
	return get[assetOf](d, "/v2/assets/"+symbol)
}

// newDeskWith opens a brokerage with the hours of New York and a position of F.
func newDeskWith(t *testing.T, shares string) *desk {
	t.Helper()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	d.place("one", "F", "buy", quantity(shares))
	d.advance(time.Second)
	if got := d.position("F").Qty; got != shares {
		t.Fatalf("the position is %s, want %s", got, shares)
	}
	return d
}

// near reports whether two prices differ by at most a percentage.
func near(a, b, percent int64) bool { return a*100 >= b*(100-percent) && a*100 <= b*(100+percent) }

// TestStockDividend: the position grows by the rate, and the price falls.
func TestStockDividend(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10.000000001")
	cost := d.position("F").CostBasis
	a := d.announce(`{"type":"stock_dividend","symbol":"F","rate":0.05,"ex_date":"2026-03-17"}`)
	_, before := d.lastTrade("F")
	d.set(newYork("2026-03-17 02:29:59"))
	if got := d.position("F").Qty; got != "10.000000001" {
		t.Errorf("before 02:30 the position is %s", got)
	}
	d.set(newYork("2026-03-17 02:30:00"))
	if got := d.position("F"); got.Qty != "10.500000001" || got.CostBasis != cost {
		t.Errorf("the position is %+v, want 10.500000001 at a cost of %s", got, cost)
	}
	if _, after := d.lastTrade("F"); !near(int64(after)*105/100, int64(before), 2) {
		t.Errorf("the price went from %s to %s", before, after)
	}
	want := legs(a, "2026-03-17", booked{Type: "DIV", SubType: "SDIV", Symbol: "F", Qty: "0.5"})
	if diff := cmp.Diff(want, plain(d.booked())); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
}

// TestNameChange: position, asset, prices and trading go over to the new symbol. An order
// that waits is filled under it.
func TestNameChange(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	before, asset := d.position("F"), d.asset("F")
	_, price := d.lastTrade("F")
	a := d.announce(`{"type":"name_change","old_symbol":"F","new_symbol":"FRD","process_date":"2026-03-17"}`)
	d.set(newYork("2026-03-16 21:00:00"))
	d.place("waits", "F", "buy", quantity("1"))
	d.expect("GET", "/v2/assets/FRD", "", 404, "not found")
	d.set(newYork("2026-03-17 02:30:00"))
	for _, path := range []string{"/v2/assets/F", "/v2/positions/F", "/v2/stocks/F/snapshot"} {
		d.expect("GET", path, "", 404, "")
	}
	d.expect("POST", "/v2/orders", market("old", "F", "buy", quantity("1")), 422, `asset \"F\" not found`)
	asset.Symbol, before.Symbol = "FRD", "FRD"
	before.MarketValue, before.UnrealizedPL = "", ""
	got := d.position("FRD")
	got.MarketValue, got.UnrealizedPL = "", ""
	if diff := cmp.Diff(asset, d.asset("FRD")) + cmp.Diff(before, got); diff != "" {
		t.Errorf("asset and position (-want +got):\n%s", diff)
	}
	if _, p := d.lastTrade("FRD"); !near(int64(p), int64(price), 2) {
		t.Errorf("the price went from %s to %s", price, p)
	}
	want := legs(a, "2026-03-17", booked{Type: "NC", SubType: "SNC", Symbol: "F", Qty: "-10"},
		booked{Type: "NC", SubType: "SNC", Symbol: "FRD", Qty: "10"})
	if diff := cmp.Diff(want, plain(d.booked())); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
	d.set(newYork("2026-03-17 09:30:01"))
	d.place("after", "FRD", "buy", quantity("1"))
	d.advance(time.Second)
	waits, after, first := d.find("waits"), d.find("after"), d.find("one")
	if waits.Status != "filled" || waits.Symbol != "FRD" || after.Status != "filled" || first.Symbol != "F" {
		t.Errorf("orders: %+v, %+v, %+v", waits, after, first)
	}
	if got := d.position("FRD").Qty; got != "12" {
		t.Errorf("the position is %s, want 12", got)
	}
	byID := get[map[string]any](d, "/v2/orders/"+first.ID)
	if byID["asset_id"] != asset.ID {
		t.Errorf("the old order's asset is %v, want %s", byID["asset_id"], asset.ID)
	}
}

// TestWorthlessRemoval: the position is gone, and the asset inactive and not tradable.
func TestWorthlessRemoval(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	a := d.announce(`{"type":"worthless_removal","symbol":"F","process_date":"2026-03-17"}`)
	d.set(newYork("2026-03-16 21:00:00"))
	last, price := d.lastTrade("F")
	d.place("waits", "F", "buy", quantity("1"))
	d.set(newYork("2026-03-18 10:00:00"))
	d.expect("GET", "/v2/positions/F", "", 404, "")
	d.expect("POST", "/v2/orders", market("late", "F", "buy", quantity("1")), 422, "is not tradable")
	if got := d.asset("F"); got.Status != "inactive" || got.Tradable {
		t.Errorf("asset %+v", got)
	}
	if at, p := d.lastTrade("F"); !at.Equal(last) || p != price {
		t.Errorf("the last trade is %s at %v, want %s at %v", p, at, price, last)
	}
	if o := d.find("waits"); o.Status != "canceled" || o.FilledQty != "0" {
		t.Errorf("the waiting order is %+v", o)
	}
	want := legs(a, "2026-03-17", booked{Type: "REORG", SubType: "WRM", Symbol: "F", Qty: "-10"})
	if diff := cmp.Diff(want, plain(d.booked())); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
	active := get[[]assetOf](d, "/v2/assets?status=active")
	inactive := get[[]assetOf](d, "/v2/assets?status=inactive")
	if len(active) != len(catalog())-1 || len(inactive) != 1 || inactive[0].Symbol != "F" {
		t.Errorf("%d active assets, inactive ones %v", len(active), inactive)
	}
	d.expect("POST", "/control/corporate-actions", split("forward", "F", "1", "2", "2026-03-20"), 409, "symbol: asset")
}

// TestReverseSplitWithNewSymbol: the shares are exchanged, then renamed.
func TestReverseSplitWithNewSymbol(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10")
	a := d.announce(`{"type":"reverse_split","symbol":"F","old_rate":10,"new_rate":1,"new_symbol":"FX","ex_date":"2026-03-17"}`)
	d.set(newYork("2026-03-17 03:00:00"))
	if got := d.position("FX").Qty; got != "1" {
		t.Errorf("the position is %s, want 1", got)
	}
	want := legs(a, "2026-03-17", booked{Type: "SPLIT", SubType: "RSPLIT", Symbol: "F", Qty: "-9"},
		booked{Type: "NC", SubType: "SNC", Symbol: "F", Qty: "-1"},
		booked{Type: "NC", SubType: "SNC", Symbol: "FX", Qty: "1"})
	if diff := cmp.Diff(want, plain(d.booked())); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
}

// TestSpinOff: the new stock appears with a price, and the source's falls by its worth.
// The activities report the prices at which the cost is divided.
func TestSpinOff(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, "10.5")
	cost := d.position("F").CostBasis
	a := d.announce(`{"type":"spin_off","source_symbol":"F","source_rate":4,"new_symbol":"SPUN","new_rate":1,"ex_date":"2026-03-17"}`)
	d.set(newYork("2026-03-17 02:30:00"))
	source, spun := d.position("F"), d.position("SPUN")
	if source.Qty != "10.5" || spun.Qty != "2.625" || usd(source.CostBasis)+usd(spun.CostBasis) != usd(cost) {
		t.Errorf("positions %+v and %+v, the cost was %s", source, spun, cost)
	}
	if got := d.asset("SPUN"); got.Status != "active" || !got.Tradable || !got.Fractionable {
		t.Errorf("asset %+v", got)
	}
	at, after := d.lastTrade("F")
	spunAt, price := d.lastTrade("SPUN")
	if !at.Equal(d.now()) || !spunAt.Equal(d.now()) {
		t.Errorf("the latest trades are of %v and %v", at, spunAt)
	}
	before, _ := d.b.Price("F", newYork("2026-03-17 02:30:00"))
	whole, _ := open(t, ":memory:", paper.Options{}).Price("F", d.now())
	if fell := whole - after; before != after || fell < price/4-dollar/50 || fell > price/4+dollar/50 {
		t.Errorf("the price fell from %s to %s, the new stock is worth %s", whole, after, price)
	}
	list := d.booked()
	want := legs(a, "2026-03-17", booked{Type: "SPIN", Symbol: "F", Qty: "0"},
		booked{Type: "SPIN", Symbol: "SPUN", Qty: "2.625"})
	if diff := cmp.Diff(want, plain(list)); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
	for _, b := range list {
		if wantPrice := map[string]string{"F": after.String(), "SPUN": price.String()}[b.Symbol]; b.Price != wantPrice {
			t.Errorf("the activity of %s has the price %s, want %s", b.Symbol, b.Price, wantPrice)
		}
	}
	d.set(newYork("2026-03-17 09:30:01"))
	d.place("spun", "SPUN", "buy", notional("5"))
	d.advance(time.Second)
	if o := d.find("spun"); o.Status != "filled" {
		t.Errorf("%+v", o)
	}
}

func TestMergers(t *testing.T) {
	t.Parallel()
	const terms = `"acquiree_symbol":"F","effective_date":"2026-03-17"`
	for _, c := range []struct {
		name, body, acquirer, qty, net, subtype string
		paid                                    string // the date of the payment
	}{
		{
			"stock", `{"type":"stock_merger",` + terms + `,"acquirer_symbol":"NVDA","acquiree_rate":3,"acquirer_rate":1}`,
			"NVDA", "3.333333333", "", "SMA", "",
		},
		{
			"unknown acquirer", `{"type":"stock_merger",` + terms + `,"acquirer_symbol":"BIG","acquiree_rate":1,"acquirer_rate":0.5}`,
			"BIG", "5", "", "SMA", "",
		},
		{"cash", `{"type":"cash_merger",` + terms + `,"rate":12.3456}`, "", "", "123.46", "CMA", "2026-03-17"},
		{
			"cash later", `{"type":"cash_merger",` + terms + `,"rate":20,"payable_date":"2026-03-20"}`,
			"", "", "200", "CMA", "2026-03-20",
		},
		{
			"both", `{"type":"stock_and_cash_merger",` + terms + `,"acquirer_symbol":"NVDA","acquiree_rate":1,"acquirer_rate":0.25,"cash_rate":2.5}`,
			"NVDA", "2.5", "25", "SCMA", "2026-03-17",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDeskWith(t, "10")
			cost, cash := d.position("F").CostBasis, usd(d.account().Cash)
			d.announce(c.body)
			d.set(newYork("2026-03-17 02:30:00"))
			d.expect("GET", "/v2/positions/F", "", 404, "")
			if got := d.asset("F"); got.Status != "inactive" || got.Tradable {
				t.Errorf("the acquiree is %+v", got)
			}
			if c.acquirer != "" {
				if got := d.position(c.acquirer); got.Qty != c.qty || got.CostBasis != cost || !d.asset(c.acquirer).Tradable {
					t.Errorf("the position is %+v, want %s at a cost of %s", got, c.qty, cost)
				}
			}
			early := usd(d.account().Cash)
			d.set(newYork("2026-03-20 02:29:59"))
			if c.paid == "2026-03-20" && usd(d.account().Cash) != early {
				t.Errorf("the cash came early")
			}
			d.set(newYork("2026-03-20 02:30:00"))
			var net, removed, given string
			for _, b := range d.booked() {
				if b.Type != "MA" || b.SubType != c.subtype || b.Status != "executed" {
					t.Errorf("activity %+v", b)
				}
				switch {
				case b.Net != "0":
					net = b.Net
					if b.Date != c.paid || b.Qty != "0" {
						t.Errorf("the payment is %+v", b)
					}
				case b.Symbol == "F":
					removed = b.Qty
				default:
					given = b.Symbol + " " + b.Qty
				}
			}
			if wantGiven := c.acquirer + " " + c.qty; net != c.net || removed != "-10" || c.acquirer != "" && given != wantGiven {
				t.Errorf("activities: %s shares of the acquiree, %s, %s dollars", removed, given, net)
			}
			if got := usd(d.account().Cash) - cash; c.net != "" && got != usd(c.net) || c.net == "" && got != 0 {
				t.Errorf("the cash changed by %s, want %s", got, c.net)
			}
		})
	}
}

// TestCashDividend: who held the stock at 20:00 of the session before the ex-date is paid on
// the payable date, rounded half up to the cent.
func TestCashDividend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tax, gross, withheld string }{
		{"", "2.35", ""}, {`,"tax_rate":0.15`, "2.35", "-0.35"},
	} {
		d := newDeskWith(t, "10")
		a := d.announce(`{"type":"cash_dividend","symbol":"F","rate":0.2345,"ex_date":"2026-03-17","payable_date":"2026-03-20"` + c.tax + `}`)
		cash := usd(d.account().Cash)
		d.set(newYork("2026-03-17 10:00:00"))
		d.place("sale", "F", "sell", quantity("4"))
		d.advance(time.Second)
		proceeds := usd(d.account().Cash) - cash
		d.expect("DELETE", "/control/corporate-actions/"+a.ID, "", 409, "has happened")
		d.set(newYork("2026-03-20 02:29:59"))
		if list := d.booked(); len(list) != 0 {
			t.Errorf("paid early: %+v", list)
		}
		d.set(newYork("2026-03-20 02:30:00"))
		list := []booked{{Type: "DIV", SubType: "CDIV", Symbol: "F", Qty: "10", Net: c.gross, PerShare: "0.2345"}}
		want := cash + proceeds + usd(c.gross)
		if c.withheld != "" {
			list = append(list, booked{Type: "DIVNRA", Symbol: "F", Qty: "10", Net: c.withheld, PerShare: "-0.035175"})
			want += usd(c.withheld)
		}
		if diff := cmp.Diff(legs(a, "2026-03-20", list...), plain(d.booked())); diff != "" {
			t.Errorf("activities (-want +got):\n%s", diff)
		}
		if got := usd(d.account().Cash); got != want || d.position("F").Qty != "6" {
			t.Errorf("cash %s, want %s; position %s", got, want, d.position("F").Qty)
		}
	}
}
