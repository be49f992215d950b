package paper_test

import (
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/brokertest"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/rewards"
)

const manyPerMinute = 1_000_000

// TestContractInProcess runs the contract of brokers over the in-process transport, in
// fake time, with books in memory.
func TestContractInProcess(t *testing.T) {
	t.Parallel()
	brokertest.RunInBubble(t, func(t *testing.T) brokertest.World {
		t.Helper()
		b := open(t, ":memory:", paper.Options{Control: true})
		client := alpaca.New(alpaca.Options{
			TradingURL: "http://paper.test", DataURL: "http://paper.test",
			Transport: b.Transport(), RequestsPerMinute: manyPerMinute,
		})
		return brokertest.World{Broker: client, Advance: time.Sleep, Split: splitter(b), Unknown: "NOPE"}
	})
}

// TestContractOverLoopback runs the contract over real connections, with books in a file.
func TestContractOverLoopback(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(t *testing.T) brokertest.World {
		t.Helper()
		var ahead atomic.Int64
		b := open(t, filepath.Join(t.TempDir(), "paper.db"), paper.Options{
			Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, Control: true,
		})
		server := httptest.NewServer(b.Handler())
		t.Cleanup(server.Close)
		client := alpaca.New(alpaca.Options{
			TradingURL: server.URL + "/v2/", DataURL: server.URL, RequestsPerMinute: manyPerMinute,
		})
		advance := func(d time.Duration) { ahead.Add(int64(d)) }
		return brokertest.World{Broker: client, Advance: advance, Split: splitter(b), Unknown: "NOPE"}
	})
}

// splitter returns a function that announces a split at the control endpoints of a brokerage.
func splitter(b *paper.Brokerage) func(*testing.T, string, int, int, rewards.Date) {
	return func(t *testing.T, symbol string, oldRate, newRate int, ex rewards.Date) {
		t.Helper()
		kind := "forward"
		if oldRate > newRate {
			kind = "reverse"
		}
		d := &desk{t: t, b: b}
		d.announce(split(kind, symbol, strconv.Itoa(oldRate), strconv.Itoa(newRate), string(ex)))
	}
}
