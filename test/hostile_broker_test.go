package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile is a broker that was written apart from the paper brokerage, from Alpaca's
// documents alone, and that lies as a story says. It fills $5 at $100 a share.
type hostile struct {
	mu       sync.Mutex
	server   *httptest.Server
	account  string
	ahead    time.Duration // of its clock
	price    string        // of the last trade
	previous string        // close of the day before; "" for none
	traded   time.Duration // how far the last trade is ahead
	orders   []map[string]any
	fill     func(order map[string]any) // what becomes of the next orders
}

func startHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{account: "11111111-aaaa-4aaa-8aaa-111111111111", price: "100", previous: "99", fill: honest}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (int, any){
		"GET /v2/account":                   h.getAccount,
		"GET /v2/clock":                     h.getClock,
		"POST /v2/orders":                   h.postOrder,
		"GET /v2/orders":                    h.getOrders,
		"GET /v2/orders:by_client_order_id": h.getOrder,
		"GET /v2/stocks/snapshots":          h.getSnapshots,
		"GET /v2/positions":                 func(*http.Request) (int, any) { return http.StatusOK, []any{} },
		"GET /v2/assets":                    func(*http.Request) (int, any) { return http.StatusOK, []any{} },
		"/":                                 func(*http.Request) (int, any) { return refusalOf(http.StatusNotFound, "endpoint not found") },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			h.mu.Lock()
			defer h.mu.Unlock()
			status, body := answer(r)
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		})
	}
	h.server = httptest.NewServer(mux)
	t.Cleanup(h.server.Close)
	return h
}

func (h *hostile) flags() []string {
	return []string{"--broker", "alpaca", "--alpaca-url", h.server.URL, "--alpaca-data-url", h.server.URL}
}

// lies changes what the broker does from now on.
func (h *hostile) lies(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// count is how many orders it has.
func (h *hostile) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.orders)
}

func honest(order map[string]any) { fills("filled", "0.05", "100")(order) }

func fills(status, qty, price string) func(map[string]any) {
	return func(order map[string]any) {
		order["status"], order["filled_qty"], order["filled_avg_price"] = status, qty, price
		order["filled_at"] = time.Now().UTC().Format(time.RFC3339Nano)
	}
}

func refusalOf(status int, message string) (int, any) {
	return status, map[string]any{"code": status * 100_000, "message": message}
}

func (h *hostile) getAccount(*http.Request) (int, any) {
	return http.StatusOK, map[string]any{
		"id": h.account, "account_number": "PAHOSTILE", "status": "ACTIVE", "buying_power": "1000000",
	}
}

func (h *hostile) getClock(*http.Request) (int, any) {
	now := time.Now().Add(h.ahead)
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339Nano) }
	return http.StatusOK, map[string]any{
		"timestamp": at(0), "is_open": true, "next_open": at(24 * time.Hour), "next_close": at(6 * time.Hour),
	}
}

func (h *hostile) postOrder(r *http.Request) (int, any) {
	var order map[string]any
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		return refusalOf(http.StatusBadRequest, "unreadable")
	}
	for _, o := range h.orders {
		if o["client_order_id"] == order["client_order_id"] {
			return refusalOf(http.StatusUnprocessableEntity, "client_order_id must be unique")
		}
	}
	order["id"] = fmt.Sprintf("order-%d", len(h.orders))
	order["submitted_at"] = time.Now().UTC().Format(time.RFC3339Nano)
	h.fill(order)
	h.orders = append(h.orders, order)
	return http.StatusOK, order
}

func (h *hostile) getOrders(r *http.Request) (int, any) {
	after, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("after")) // the zero time lists all
	list := []any{}
	for _, o := range h.orders {
		text, _ := o["submitted_at"].(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.After(after) {
			list = append(list, o)
		}
	}
	return http.StatusOK, list
}

func (h *hostile) getOrder(r *http.Request) (int, any) {
	for _, o := range h.orders {
		if o["client_order_id"] == r.URL.Query().Get("client_order_id") {
			return http.StatusOK, o
		}
	}
	return refusalOf(http.StatusNotFound, "order not found")
}

func (h *hostile) getSnapshots(r *http.Request) (int, any) {
	all := map[string]any{}
	for symbol := range strings.SplitSeq(r.URL.Query().Get("symbols"), ",") {
		s := map[string]any{"latestTrade": map[string]any{
			"t": time.Now().Add(h.traded).UTC().Format(time.RFC3339Nano), "p": json.Number(h.price),
		}}
		if h.previous != "" {
			s["prevDailyBar"] = map[string]any{"c": json.Number(h.previous)}
		}
		all[symbol] = s
	}
	return http.StatusOK, all
}
