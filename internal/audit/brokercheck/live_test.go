package brokercheck_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/brokercheck"
)

func liveBreaks() []planted {
	const hour = time.Hour
	booked := func(_ *testing.T, d *desk) { // the first reading is older than the settlement
		b := d.first["filled"]
		b.Status, b.FilledQty, b.AveragePrice = "new", 0, 0
		d.first["filled"] = b
	}
	open := func(change func(*brokercheck.Order)) plant { return edit("open", change) }
	seen, bought := known("submitted", "new", 0, 0), both(known("submitted", "filled", aShare, perUSD), hold("AAPL", aShare))
	const decided = `UPDATE orders SET state = 5 WHERE id = @open`
	const noMissing, noFlight = "; no more: break order_missing AAPL", "; no more: timing order_in_flight AAPL"
	const noPartly = "; no more: timing order_partly_filled NVDA"
	return []planted{
		{what: "booked while comparing", plant: booked},
		{what: "booked while comparing, before the positions", plant: func(t *testing.T, d *desk) {
			booked(t, d)
			d.hold("AAPL", -d.last["filled"].FilledQty)
		}},
		{what: "sent, and there", plant: seen},
		{what: "sent, there, and not noticed", later: hour, plant: seen, want: "break order_unnoticed AAPL" + noMissing},
		{what: "filled just now", plant: bought, want: "timing order_unbooked AAPL" + noFlight},
		{what: "filled long ago", later: hour, plant: bought, want: "break order_unbooked AAPL" + noMissing},
		{what: "refused for a temporary reason", later: hour, sql: `UPDATE orders SET deadline = 0 WHERE id = @submitted`, want: "timing order_waits AAPL" + noMissing},
		{what: "open, and not there", plant: drop("open"), want: "timing order_in_flight NVDA" + noPartly},
		{what: "open, and not there for long", later: hour, plant: drop("open"), want: "break order_missing NVDA" + noPartly},
		{what: "open, with less filled", plant: open(func(b *brokercheck.Order) { b.FilledQty-- }), want: "break filled_differs NVDA; break position_differs NVDA" + noPartly},
		{what: "open, another symbol", plant: open(func(b *brokercheck.Order) { b.Symbol = "KO" }), want: "break symbol_differs NVDA"},
		{what: "open, ended just now", plant: open(func(b *brokercheck.Order) { b.Status = "canceled" }), want: "timing order_unbooked NVDA" + noPartly},
		{what: "open, ended long ago", later: hour, plant: open(func(b *brokercheck.Order) { b.Status = "expired" }), want: "break order_unbooked NVDA" + noPartly},
		{what: "decided, to be booked", sql: decided, want: "timing order_unbooked NVDA" + noPartly},
		{what: "decided long ago, not booked", later: hour, sql: decided, want: "break order_unbooked NVDA" + noPartly},
	}
}

func positionBreaks() []planted {
	return []planted{
		{what: "a position that is larger", plant: hold("MSFT", 1), want: "break position_differs MSFT"},
		{what: "a position that is smaller", plant: hold("MSFT", -1), want: "break position_differs MSFT"},
		{what: "no position", plant: func(_ *testing.T, d *desk) { delete(d.positions, "MSFT") }, want: "break position_differs MSFT"},
		{
			what: "of a stock with an order that differs", plant: both(edit("filled", func(b *brokercheck.Order) { b.FilledQty += 5 }), hold("AAPL", 7)),
			want: "break filled_differs AAPL; break position_differs AAPL",
		},
		{what: "a holding", sql: `UPDATE holdings SET quantity = quantity + 1 WHERE user_id = @dee AND asset_id = 3`, want: "break position_differs KO"},
		{what: "a holding that a sweep has not reached", sql: `UPDATE holdings SET quantity = quantity + 1 WHERE user_id = @dee AND asset_id = 4`},
		{what: "a share of the house", sql: `UPDATE house_holdings SET quantity = quantity + 1 WHERE asset_id = 1`, want: "break position_differs AAPL"},
		{what: "booked shares", sql: `UPDATE positions SET booked = booked + 1 WHERE asset_id = 4`, want: "break position_differs MSFT"},
		{what: "foreign", plant: hold("F", 1), want: "warning position_foreign F"},
		{
			what: "foreign, in the catalog", plant: hold("GE", 1), want: "warning position_foreign GE",
			sql: `INSERT INTO assets (id, broker_id, symbol, name, enabled, used, doubt_since, doubt_price, gone) VALUES (99, '', 'GE', 'GE', 1, 0, 0, 0, 0)`,
		},
		{what: "foreign, under a symbol that was ours", plant: func(_ *testing.T, d *desk) {
			d.positions["AAPL"] = brokercheck.Position{AssetID: "a", Symbol: "AAPL", Qty: d.positions["AAPL"].Qty}
			d.positions["new"] = brokercheck.Position{AssetID: "new", Symbol: "AAPL", Qty: 5}
		}, sql: `UPDATE assets SET broker_id = 'a' WHERE symbol = 'AAPL'`, want: "warning position_foreign AAPL"},
	}
}

