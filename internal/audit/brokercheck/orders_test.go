package brokercheck_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/brokercheck"
	"stockrewards/internal/money"
)

// TestAgreement compares a history with a broker that agrees.
func TestAgreement(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		d := newDesk(t, in)
		r := d.compare(t)
		want := []string{"break order_undecided XOM", "timing order_in_flight AAPL", "timing order_partly_filled NVDA"}
		if diff := cmp.Diff(want, lines(r)); diff != "" {
			t.Errorf("items (-want +got):\n%s", diff)
		}
		if r.Clean || r.Totals.Breaks != 1 || r.Totals.Timing != 2 || r.Totals.OurOrders != 22 || r.Totals.Matched != 19 ||
			r.Totals.Stocks != 7 || len(r.Positions) != 7 {
			t.Errorf("totals %+v", r.Totals)
		}
		for _, p := range r.Positions {
			if p.Unexplained != "0" || p.Holdings == "0" && p.Symbol != "TSLA" {
				t.Errorf("position %+v", p)
			}
		}
		if missing := d.ours(t).Missing(d.theirs()); len(missing) != 1 {
			t.Errorf("missing %v, want the order sent last", missing)
		}
	})
}

// TestPlantedBreaks plants differences one after the other. Each must add its item and no other.
func TestPlantedBreaks(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		agreeing := newDesk(t, in)
		untouched := agreeing.ours(t)
		for _, p := range slices.Concat(orderBreaks(), liveBreaks(), positionBreaks()) {
			t.Run(p.what, func(t *testing.T) {
				d := agreeing.clone()
				d.now = d.now.Add(p.later)
				before, ours := lines(brokercheck.Compare(untouched, d.theirs(), d.now)), untouched
				if p.plant != nil {
					p.plant(t, d)
				}
				if p.sql != "" {
					d.copy.Exec(p.sql)
					defer d.copy.Restore()
					ours = d.ours(t)
				}
				r := brokercheck.Compare(ours, d.theirs(), d.now)
				if diff := cmp.Diff(p.want, strings.Join(diff(before, lines(r)), "; ")); diff != "" {
					t.Errorf("items (-want +got):\n%s", diff)
				}
				for _, i := range r.Items {
					if i.Next == "" || i.Ours == "" || i.Theirs == "" || i.Symbol == "" {
						t.Errorf("incomplete item %+v", i)
					}
				}
			})
		}
	})
}

// planted is a difference and the items that it adds.
type planted struct {
	what  string
	plant plant
	sql   string        // changes the store
	later time.Duration // since the history
	want  string        // items, separated by "; "
}

// plant changes the broker's side.
type plant func(*testing.T, *desk)

// edit changes an order in both readings.
func edit(name string, change func(*brokercheck.Order)) plant {
	return func(_ *testing.T, d *desk) {
		b := d.last[name]
		change(&b)
		d.first[name], d.last[name] = b, b
	}
}

// afterFirst removes an order from the first reading.
func afterFirst(name string) plant { return func(_ *testing.T, d *desk) { delete(d.first, name) } }

// drop removes an order from both readings.
func drop(name string) plant {
	return both(afterFirst(name), func(_ *testing.T, d *desk) { delete(d.last, name) })
}

// known adds an order of the history to both readings.
func known(name, status string, qty money.Shares, price money.Price) plant {
	return func(t *testing.T, d *desk) {
		t.Helper()
		o, err := d.Order(t.Context(), d.IDs[name])
		check(t, err)
		b := mirror(o)
		b.Status, b.FilledQty, b.AveragePrice = status, qty, price
		d.first[name], d.last[name] = b, b
	}
}

// hold adds shares to a position.
func hold(symbol string, qty money.Shares) plant {
	return func(_ *testing.T, d *desk) { d.hold(symbol, qty) }
}

func both(first, second plant) plant {
	return func(t *testing.T, d *desk) {
		t.Helper()
		first(t, d)
		second(t, d)
	}
}

