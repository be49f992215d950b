package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/catalog"
)

// hostile is a broker that follows a script instead of the truth. It knows Alpaca's
// protocol only from Alpaca's documents and shares no code with the paper brokerage
// or with the service's client, so that a misreading of one is not hidden by the
// same misreading in the other.
type hostile struct {
	url string

	mu      sync.Mutex
	account string                  // the account's id
	clock   func() time.Time        // the broker's clock
	quotes  map[string]hostileQuote // by symbol; others trade at $100
	orders  []*hostileOrder         // accepted, in order of arrival
	sent    []string                // the client order id of each submission, refused ones too
	listed  []any                   // account activities
	script  func(*hostileOrder)     // decides what becomes of an accepted order
	refuse  func(symbol string) (status int, body string)
	stall   func(symbol string) time.Duration // before a submission is answered
}

type hostileQuote struct {
	price, previousClose string // "" for no previous close
	at                   time.Time
}

// hostileOrder is an order as the broker reports it. Read and change it under the lock.
type hostileOrder struct {
	id, clientID, symbol, notional string
	status, quantity, price        string // quantity and price of what was bought
	submitted, filled              time.Time
}

func (o *hostileOrder) fill(quantity, price string) {
	o.status, o.quantity, o.price, o.filled = "filled", quantity, price, time.Now()
}

// end makes an order end in another state, with what was bought.
func (o *hostileOrder) end(status, quantity, price string) {
	o.fill(quantity, price)
	o.status = status
}

// honestly fills an order at $100.
func honestly(o *hostileOrder) {
	dollars, _ := strconv.ParseFloat(o.notional, 64)
	o.fill(strconv.FormatFloat(dollars/100, 'f', 9, 64), "100")
}

// newHostile starts a broker that is honest until it is changed.
func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{account: "11111111-1111-4111-8111-111111111111", clock: time.Now, quotes: map[string]hostileQuote{}, script: honestly}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/account", h.getAccount)
	mux.HandleFunc("GET /v2/account/activities", func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		reply(w, 200, append([]any{}, h.listed...))
	})
	mux.HandleFunc("GET /v2/clock", h.getClock)
	mux.HandleFunc("GET /v2/calendar", h.getCalendar)
	mux.HandleFunc("GET /v2/assets", h.getAssets)
	mux.HandleFunc("GET /v2/positions", h.getPositions)
	mux.HandleFunc("GET /v2/stocks/snapshots", h.getSnapshots)
	mux.HandleFunc("GET /v1/corporate-actions", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"corporate_actions": map[string]any{}, "next_page_token": nil})
	})
	mux.HandleFunc("POST /v2/orders", h.postOrder)
	mux.HandleFunc("GET /v2/orders", h.getOrders)
	mux.HandleFunc("GET /v2/orders:by_client_order_id", h.getOrder)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *hostile) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *hostile) flags() []string {
	return []string{
		"--broker", "alpaca", "--alpaca-url", h.url, "--alpaca-data-url", h.url,
		"--alpaca-requests-per-minute", "6000",
	}
}

// submissions is how many orders were sent, refused ones included.
func (h *hostile) submissions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sent)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (h *hostile) getAccount(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	reply(w, 200, map[string]any{
		"id": h.account, "account_number": "PA3HOSTILE01", "status": "ACTIVE", "currency": "USD",
		"buying_power": "100000000", "cash": "100000000",
		"trading_blocked": false, "account_blocked": false, "trade_suspended_by_user": false,
	})
}

func (h *hostile) getClock(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock()
	reply(w, 200, map[string]any{
		"timestamp": now.Format(time.RFC3339Nano), "is_open": true,
		"next_open":  now.Add(20 * time.Hour).Format(time.RFC3339),
		"next_close": now.Add(6 * time.Hour).Format(time.RFC3339),
	})
}

func (h *hostile) getCalendar(w http.ResponseWriter, r *http.Request) {
	from, _ := time.Parse(time.DateOnly, r.FormValue("start"))
	to, _ := time.Parse(time.DateOnly, r.FormValue("end"))
	days := []any{}
	for day := from; !day.After(to) && len(days) < 400; day = day.AddDate(0, 0, 1) {
		if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			continue
		}
		days = append(days, map[string]string{"date": day.Format(time.DateOnly), "open": "09:30", "close": "16:00"})
	}
	reply(w, 200, days)
}

