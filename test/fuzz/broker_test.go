package fuzz

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const goodOrder = `{"id":"61e69015-8549-4bfd-b9c3-01e75843f47d","client_order_id":"sr-1","symbol":"AAPL","asset_id":"a",
	"side":"buy","status":"filled","notional":"25.5","qty":null,"filled_qty":"0.1","filled_avg_price":"255.0000000001",
	"submitted_at":"2026-03-16T18:38:01.942282123Z","filled_at":"2026-03-16T14:38:02-04:00","legs":null}`

const (
	askSubmit = iota
	askOrder
	askOrders
	askAccount
	askClock
	askPositions
	askAssets
	askSnapshots
	askActivities
	asks
)

// FuzzBroker answers anything to each question that the broker is asked. The client
// must give what the answer says, to the last digit, or an error that says what it
// proves: that something was refused is proven by the broker's own words alone.
func FuzzBroker(f *testing.F) {
	for _, body := range []string{
		goodOrder, "[" + goodOrder + `,7,{"id":"x"}]`, "", "null", "[]", `{"message":"client_order_id must be unique"}`,
		`{"code":40310000,"message":"insufficient buying power"}`, `{"message":"asset X is not fractionable"}`, `{"message":null}`,
		`<html>`, strings.Replace(goodOrder, `"0.1"`, `1e400`, 1), strings.Replace(goodOrder, `"25.5"`, `"\ud800"`, 1),
		`{"id":"a","status":"ACTIVE","buying_power":"262113.632","trading_blocked":false}`,
		`{"timestamp":"2026-03-16T10:00:00-04:00","is_open":true,"next_open":"2026-03-17T09:30:00-04:00","next_close":"2026-03-16T16:00:00-04:00"}`,
		`[{"asset_id":"a","symbol":"AAPL","qty":"-0.000000001"}]`, `[{"id":"a","symbol":"A","name":"A","status":"active","tradable":true}]`,
		`[{"id":"1::a","activity_type":"FILL","order_id":"o","side":"sell","qty":"1.5","cum_qty":"2","price":"174.78","type":"fill"}]`,
		`[{"id":"1::b","activity_type":"DIV","date":"2019-08-01","net_amount":"-1.0299999","qty":2e0,"per_share_amount":"0.51","currency":"USD"}]`,
		`{"AAPL":{"latestTrade":{"t":"2026-03-16T14:00:00Z","p":187.33},"prevDailyBar":{"c":1.8e2}}}`,
	} {
		for ask := range byte(asks) {
			f.Add(ask, uint16(0), body) // 200
		}
		if strings.Contains(body, "message") {
			for _, status := range []uint16{200, 201, 203, 204, 222, 229, 300, 303} { // 400, 401 and so on
				f.Add(byte(askSubmit), status, body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, ask byte, status uint16, body string) {
		client := alpaca.New(alpaca.Options{
			TradingURL: "http://t.test", DataURL: "http://d.test", KeyID: "CANARY-KEY", SecretKey: "CANARY-SECRET",
			RequestsPerMinute: 1_000_000_000, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200 + int(status)%400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
			}),
		})
		err := question(t, client, int(ask)%asks, body)
		if err == nil {
			return
		}
		e, ok := errors.AsType[*rewards.BrokerError](err)
		if !ok || strings.Contains(err.Error(), "CANARY") {
			t.Fatalf("error %v", err)
		}
		proof := map[rewards.BrokerErrorKind][]uint16{
			rewards.BrokerRefused: {400, 403, 422}, rewards.BrokerWait: {400, 401, 403, 404, 422}, rewards.BrokerDuplicate: {400, 422},
			rewards.BrokerNotFound: {404},
		}[e.Kind]
		var words struct{ Message *string }
		spoken := json.Unmarshal([]byte(body), &words) == nil && words.Message != nil
		proven := int(ask)%asks == askActivities && e.Kind == rewards.BrokerNotFound // not offered, in anybody's words
		for _, s := range proof {
			proven = proven || spoken && s == 200+status%400
		}
		if e.Kind != rewards.BrokerUnknown && !proven || e.Kind == rewards.BrokerRefused && e.Code == "" {
			t.Errorf("%d %q proves %s %q", 200+status%400, body, e.Kind, e.Code)
		}
	})
}