func orderBreaks() []planted {
	change := func(b *brokercheck.Order) {
		*b = brokercheck.Order{
			ClientOrderID: "sr-test-stranger", BrokerID: "x", Symbol: "KO", Side: "buy", Status: "filled",
			Notional: 70 * dollar, FilledQty: aShare, AveragePrice: 70 * perUSD,
		}
	}
	stranger := edit("stranger", change)
	acknowledged := `INSERT INTO broker_conflicts VALUES ('sr-test-stranger', 'KO', 1000000000, 'x', 1, 2, 'ours')`
	conflict := `INSERT INTO broker_conflicts SELECT client_order_id, 'XOM', 5, 'x', 1, 2, 'seen' FROM orders WHERE id = @again`
	filled := func(change func(*brokercheck.Order)) plant { return edit("filled", change) }
	renamed := func(t *testing.T, d *desk) {
		filled(func(b *brokercheck.Order) { b.AssetID = "a" })(t, d)
		d.positions["APL"] = brokercheck.Position{AssetID: "b", Symbol: "APL", Qty: d.positions["AAPL"].Qty}
		delete(d.positions, "AAPL")
	}
	const rename = `UPDATE assets SET broker_id = 'b', symbol = 'APL' WHERE symbol = 'AAPL'; UPDATE switches SET at = `
	return []planted{
		{what: "unknown", plant: stranger, want: "break order_unknown KO"},
		{what: "unknown, with its shares", plant: both(stranger, hold("KO", aShare)), want: "break order_unknown KO"},
		{what: "new while comparing", plant: both(stranger, afterFirst("stranger")), want: "timing order_in_flight KO"},
		{what: "acknowledged", plant: stranger, sql: acknowledged, want: "explained conflict_acknowledged KO"},
		{what: "acknowledged, and changed since", plant: stranger, sql: strings.Replace(acknowledged, "1000000000", "1", 1), want: "break order_unknown KO"},
		{what: "a conflict that is not acknowledged", plant: stranger, sql: strings.Replace(acknowledged, "2, 'ours'", "0, ''", 1), want: "break order_unknown KO"},
		{what: "another prefix", plant: edit("stranger", func(b *brokercheck.Order) { change(b); b.ClientOrderID = "sr-other-1" })},
		{what: "missing", plant: drop("filled"), want: "break order_missing AAPL"},
		{what: "missing, with its shares", plant: func(t *testing.T, d *desk) {
			d.hold("AAPL", -d.first["filled"].FilledQty)
			drop("filled")(t, d)
		}, want: "break order_missing AAPL"},
		{what: "symbol", plant: filled(func(b *brokercheck.Order) { b.Symbol = "KO" }), want: "break symbol_differs AAPL"},
		{
			what: "the symbol, another stock's now", plant: filled(func(b *brokercheck.Order) { b.AssetID = "new" }),
			sql: `UPDATE assets SET broker_id = 'a' WHERE symbol = 'AAPL'`, want: "break symbol_differs AAPL",
		},
		{what: "a stock renamed with a new id", plant: renamed, sql: rename + strconv.FormatInt(math.MaxInt64, 10)},
		{
			what: "an order of another stock after a rename", plant: renamed, sql: rename + "0",
			want: "break symbol_differs AAPL",
		},
		{what: "a renamed stock", plant: func(t *testing.T, d *desk) {
			filled(func(b *brokercheck.Order) { b.AssetID, b.Symbol = "a", "APL" })(t, d)
			d.positions["AAPL"] = brokercheck.Position{AssetID: "a", Symbol: "APL", Qty: d.positions["AAPL"].Qty}
		}, sql: `UPDATE assets SET broker_id = 'a', symbol = 'AAPL.OLD' WHERE symbol = 'AAPL'`},
		{what: "side", plant: filled(func(b *brokercheck.Order) { b.Side = "sell" }), want: "break side_differs AAPL"},
		{what: "notional", plant: filled(func(b *brokercheck.Order) { b.Notional++ }), want: "break notional_differs AAPL"},
		{what: "broker's id", plant: filled(func(b *brokercheck.Order) { b.BrokerID = "other" }), want: "break broker_id_differs AAPL"},
		{what: "quantity", plant: filled(func(b *brokercheck.Order) { b.FilledQty++ }), want: "break filled_differs AAPL"},
		{what: "quantity, with its shares", plant: both(filled(func(b *brokercheck.Order) { b.FilledQty++ }), hold("AAPL", 1)), want: "break filled_differs AAPL"},
		{what: "quantity, acknowledged", plant: edit("again", func(b *brokercheck.Order) { b.FilledQty = 5 }), sql: conflict, want: "explained conflict_acknowledged XOM"},
		{what: "a correction that the store does not have", sql: `DELETE FROM order_corrections`, want: "break filled_differs AAPL"},
		{what: "adopted", sql: conflict, want: "explained conflict_acknowledged XOM"},
		{what: "status", plant: filled(func(b *brokercheck.Order) { b.Status = "canceled" }), want: "break status_differs AAPL"},
		{what: "price", plant: edit("again", func(b *brokercheck.Order) { b.AveragePrice++ }), want: "break price_differs XOM"},
		{what: "unreadable", plant: filled(func(b *brokercheck.Order) { b.Problem = "filled_qty: too many decimals" }), want: "break order_unreadable AAPL"},
		{what: "refused, but bought", plant: known("refused", "filled", 1, 1), want: "break refused_but_known TSLA"},
		{what: "refused, and accepted", plant: known("refused", "accepted", 0, 0), want: "break refused_but_known TSLA"},
		{what: "refused, and rejected", plant: known("refused", "rejected", 0, 0)},
		{what: "never sent, but there", plant: known("planned", "new", 0, 0), want: "break order_not_sent TSLA"},
		{what: "sent while comparing", plant: both(known("planned", "new", 0, 0), afterFirst("planned"))},
		{what: "decided otherwise", plant: edit("resolved", func(b *brokercheck.Order) { b.FilledQty, b.Status = 0, "expired" }), want: "explained order_resolved KO"},
		{what: "decided, with another status", plant: edit("resolved", func(b *brokercheck.Order) { b.Status = "expired" })},
		{what: "decided, and not there", plant: drop("unbought"), want: "explained order_resolved KO"},
	}
}