// TestReport checks the facts of some items as values, text and JSON.
func TestReport(t *testing.T) {
	t.Parallel()
	d := newDesk(t, audittest.NewFile)
	d.hold("AAPL", -2*aShare)
	edit("again", func(b *brokercheck.Order) { b.FilledQty += aShare; b.AveragePrice = 111 * perUSD })(t, d)
	r := d.compare(t)
	order, err := d.Order(t.Context(), d.IDs["again"])
	check(t, err)
	found := 0
	for _, i := range r.Items {
		switch i.Code {
		case "position_differs":
			found++
			if i.DifferenceShares != "-2" || i.DifferenceUSD != "-374" {
				t.Errorf("the position differs by %s shares, %s dollars; want -2 and -374", i.DifferenceShares, i.DifferenceUSD)
			}
		case "filled_differs":
			found++
			if i.DifferenceShares != "1" || i.DifferenceUSD != "111.081819" || i.ClientOrderID != order.ClientOrderID || i.OrderID != order.ID.String() ||
				i.BrokerOrderID != order.BrokerID || i.Since == "" || i.AgeSeconds <= 0 {
				t.Errorf("the order's item is %+v", i)
			}
		}
	}
	if found != 2 || r.Totals.BrokenUSD == "0" {
		t.Errorf("%d of 2 found; $%s", found, r.Totals.BrokenUSD)
	}
	var text strings.Builder
	check(t, r.WriteText(&text))
	for _, want := range []string{
		"\nBREAK: filled_differs: XOM\n", "  difference:        1 shares, 111.081819 dollars\n", "  client order id:   " + order.ClientOrderID + "\n",
		"\nbreaks: 3 ($", "next:", "AAPL", "UNEXPLAINED",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	body, err := json.Marshal(r)
	check(t, err)
	for _, want := range []string{`"clean":false`, `"code":"filled_differs","severity":"break","clientOrderId":`, `"differenceUsd":"-374"`, `"breaks":3`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the JSON lacks %s:\n%s", want, body)
		}
	}
}

// TestConfirmed turns a break that only the second report has into a timing item.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, audittest.NewFile)
	before := d.compare(t)
	d.hold("AAPL", 1)
	d.hold("F", 1)
	after := d.compare(t)
	if got := brokercheck.Confirmed(after, after); got.Totals != after.Totals {
		t.Errorf("seen twice: %+v, want %+v", got.Totals, after.Totals)
	}
	got := brokercheck.Confirmed(before, after)
	if got.Totals.Breaks != 1 || got.Totals.Warnings != 1 || got.Totals.Timing != after.Totals.Timing+1 || after.Totals.Breaks != 2 {
		t.Errorf("seen once: %+v", got.Totals)
	}
}

func TestLastSince(t *testing.T) {
	t.Parallel()
	at := func(minute int, status string) brokercheck.Order {
		return brokercheck.Order{Status: status, SubmittedAt: time.Unix(int64(minute)*60, 0).UTC()}
	}
	for what, test := range map[string]struct {
		orders []brokercheck.Order
		want   int // minutes
	}{
		"all are final":   {[]brokercheck.Order{at(10, "filled"), at(20, "canceled"), at(15, "expired")}, 19},
		"an old one open": {[]brokercheck.Order{at(10, "new"), at(20, "filled"), at(15, "held")}, 9},
		"the newest open": {[]brokercheck.Order{at(10, "rejected"), at(20, "new")}, 19},
	} {
		if got := brokercheck.LastSince(test.orders); !got.Equal(time.Unix(int64(test.want)*60, 0)) {
			t.Errorf("%s: since %s, want minute %d", what, got, test.want)
		}
	}
	if got := brokercheck.LastSince(nil); !got.IsZero() {
		t.Errorf("without orders since %s", got)
	}
}
