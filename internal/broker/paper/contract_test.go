package paper_test

import (
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/brokertest"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
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

const manyPerMinute = 1_000_000

// TestContractInProcess runs the contract over the in-process transport, on a
// made-up clock, with books in memory and in a file.
func TestContractInProcess(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(*testing.T) string{
		"memory": func(*testing.T) string { return ":memory:" },
		"file":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "paper.db") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			brokertest.RunInBubble(t, func(t *testing.T) brokertest.World {
				t.Helper()
				b := open(t, path(t), paper.Options{})
				client := alpaca.New(alpaca.Options{
					TradingURL: "http://paper.test", DataURL: "http://paper.test",
					Transport: b.Transport(), RequestsPerMinute: manyPerMinute,
				})
				return brokertest.World{Broker: client, Advance: time.Sleep, Unknown: "NOPE"}
			})
		})
	}
}

// TestContractOverLoopback runs the contract over real connections.
func TestContractOverLoopback(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(t *testing.T) brokertest.World {
		t.Helper()
		var ahead atomic.Int64
		b := open(t, filepath.Join(t.TempDir(), "paper.db"), paper.Options{
			Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		})
		server := httptest.NewServer(b.Handler())
		t.Cleanup(server.Close)
		client := alpaca.New(alpaca.Options{
			TradingURL: server.URL + "/v2/", DataURL: server.URL, RequestsPerMinute: manyPerMinute,
		})
		advance := func(d time.Duration) { ahead.Add(int64(d)) }
		return brokertest.World{Broker: client, Advance: advance, Unknown: "NOPE"}
	})
}
