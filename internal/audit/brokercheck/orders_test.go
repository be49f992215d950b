package brokercheck_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/brokercheck"
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
		if r.Clean || r.Totals.Breaks != 1 || r.Totals.Timing != 2 || r.Totals.OurOrders != 16 || r.Totals.Matched != 13 ||
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
				if diff := cmp.Diff(p.want, diff(before, lines(r))); diff != "" {
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
	plant func(*testing.T, *desk)
	sql   string        // changes the store
	later time.Duration // since the history
	want  []string
}

// edit returns a plant that changes an order at the broker.
func edit(name string, change func(*brokercheck.Order)) func(*testing.T, *desk) {
	return func(_ *testing.T, d *desk) { d.both(name, change) }
}

func orderBreaks() []planted {
	stranger := func(b *brokercheck.Order) {
		*b = brokercheck.Order{
			ClientOrderID: "sr-test-stranger", BrokerID: "x", Symbol: "KO", Side: "buy", Status: "filled",
			Notional: 70 * dollar, FilledQty: aShare, AveragePrice: 70 * perUSD,
		}
	}
	acknowledged := `INSERT INTO broker_conflicts VALUES ('sr-test-stranger', 'KO', 1000000000, 'x', 1, 2, 'ours')`
	return []planted{
		{what: "unknown", plant: edit("stranger", stranger), want: []string{"break order_unknown KO"}},
		{
			what: "unknown, with its shares", plant: func(_ *testing.T, d *desk) { d.both("stranger", stranger); d.hold("KO", aShare) },
			want: []string{"break order_unknown KO"},
		},
		{
			what: "new while comparing", plant: func(_ *testing.T, d *desk) { d.both("stranger", stranger); delete(d.first, "stranger") },
			want: []string{"timing order_in_flight KO"},
		},
		{what: "acknowledged", plant: edit("stranger", stranger), sql: acknowledged, want: []string{"explained conflict_acknowledged KO"}},
		{
			what: "acknowledged, and changed since", plant: edit("stranger", stranger), sql: strings.Replace(acknowledged, "1000000000", "1", 1),
			want: []string{"break order_unknown KO"},
		},
		{
			what: "a conflict that is not acknowledged", plant: edit("stranger", stranger), sql: strings.Replace(acknowledged, "2, 'ours'", "0, ''", 1),
			want: []string{"break order_unknown KO"},
		},
		{what: "another prefix", plant: edit("stranger", func(b *brokercheck.Order) { stranger(b); b.ClientOrderID = "sr-other-1" })},
		{what: "missing", plant: func(_ *testing.T, d *desk) { d.drop("filled") }, want: []string{"break order_missing AAPL"}},
		{what: "missing, with its shares", plant: func(_ *testing.T, d *desk) {
			d.hold("AAPL", -d.first["filled"].FilledQty)
			d.drop("filled")
		}, want: []string{"break order_missing AAPL"}},
		{what: "symbol", plant: edit("filled", func(b *brokercheck.Order) { b.Symbol = "KO" }), want: []string{"break symbol_differs AAPL"}},
		{
			what: "the symbol, another stock's now", plant: edit("filled", func(b *brokercheck.Order) { b.AssetID = "new" }),
			sql: `UPDATE assets SET broker_id = 'a' WHERE symbol = 'AAPL'`, want: []string{"break symbol_differs AAPL"},
		},
		{what: "a renamed stock", plant: func(_ *testing.T, d *desk) {
			d.both("filled", func(b *brokercheck.Order) { b.AssetID, b.Symbol = "a", "APL" })
			d.positions["AAPL"] = brokercheck.Position{AssetID: "a", Symbol: "APL", Qty: d.positions["AAPL"].Qty}
		}, sql: `UPDATE assets SET broker_id = 'a', symbol = 'AAPL.OLD' WHERE symbol = 'AAPL'`},
		{what: "side", plant: edit("filled", func(b *brokercheck.Order) { b.Side = "sell" }), want: []string{"break side_differs AAPL"}},
		{what: "notional", plant: edit("filled", func(b *brokercheck.Order) { b.Notional++ }), want: []string{"break notional_differs AAPL"}},
		{what: "broker's id", plant: edit("filled", func(b *brokercheck.Order) { b.BrokerID = "other" }), want: []string{"break broker_id_differs AAPL"}},
		{what: "quantity", plant: edit("filled", func(b *brokercheck.Order) { b.FilledQty++ }), want: []string{"break filled_differs AAPL"}},
		{what: "quantity, with its shares", plant: func(_ *testing.T, d *desk) {
			d.both("filled", func(b *brokercheck.Order) { b.FilledQty++ })
			d.hold("AAPL", 1)
		}, want: []string{"break filled_differs AAPL"}},
		{
			what: "quantity, acknowledged", plant: edit("again", func(b *brokercheck.Order) { b.FilledQty = 5 }),
			sql:  `INSERT INTO broker_conflicts SELECT client_order_id, 'XOM', 5, 'x', 1, 2, 'seen' FROM orders WHERE id = @again`,
			want: []string{"explained conflict_acknowledged XOM"},
		},
		{
			what: "adopted", sql: `INSERT INTO broker_conflicts SELECT client_order_id, 'XOM', 5, 'x', 1, 2, 'adopted' FROM orders WHERE id = @again`,
			want: []string{"explained conflict_acknowledged XOM"},
		},
		{what: "status", plant: edit("filled", func(b *brokercheck.Order) { b.Status = "canceled" }), want: []string{"break status_differs AAPL"}},
		{what: "price", plant: edit("filled", func(b *brokercheck.Order) { b.AveragePrice++ }), want: []string{"break price_differs AAPL"}},
		{
			what: "unreadable", plant: edit("filled", func(b *brokercheck.Order) { b.Problem = "filled_qty: too many decimals" }),
			want: []string{"break order_unreadable AAPL"},
		},
		{
			what: "refused, but bought", plant: func(t *testing.T, d *desk) { d.known(t, "refused", "filled", 1, 1) },
			want: []string{"break refused_but_known TSLA"},
		},
		{
			what: "refused, and accepted", plant: func(t *testing.T, d *desk) { d.known(t, "refused", "accepted", 0, 0) },
			want: []string{"break refused_but_known TSLA"},
		},
		{what: "refused, and rejected", plant: func(t *testing.T, d *desk) { d.known(t, "refused", "rejected", 0, 0) }},
		{
			what: "never sent, but there", plant: func(t *testing.T, d *desk) { d.known(t, "planned", "new", 0, 0) },
			want: []string{"break order_not_sent TSLA"},
		},
		{what: "sent while comparing", plant: func(t *testing.T, d *desk) {
			d.known(t, "planned", "new", 0, 0)
			delete(d.first, "planned")
		}},
		{
			what: "decided otherwise", plant: edit("resolved", func(b *brokercheck.Order) { b.FilledQty, b.Status = 0, "expired" }),
			want: []string{"explained order_resolved KO"},
		},
		{what: "decided, with another status", plant: edit("resolved", func(b *brokercheck.Order) { b.Status = "expired" })},
		{what: "decided, and not there", plant: func(_ *testing.T, d *desk) { d.drop("unbought") }, want: []string{"explained order_resolved KO"}},
	}
}
