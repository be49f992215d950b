package paper_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/rewards"
)

// TestActionsThroughTheAdapter: the service's own client reads every kind of announcement and
// activity, the corrections among them, without a problem.
func TestActionsThroughTheAdapter(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true, Hours: paper.USEquities})
	server := httptest.NewServer(d.b.Handler())
	t.Cleanup(server.Close)
	client := alpaca.New(alpaca.Options{
		TradingURL: server.URL, DataURL: server.URL, RequestsPerMinute: manyPerMinute,
	})
	for _, symbol := range []string{"AAPL", "BRK.B", "F", "NVDA"} {
		d.place("buy "+symbol, symbol, "buy", quantity("10"))
	}
	d.advance(time.Second)
	d.expect("POST", "/control/orders/buy%20F/bust", `{"filled_qty":"11"}`, 200, "")
	d.afflict("fraction-reversed symbol=AAPL times=1")
	terms := map[string]rewards.Terms{
		`{"type":"reverse_split","symbol":"AAPL","old_rate":4,"new_rate":1,"new_symbol":"APPL","ex_date":"2026-03-17"}`: {
			Type: "reverse_split", Symbol: "AAPL", NewSymbol: "APPL", OldRate: "4", NewRate: "1", ExDate: "2026-03-17",
		},
		`{"type":"stock_dividend","symbol":"F","rate":0.05,"ex_date":"2026-03-17"}`: {
			Type: "stock_dividend", Symbol: "F", Rate: "0.05", ExDate: "2026-03-17",
		},
		`{"type":"cash_dividend","symbol":"F","rate":0.15,"tax_rate":0.1,"ex_date":"2026-03-18","payable_date":"2026-03-19"}`: {
			Type: "cash_dividend", Symbol: "F", Rate: "0.15", ExDate: "2026-03-18", PayDate: "2026-03-19",
		},
		`{"type":"name_change","old_symbol":"F","new_symbol":"FRD","process_date":"2026-03-19"}`: {
			Type: "name_change", Symbol: "F", NewSymbol: "FRD", ExDate: "2026-03-19",
		},
		`{"type":"spin_off","source_symbol":"NVDA","source_rate":4,"new_symbol":"SPUN","new_rate":1,"ex_date":"2026-03-17"}`: {
			Type: "spin_off", Symbol: "NVDA", NewSymbol: "SPUN", OldRate: "4", NewRate: "1", ExDate: "2026-03-17",
		},
		`{"type":"stock_and_cash_merger","acquiree_symbol":"NVDA","acquirer_symbol":"AAPL","acquiree_rate":1,"acquirer_rate":0.5,"cash_rate":2,"effective_date":"2026-03-18"}`: {
			Type: "stock_and_cash_merger", Symbol: "NVDA", NewSymbol: "AAPL", OldRate: "1", NewRate: "0.5", Rate: "2", ExDate: "2026-03-18",
		},
		`{"type":"cash_merger","acquiree_symbol":"BRK.B","rate":400,"payable_date":"2026-03-20","effective_date":"2026-03-18"}`: {
			Type: "cash_merger", Symbol: "BRK.B", Rate: "400", ExDate: "2026-03-18", PayDate: "2026-03-20",
		},
		`{"type":"worthless_removal","symbol":"PENNY","process_date":"2026-03-18"}`: {
			Type: "worthless_removal", Symbol: "PENNY", ExDate: "2026-03-18",
		},
	}
	want := map[string]rewards.Terms{}
	for body, read := range terms {
		want[d.announce(body).ID] = read
	}
	list, _, err := client.Announcements(t.Context(), "2026-03-01", "2026-03-31", "")
	d.check(err)
	got := map[string]rewards.Terms{}
	for _, a := range list {
		got[a.ID] = a.Terms
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("announcements (-want +got):\n%s", diff)
	}
	d.set(newYork("2026-03-25 12:00:00"))
	d.checkActivities(client)
}

// checkActivities reads all activities through the adapter: they are readable, corrections
// name one that is there, and they add up to the positions and the cash.
func (d *desk) checkActivities(client *alpaca.Client) {
	d.t.Helper()
	list, _, err := client.Activities(d.t.Context(), "", time.Time{}, "")
	d.check(err)
	positions, err := client.Positions(d.t.Context())
	d.check(err)
	want, got, ids := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, p := range positions {
		want[p.Symbol] = p.Qty.String()
	}
	sum, types := map[string]rewards.Activity{}, map[string]bool{}
	for _, a := range list {
		ids[a.ID], types[a.Type+"/"+a.SubType+"/"+a.Status] = true, true
		if a.Problem != "" || a.CreatedAt.IsZero() || a.Previous != "" && !ids[a.Previous] {
			d.t.Errorf("activity %+v", a)
		}
		if a.SubType != "CDIV" && a.Type != "DIVNRA" { // their quantity is what was paid for
			s := sum[a.Symbol]
			s.Qty += a.Qty
			sum[a.Symbol] = s
		}
	}
	for symbol, s := range sum {
		if s.Qty != 0 {
			got[symbol] = s.Qty.String()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("positions, and the sums of activities (-want +got):\n%s", diff)
	}
	for _, kind := range []string{
		"FILL/fill/", "FILL/trade_correct/", "SPLIT/RSPLIT/executed", "NC/SNC/executed", "CIL//executed", "CIL//correct",
		"DIV/SDIV/executed", "DIV/CDIV/executed", "DIVNRA//executed", "SPIN//executed", "MA/SCMA/executed", "MA/CMA/executed",
	} {
		if !types[kind] {
			d.t.Errorf("no activity of the kind %s in %v", kind, types)
		}
	}
}
