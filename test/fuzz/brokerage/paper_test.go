// Package brokerage throws whatever at the paper brokerage. It is apart from the other
// targets, which do without a database.
package brokerage

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/test/world"
)

// FuzzFault parses anything as a fault. A valid one formats as a line that parses to the
// same fault.
func FuzzFault(f *testing.F) {
	for _, kind := range faults.Kinds() {
		f.Add(kind)
	}
	for _, line := range []string{
		"lost-answer on=submit,lookup chance=5% times=10", "error status=503 carried=true for=4h", "cancel by=1.5s symbol=AAPL skip=3",
		"partial-then-filled share=30 by=1m", "error chance=0.0001%", "empty-body carried=false", "outage for=-1s", "late-answer by=0s", "error chance=100%",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		fault, err := paper.ParseFault(line)
		if err != nil {
			return
		}
		again, err := paper.ParseFault(fault.String())
		if diff := cmp.Diff(fault, again); err != nil || diff != "" {
			t.Errorf("%q is formatted as %q: %v\n%s", line, fault, err, diff)
		}
	})
}

// FuzzBrokerage asks the paper brokerage for anything, its controls included. Its
// books balance afterwards, and it says nothing that is no JSON.
func FuzzBrokerage(f *testing.F) {
	order := `{"symbol":"AAPL","notional":"25.5","side":"buy","type":"market","time_in_force":"day","client_order_id":"sr-1"}`
	for _, body := range []string{
		order, strings.Replace(order, `"notional":"25.5"`, `"qty":"0.000000001"`, 1), strings.Replace(order, `"25.5"`, "1e400", 1), "{}", "[", "null",
		strings.Replace(order, "buy", "sell", 1), strings.Replace(order, "AAPL", `\u0000`, 1),
	} {
		f.Add("POST", "/v2/orders", body)
	}
	for _, target := range []string{
		"/v2/orders?status=all&limit=1&after=2026-03-16T14:00:00Z&direction=asc", "/v2/orders/x", "/v2/orders:by_client_order_id?client_order_id=", "/v2/positions",
		"/v2/calendar?start=2026-01-01&end=9999-12-31", "/v2/assets/AAPL", "/v2/stocks/snapshots?symbols=AAPL,,KO", "/v2/account", "/v2/stocks/%2F/trades/latest",
		"/v2/calendar?start=x", "/v2/orders?limit=-1", "/control/clock", "/control/faults",
	} {
		f.Add("GET", target, "")
	}
	f.Add("POST", "/control/faults", `{"fault":"reject"}`)
	f.Add("POST", "/control/faults", "reject times=1")
	f.Add("POST", "/control/faults", "fraction-reversed by=1h")
	for _, body := range []string{
		`{"type":"reverse_split","symbol":"AAPL","old_rate":3,"new_rate":1,"new_symbol":"X","ex_date":"2026-03-16"}`,
		`{"type":"cash_dividend","symbol":"AAPL","rate":0.1,"tax_rate":0.15,"ex_date":"2026-03-16","payable_date":"2026-03-17"}`,
		`{"type":"spin_off","source_symbol":"AAPL","source_rate":4,"new_symbol":"X","new_rate":1,"ex_date":"2026-03-16"}`,
		`{"type":"stock_and_cash_merger","acquiree_symbol":"AAPL","acquirer_symbol":"X","acquiree_rate":1,"acquirer_rate":0.5,"cash_rate":2,"effective_date":"2026-03-16"}`,
	} {
		f.Add("POST", "/control/corporate-actions", body)
	}
	f.Add("PUT", "/control/prices/AAPL", `{"price":"123.45"}`)
	f.Add("PUT", "/control/market", `{"open":false}`)
	f.Add("PUT", "/control/clock", `{"time":"2026-03-16T14:00:00Z","pace":0}`)
	f.Add("POST", "/control/clock/advance", `{"by":"1h"}`)
	f.Add("DELETE", "/v2/orders/x", "")
	f.Fuzz(func(t *testing.T, method, target, body string) {
		asked, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
			strconv.Itoa(len(body)) + "\r\n\r\n" + body)))
		if err != nil {
			return
		}
		b, err := paper.Open(t.Context(), ":memory:", paper.Options{
			Catalog: []paper.Asset{{Symbol: "AAPL", Name: "Apple", Exchange: "NASDAQ", Price: 200_000_000_000}, {Symbol: "KO", Name: "Coke", Exchange: "NYSE", Price: 70_000_000_000}},
			Now:     func() time.Time { return time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC) }, Control: true, Random: strings.NewReader(strings.Repeat("0123456789abcdef", 64)),
		})
		world.Check(t, err)
		defer func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}()
		checkPaper(t, b, asked)
		b.RemoveFault(0)
		if status := checkPaper(t, b, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/v2/account", http.NoBody)); status != http.StatusOK {
			t.Errorf("after %s %s %s the account is answered %d", method, target, body, status)
		}
	})
}

func checkPaper(t *testing.T, b *paper.Brokerage, r *http.Request) int {
	t.Helper()
	answer := httptest.NewRecorder()
	b.Handler().ServeHTTP(answer, r)
	if text := answer.Body.Bytes(); answer.Code == http.StatusInternalServerError || len(text) > 0 && !json.Valid(text) && answer.Code < 300 {
		t.Errorf("%s %s: %d %s", r.Method, r.URL, answer.Code, text)
	}
	return answer.Code
}
