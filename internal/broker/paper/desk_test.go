package paper_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

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

// desk is a brokerage with its clock, spoken to over HTTP.
type desk struct {
	*watch

	b *paper.Brokerage
}

// monday is a Monday at 10:00 in New York.
func monday() time.Time { return time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC) }

func newDesk(t *testing.T, o paper.Options) *desk {
	t.Helper()
	w := &watch{at: monday()}
	o.Now = w.now
	return &desk{watch: w, b: open(t, ":memory:", o)}
}

// response is an answer of the brokerage.
type response struct {
	status int
	header http.Header
	body   string
}

// do sends a request with further headers, told in pairs.
func (d *desk) do(t *testing.T, method, path, body string, headers ...string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://paper.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := d.b.Transport().RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}

// get asks for a path and decodes the answer, which must be a 200.
func get[V any](t *testing.T, d *desk, path string) V {
	t.Helper()
	return decode[V](t, d.do(t, http.MethodGet, path, ""))
}

func decode[V any](t *testing.T, r response) V {
	t.Helper()
	var v V
	if r.status != http.StatusOK {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("decode %s: %v", r.body, err)
	}
	return v
}

// order is what the tests look at in an order.
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
	Symbol        string `json:"symbol"`
	Qty           string `json:"qty"`
	QtyAvailable  string `json:"qty_available"`
	AvgEntryPrice string `json:"avg_entry_price"`
	CostBasis     string `json:"cost_basis"`
	MarketValue   string `json:"market_value"`
	CurrentPrice  string `json:"current_price"`
	UnrealizedPL  string `json:"unrealized_pl"`
}

// market is the body of a market order; amount is a member such as `"qty":"1"`.
func market(id, symbol, side, amount string) string {
	return `{"client_order_id":"` + id + `","symbol":"` + symbol + `","side":"` + side + `",` + amount +
		`,"type":"market","time_in_force":"day"}`
}

// place sends a market order that must be accepted.
func (d *desk) place(t *testing.T, id, symbol, side, amount string) order {
	t.Helper()
	return decode[order](t, d.do(t, http.MethodPost, "/v2/orders", market(id, symbol, side, amount)))
}

// find looks an order up by its client order id.
func (d *desk) find(t *testing.T, id string) order {
	t.Helper()
	return get[order](t, d, "/v2/orders:by_client_order_id?client_order_id="+id)
}

// bought buys for the dollars and waits for the fill.
func (d *desk) bought(t *testing.T, id, symbol, dollars string) {
	t.Helper()
	d.place(t, id, symbol, "buy", `"notional":"`+dollars+`"`)
	d.advance(time.Second)
	o := d.find(t, id)
	if o.Status != "filled" {
		t.Fatalf("the order is %+v, want it filled", o)
	}
}

func usd(t *testing.T, text string) money.USD {
	t.Helper()
	n, err := money.ParseUSD(text)
	if err != nil {
		t.Fatalf("amount %q: %v", text, err)
	}
	return n
}

func shares(t *testing.T, text string) money.Shares {
	t.Helper()
	n, err := money.ParseShares(text)
	if err != nil {
		t.Fatalf("quantity %q: %v", text, err)
	}
	return n
}

func price(t *testing.T, text string) money.Price {
	t.Helper()
	n, err := money.ParsePrice(text)
	if err != nil {
		t.Fatalf("price %q: %v", text, err)
	}
	return n
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatalf("time %q: %v", text, err)
	}
	return at
}
