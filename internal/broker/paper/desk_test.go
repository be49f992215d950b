package paper_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/test/world"
)

const dollar money.Price = 1_000_000_000

func catalog() []paper.Asset {
	return []paper.Asset{
		{Symbol: "AAPL", Name: "Apple Inc. Common Stock", Exchange: "NASDAQ", Price: 255 * dollar},
		{Symbol: "BRK.A", Name: "Berkshire Hathaway Inc.", Exchange: "NYSE", Price: 700_000 * dollar},
		{Symbol: "BRK.B", Name: "Berkshire Hathaway Inc. Class B", Exchange: "NYSE", Price: 480 * dollar},
		{Symbol: "F", Name: "Ford Motor Company", Exchange: "NYSE", Price: 12 * dollar},
		{Symbol: "NVDA", Name: "NVIDIA Corporation", Exchange: "NASDAQ", Price: 180 * dollar},
		{Symbol: "PENNY", Name: "Penny Stock", Exchange: "NASDAQ", Price: dollar / 50},
		{Symbol: "WHOLE", Name: "Whole Shares Only", Exchange: "NYSE", Price: 30 * dollar, NotFractionable: true},
		{Symbol: "HALT", Name: "Halted", Exchange: "NYSE", Price: 30 * dollar, NotTradable: true},
	}
}

// watch is a clock that a test sets.
type watch struct {
	mu sync.Mutex
	at time.Time
}

func (w *watch) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *watch) set(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
}

func (w *watch) advance(d time.Duration) { w.set(w.now().Add(d)) }

// desk is a client of a brokerage whose clock it sets.
type desk struct {
	*watch

	t    *testing.T
	path string
	b    *paper.Brokerage
}

// monday is a Monday at 10:00 in New York.
func monday() time.Time { return time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC) }

// newDesk opens a brokerage with books in memory.
func newDesk(t *testing.T, o paper.Options) *desk {
	t.Helper()
	return openDesk(t, ":memory:", o)
}

// newFileDesk opens a brokerage with books in a file.
func newFileDesk(t *testing.T, o paper.Options) *desk {
	t.Helper()
	return openDesk(t, filepath.Join(t.TempDir(), "odd name?#%.db"), o)
}

func openDesk(t *testing.T, path string, o paper.Options) *desk {
	t.Helper()
	d := &desk{watch: &watch{at: monday()}, t: t, path: path}
	d.open(o)
	return d
}

func (d *desk) open(o paper.Options) {
	d.t.Helper()
	o.Now = d.now
	d.b = open(d.t, d.path, o)
}

func (d *desk) reopen(o paper.Options) {
	d.t.Helper()
	d.check(d.b.Close())
	d.open(o)
}