func assetID(symbol string) string { return fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012x", symbol) }

func (h *hostile) getAssets(w http.ResponseWriter, _ *http.Request) {
	entries, _ := catalog.Entries()
	list := []any{}
	for _, e := range entries {
		list = append(list, map[string]any{
			"id": assetID(e.Symbol), "symbol": e.Symbol, "name": e.Name, "exchange": "NASDAQ",
			"status": "active", "tradable": true, "fractionable": true,
		})
	}
	reply(w, 200, list)
}

func (h *hostile) getPositions(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sums := map[string]float64{}
	for _, o := range h.orders {
		bought, _ := strconv.ParseFloat(o.quantity, 64)
		sums[o.symbol] += bought
	}
	list := []any{}
	for symbol, sum := range sums {
		list = append(list, map[string]string{
			"asset_id": assetID(symbol), "symbol": symbol, "qty": strconv.FormatFloat(sum, 'f', 9, 64), "side": "long",
		})
	}
	reply(w, 200, list)
}

func (h *hostile) getSnapshots(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer := map[string]any{}
	for symbol := range strings.SplitSeq(r.FormValue("symbols"), ",") {
		q, known := h.quotes[symbol]
		if !known {
			q = hostileQuote{price: "100", previousClose: "100", at: time.Now()}
		}
		snapshot := map[string]any{"latestTrade": map[string]any{"t": q.at.UTC().Format(time.RFC3339Nano), "p": json.Number(q.price)}}
		if q.previousClose != "" {
			snapshot["prevDailyBar"] = map[string]any{"c": json.Number(q.previousClose)}
		}
		answer[symbol] = snapshot
	}
	reply(w, 200, answer)
}

func (h *hostile) postOrder(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Symbol, Notional string
		ClientOrderID    string `json:"client_order_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		reply(w, 400, map[string]any{"code": 40010000, "message": "request body format is invalid"})
		return
	}
	h.mu.Lock()
	var pause time.Duration
	if h.stall != nil {
		pause = h.stall(asked.Symbol)
	}
	h.mu.Unlock()
	time.Sleep(pause) // a slow broker
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, asked.ClientOrderID)
	if h.refuse != nil {
		if status, body := h.refuse(asked.Symbol); status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return
		}
	}
	if slices.ContainsFunc(h.orders, func(o *hostileOrder) bool { return o.clientID == asked.ClientOrderID }) {
		reply(w, 422, map[string]any{"code": 40010001, "message": "client_order_id must be unique"})
		return
	}
	o := &hostileOrder{
		id:       fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", len(h.orders)+1),
		clientID: asked.ClientOrderID, symbol: asked.Symbol, notional: asked.Notional,
		status: "new", quantity: "0", submitted: time.Now(),
	}
	h.orders = append(h.orders, o)
	h.script(o)
	reply(w, 200, o.wire())
}

func (h *hostile) getOrder(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.orders {
		if o.clientID == r.FormValue("client_order_id") {
			reply(w, 200, o.wire())
			return
		}
	}
	reply(w, 404, map[string]any{"code": 40410000, "message": "order not found for " + r.FormValue("client_order_id")})
}

func (h *hostile) getOrders(w http.ResponseWriter, r *http.Request) {
	after, _ := time.Parse(time.RFC3339Nano, r.FormValue("after"))
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []any{}
	for _, o := range h.orders {
		if o.submitted.After(after) {
			list = append(list, o.wire())
		}
	}
	reply(w, 200, list)
}

func (o *hostileOrder) wire() map[string]any {
	body := map[string]any{
		"id": o.id, "client_order_id": o.clientID, "asset_id": assetID(o.symbol), "symbol": o.symbol,
		"asset_class": "us_equity", "side": "buy", "type": "market", "time_in_force": "day", "qty": nil,
		"notional": o.notional, "status": o.status, "filled_qty": o.quantity, "filled_avg_price": nil,
		"created_at": o.submitted.UTC().Format(time.RFC3339Nano), "submitted_at": o.submitted.UTC().Format(time.RFC3339Nano),
		"filled_at": nil,
	}
	if o.price != "" {
		body["filled_avg_price"] = o.price
	}
	if !o.filled.IsZero() {
		body["filled_at"] = o.filled.UTC().Format(time.RFC3339Nano)
	}
	return body
}
