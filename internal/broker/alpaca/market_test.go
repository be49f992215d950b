package alpaca_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/test/world"
)

const price100 money.Price = 100_000_000_000

func TestSnapshots(t *testing.T) {
	t.Parallel()
	traded := time.Date(2026, 3, 16, 14, 0, 0, 123456789, time.UTC)
	snapshot := func(trade, bar string) string {
		return fmt.Sprintf(`{"latestTrade":%s,"prevDailyBar":%s,"latestQuote":null}`, trade, bar)
	}
	const at = `"t":"2026-03-16T14:00:00.123456789Z"`
	for _, c := range []struct {
		name, snapshot string
		want           *rewards.BrokerPrice
	}{
		{"whole", snapshot(`{`+at+`,"p":100,"s":1}`, `{"c":99.5}`), &rewards.BrokerPrice{Symbol: "A", Price: price100, TradedAt: traded, PreviousClose: 99_500_000_000}},
		{"exponent", snapshot(`{`+at+`,"p":1.0e2}`, `{"c":9.95E1}`), &rewards.BrokerPrice{Symbol: "A", Price: price100, TradedAt: traded, PreviousClose: 99_500_000_000}},
		{"no previous bar", snapshot(`{`+at+`,"p":100}`, `null`), &rewards.BrokerPrice{Symbol: "A", Price: price100, TradedAt: traded}},
		{"negative previous close", snapshot(`{`+at+`,"p":100}`, `{"c":-1}`), &rewards.BrokerPrice{Symbol: "A", Price: price100, TradedAt: traded}},
		{"unreadable time", snapshot(`{"t":"now","p":100}`, `{}`), &rewards.BrokerPrice{Symbol: "A", Price: price100}},
		{"no trade", snapshot(`null`, `{"c":99.5}`), nil},
		{"no price", snapshot(`{`+at+`}`, `{"c":99.5}`), nil},
		{"price null", snapshot(`{`+at+`,"p":null}`, `null`), nil},
		{"price zero", snapshot(`{`+at+`,"p":0}`, `null`), nil},
		{"price that rounds to zero", snapshot(`{`+at+`,"p":1e-30}`, `null`), nil},
		{"price negative", snapshot(`{`+at+`,"p":-100}`, `null`), nil},
		{"price too large", snapshot(`{`+at+`,"p":1e308}`, `null`), nil},
		{"price an object", snapshot(`{`+at+`,"p":{}}`, `null`), nil},
		{"price not a number", snapshot(`{`+at+`,"p":"NaN"}`, `null`), nil},
		{"null", "null", nil},
		{"a list", "[]", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if got, want := r.URL.String(), "/v2/stocks/snapshots?symbols=A,BRK.B,GONE"; got != want {
					t.Errorf("asked for %s, want %s", got, want)
				}
				good := snapshot(`{`+at+`,"p":7}`, `{"c":7}`)
				_, _ = fmt.Fprintf(w, `{"A":%s,"BRK.B":%s,"OTHER":%s}`, c.snapshot, good, good)
			})
			got, err := client.LatestPrices(t.Context(), []string{"A", "BRK.B", "GONE"})
			world.Check(t, err)
			want := map[string]rewards.BrokerPrice{"BRK.B": {
				Symbol: "BRK.B", Price: 7_000_000_000, TradedAt: traded, PreviousClose: 7_000_000_000,
			}}
			if c.want != nil {
				want["A"] = *c.want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("snapshots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSnapshotsAreChunked(t *testing.T) {
	t.Parallel()
	var chunks []int
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		symbols := strings.Split(r.URL.Query().Get("symbols"), ",")
		chunks = append(chunks, len(symbols))
		parts := make([]string, len(symbols))
		for i, s := range symbols {
			parts[i] = fmt.Sprintf(`%q:{"latestTrade":{"p":1}}`, s)
		}
		_, _ = io.WriteString(w, "{"+strings.Join(parts, ",")+"}")
	})
	symbols := make([]string, 2_100)
	for i := range symbols {
		symbols[i] = fmt.Sprintf("S%d", i)
	}
	got, err := client.LatestPrices(t.Context(), symbols)
	if err != nil || len(got) != len(symbols) {
		t.Errorf("LatestPrices of %d symbols: %d (%v)", len(symbols), len(got), err)
	}
	if diff := cmp.Diff([]int{1000, 1000, 100}, chunks); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

func TestReading(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 3, 16, hour, 0, 0, 0, time.UTC) }
	clock := func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Clock(ctx) }
	account := func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Account(ctx) }
	positions := func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Positions(ctx) }
	assets := func(ctx context.Context, c *alpaca.Client) (any, error) { return c.Assets(ctx) }
	const (
		now  = `"timestamp":"2026-03-16T14:00:00Z",`
		next = `"next_open":"2026-03-17T09:30:00-04:00","next_close":"2026-03-16T16:00:00-04:00",`
	)
	open := rewards.MarketClock{Now: at(14), Open: true, NextOpen: at(13).AddDate(0, 0, 1).Add(30 * time.Minute), NextClose: at(20)}
	simulated := open
	simulated.Simulated, simulated.CanJump = true, true
	for _, c := range []struct {
		name, body string
		call       func(context.Context, *alpaca.Client) (any, error)
		want       any // nil for an answer that can't be read
	}{
		{"clock", `{` + now + next + `"is_open":true}`, clock, open},
		{"clock set on purpose", `{` + now + next + `"is_open":true,"test_clock":true,"can_jump":true}`, clock, simulated},
		{"clock without is_open", `{` + now + next + `"test_clock":false}`, clock, nil},
		{"clock without next_open", `{` + now + `"is_open":true,"next_close":"2026-03-16T16:00:00-04:00"}`, clock, nil},
		{"clock with a bad time", `{"timestamp":"soon",` + next + `"is_open":true}`, clock, nil},
		{"clock null", `null`, clock, nil},
		{"account", `{"id":"a","status":"ACTIVE","buying_power":"262113.632"}`, account, rewards.BrokerAccount{ID: "a", Status: "ACTIVE", BuyingPower: 262_113_632_000}},
		{"account in debt", `{"id":"a","status":"ACTIVE","buying_power":"-1.1234567"}`, account, rewards.BrokerAccount{ID: "a", Status: "ACTIVE", BuyingPower: -1_123_457}},
		{"account blocked", `{"id":"a","status":"ACTIVE","buying_power":"0","trading_blocked":true}`, account, rewards.BrokerAccount{ID: "a", Status: "ACTIVE", Blocked: true}},
		{"account suspended", `{"id":"a","status":"ACTIVE","buying_power":0,"trade_suspended_by_user":true}`, account, rewards.BrokerAccount{ID: "a", Status: "ACTIVE", Blocked: true}},
		{"account closed", `{"id":"a","status":"ACCOUNT_CLOSED","buying_power":"0","account_blocked":true}`, account, rewards.BrokerAccount{ID: "a", Status: "ACCOUNT_CLOSED", Blocked: true}},
		{"account without id", `{"status":"ACTIVE","buying_power":"1"}`, account, nil},
		{"account without power", `{"id":"a","status":"ACTIVE"}`, account, rewards.BrokerAccount{ID: "a", Status: "ACTIVE"}},
		{"account with strange power", `{"id":"a","status":"ACTIVE","buying_power":"much"}`, account, nil},
		{"positions", `[{"asset_id":"1","symbol":"A","qty":"5"},{"asset_id":"2","symbol":"B","qty":"-0.000000001","side":"short"}]`, positions, []rewards.Position{{AssetID: "1", Symbol: "A", Qty: 5 * money.Share}, {AssetID: "2", Symbol: "B", Qty: -1}}},
		{"no positions", `[]`, positions, []rewards.Position{}},
		{"positions null", `null`, positions, nil},
		{"position without quantity", `[{"asset_id":"1","symbol":"A"}]`, positions, nil},
		{"position with ten decimals", `[{"asset_id":"1","symbol":"A","qty":"0.0000000001"}]`, positions, nil},
		{"position without symbol", `[{"asset_id":"1","qty":"1"}]`, positions, nil},
		{"assets", `[{"id":"1","symbol":"BRK.B","name":"B","exchange":"NYSE","status":"active","tradable":true,"fractionable":true,"attributes":[]},{"id":"","symbol":"X"},7,{"id":"2","symbol":"OLD","status":"inactive"}]`, assets, []rewards.BrokerAsset{{ID: "1", Symbol: "BRK.B", Name: "B", Exchange: "NYSE", Active: true, Tradable: true, Fractionable: true}, {ID: "2", Symbol: "OLD"}}},
		{"assets null", `null`, assets, nil},
		{"assets html", `<html>`, assets, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.call(t.Context(), serveBody(t, 200, c.body))
			if c.want == nil {
				wantError(t, err, rewards.BrokerUnknown, "")
				return
			}
			world.Check(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAssetsQuery(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.URL.String(), "/v2/assets?asset_class=us_equity&status=active"; got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
		_, _ = io.WriteString(w, "[]")
	})
	if _, err := client.Assets(t.Context()); err != nil {
		t.Errorf("Assets: %v", err)
	}
}