func question(t *testing.T, c *alpaca.Client, ask int, body string) (err error) {
	t.Helper()
	switch ask {
	case askSubmit:
		var o rewards.BrokerOrder
		o, err = c.Submit(t.Context(), rewards.OrderRequest{ClientOrderID: "sr-1", Symbol: "AAPL", Notional: money.Dollar})
		checkOrder(t, o, err, body)
	case askOrder:
		var o rewards.BrokerOrder
		o, err = c.OrderByClientID(t.Context(), "sr-1")
		checkOrder(t, o, err, body)
	case askOrders:
		var list []rewards.BrokerOrder
		list, err = c.Orders(t.Context(), time.Time{}, nil)
		for _, o := range list {
			if o.Problem == "" && (o.ID == "" || o.ClientOrderID == "" || o.FilledQty < 0 || o.FilledAvgPrice < 0 || o.Notional < 0) {
				t.Errorf("order %+v from %q", o, body)
			}
		}
	case askAccount:
		var a rewards.BrokerAccount
		if a, err = c.Account(t.Context()); err == nil && a.ID == "" {
			t.Errorf("account %+v from %q", a, body)
		}
	case askClock:
		var m rewards.MarketClock
		if m, err = c.Clock(t.Context()); err == nil && (m.Now.IsZero() || m.NextOpen.IsZero() || m.NextClose.IsZero()) {
			t.Errorf("clock %+v from %q", m, body)
		}
	case askPositions:
		var list []rewards.Position
		list, err = c.Positions(t.Context())
		checkPositions(t, list, err, body)
	case askAssets:
		var list []rewards.BrokerAsset
		list, err = c.Assets(t.Context())
		for _, a := range list {
			if a.ID == "" || a.Symbol == "" {
				t.Errorf("asset %+v from %q", a, body)
			}
		}
	case askSnapshots:
		var all map[string]rewards.BrokerPrice
		all, err = c.LatestPrices(t.Context(), []string{"AAPL"})
		for symbol, s := range all {
			if symbol != "AAPL" || s.Symbol != symbol || s.Price <= 0 || s.PreviousClose < 0 {
				t.Errorf("snapshot %+v from %q", s, body)
			}
		}
	case askActivities:
		var list []rewards.Activity
		list, _, err = c.Activities(t.Context(), "", time.Time{}, "")
		checkActivities(t, list, err, body)
	}
	return err
}

// checkOrder wants the numbers of an order to be those that were written.
func checkOrder(t *testing.T, o rewards.BrokerOrder, err error, body string) {
	t.Helper()
	if err != nil {
		return
	}
	if o.ID == "" || o.ClientOrderID != "sr-1" || o.FilledQty < 0 || o.FilledAvgPrice < 0 || o.Notional < 0 {
		t.Errorf("order %+v from %q", o, body)
	}
	var w map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &w) != nil {
		t.Fatalf("an order of %q", body)
	}
	if o.Problem != "" {
		return
	}
	for _, n := range []struct {
		name     string
		got      int64
		decimals int64
	}{{"notional", int64(o.Notional), 6}, {"filled_qty", int64(o.FilledQty), 9}, {"filled_avg_price", int64(o.FilledAvgPrice), 9}} {
		if text := numberOf(w[n.name]); text != "" && rounded(t, text, n.decimals) != n.got {
			t.Errorf("%s: %s was read as %d", n.name, text, n.got)
		}
	}
}

func checkPositions(t *testing.T, list []rewards.Position, err error, body string) {
	t.Helper()
	var raw []map[string]json.RawMessage
	if err != nil || json.Unmarshal([]byte(body), &raw) != nil {
		return
	}
	for i, p := range list {
		if want := rounded(t, numberOf(raw[i]["qty"]), 9); p.Symbol == "" || int64(p.Qty) != want {
			t.Errorf("position %+v from %q", p, body)
		}
	}
}

func checkActivities(t *testing.T, list []rewards.Activity, err error, body string) {
	t.Helper()
	var raw []map[string]json.RawMessage
	if err != nil || json.Unmarshal([]byte(body), &raw) != nil {
		return
	}
	for i, a := range list {
		if a.ID == "" || a.CumQty < 0 || a.Price < 0 || a.Date != "" && !a.Date.Valid() || !json.Valid([]byte(a.Body)) {
			t.Errorf("activity %+v from %q", a, body)
		}
		if text := numberOf(raw[i]["qty"]); a.Problem == "" && text != "" && text != "null" {
			if want := rounded(t, text, 9); int64(a.Qty) != want && int64(a.Qty) != -want {
				t.Errorf("qty: %s was read as %s", text, a.Qty)
			}
		}
	}
}

// numberOf is the text of a JSON number, or of a string with one; "" for null and absent.
func numberOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