// open opens a brokerage that is closed at the end of the test.
func open(t *testing.T, path string, o paper.Options) *paper.Brokerage {
	t.Helper()
	if o.Catalog == nil {
		o.Catalog = catalog()
	}
	b, err := paper.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open(%q): %v", path, err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

func (d *desk) check(err error) {
	d.t.Helper()
	world.Check(d.t, err)
}

type response struct {
	status int
	header http.Header
	body   string
}

// do sends a request. The headers are names and values in turn.
func (d *desk) do(method, path, body string, headers ...string) response {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, "http://paper.test"+path, strings.NewReader(body))
	d.check(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := d.b.Transport().RoundTrip(req)
	d.check(err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	d.check(err)
	return response{resp.StatusCode, resp.Header, string(text)}
}

func (d *desk) status(path string) int {
	d.t.Helper()
	return d.do(http.MethodGet, path, "").status
}

// get reads a path and decodes the answer, which must be a 200.
func get[V any](d *desk, path string) V {
	d.t.Helper()
	return send[V](d, http.MethodGet, path, "")
}

// send sends a request and decodes the answer, which must be a 200.
func send[V any](d *desk, method, path, body string) (v V) {
	d.t.Helper()
	r := d.do(method, path, body)
	if r.status != http.StatusOK {
		d.t.Fatalf("%s %s %s: %d %s", method, path, body, r.status, r.body)
	}
	d.check(json.Unmarshal([]byte(r.body), &v))
	return v
}

// expect checks the status of an answer, and that its body contains a string.
func (d *desk) expect(method, path, body string, status int, part string) {
	d.t.Helper()
	if got := d.do(method, path, body); got.status != status || !strings.Contains(got.body, part) {
		d.t.Errorf("%s %s %s: %d %s, want %d %s", method, path, body, got.status, got.body, status, part)
	}
}

type order struct {
	ID             string  `json:"id"`
	ClientOrderID  string  `json:"client_order_id"`
	Symbol         string  `json:"symbol"`
	Side           string  `json:"side"`
	Status         string  `json:"status"`
	Notional       *string `json:"notional"`
	Qty            *string `json:"qty"`
	FilledQty      string  `json:"filled_qty"`
	FilledAvgPrice *string `json:"filled_avg_price"`
	SubmittedAt    string  `json:"submitted_at"`
	UpdatedAt      string  `json:"updated_at"`
	FilledAt       *string `json:"filled_at"`
	ExpiredAt      *string `json:"expired_at"`
	CanceledAt     *string `json:"canceled_at"`
	FailedAt       *string `json:"failed_at"`
}

type account struct {
	ID          string `json:"id"`
	Cash        string `json:"cash"`
	BuyingPower string `json:"buying_power"`
	Equity      string `json:"equity"`
	LastEquity  string `json:"last_equity"`
}

type position struct {
	Symbol       string `json:"symbol"`
	Qty          string `json:"qty"`
	QtyAvailable string `json:"qty_available"`
	CostBasis    string `json:"cost_basis"`
	MarketValue  string `json:"market_value"`
	UnrealizedPL string `json:"unrealized_pl"`
}

// market returns the body of a market order. The amount is a member such as `"qty":"1"`.
func market(id, symbol, side, amount string) string {
	return `{"client_order_id":"` + id + `","symbol":"` + symbol + `","side":"` + side + `",` + amount +
		`,"type":"market","time_in_force":"day"}`
}

func notional(dollars string) string { return `"notional":"` + dollars + `"` }

func quantity(shares string) string { return `"qty":"` + shares + `"` }

// place submits a market order that must be accepted.
func (d *desk) place(id, symbol, side, amount string) order {
	d.t.Helper()
	return send[order](d, http.MethodPost, "/v2/orders", market(id, symbol, side, amount))
}

func byClientID(id string) string { return "/v2/orders:by_client_order_id?client_order_id=" + id }

func (d *desk) find(id string) order {
	d.t.Helper()
	return get[order](d, byClientID(id))
}

// buy buys for the dollars and waits for the fill.
func (d *desk) buy(id, symbol, dollars string) {
	d.t.Helper()
	d.place(id, symbol, "buy", notional(dollars))
	d.advance(time.Second)
	if o := d.find(id); o.Status != "filled" {
		d.t.Fatalf("order %+v, want it filled", o)
	}
}

func (d *desk) account() account {
	d.t.Helper()
	return get[account](d, "/v2/account")
}

func (d *desk) position(symbol string) position {
	d.t.Helper()
	return get[position](d, "/v2/positions/"+symbol)
}

func (d *desk) afflict(lines ...string) {
	d.t.Helper()
	for _, line := range lines {
		f, err := paper.ParseFault(line)
		d.check(err)
		_, err = d.b.AddFault(f)
		d.check(err)
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func usd(text string) money.USD       { return must(money.ParseUSD(text)) }
func shares(text string) money.Shares { return must(money.ParseShares(text)) }
func price(text string) money.Price   { return must(money.ParsePrice(text)) }
func instant(text string) time.Time   { return must(time.Parse(time.RFC3339Nano, text)) }
