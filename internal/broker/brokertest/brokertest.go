// Package brokertest is the contract that every broker adapter passes: what the service relies on.
//
// A broker's test opens a world, a broker with a new account and an always open market that trades
// Symbols, and calls Run, or RunInBubble for a world on testing/synctest's clock.
package brokertest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
)

// Broker is what the service asks of a broker. Errors are *rewards.BrokerError.
type Broker interface {
	Submit(ctx context.Context, r rewards.OrderRequest) (rewards.BrokerOrder, error)
	OrderByClientID(ctx context.Context, clientOrderID string) (rewards.BrokerOrder, error)
	OrderByID(ctx context.Context, id string) (rewards.BrokerOrder, error)
	Orders(ctx context.Context, after time.Time, between func(context.Context) error) ([]rewards.BrokerOrder, error)
	Clock(ctx context.Context) (rewards.MarketClock, error)
	Assets(ctx context.Context) ([]rewards.BrokerAsset, error)
	Positions(ctx context.Context) ([]rewards.Position, error)
	Account(ctx context.Context) (rewards.BrokerAccount, error)
	LatestPrices(ctx context.Context, symbols []string) (map[string]rewards.BrokerPrice, error)
	Activities(ctx context.Context, category rewards.ActivityCategory, after time.Time, token string) (
		[]rewards.Activity, string, error,
	)
	Ready() bool
}

// World is a broker and its time.
type World struct {
	Broker Broker

	// Advance lets d of the broker's time pass.
	Advance func(d time.Duration)

	// Split announces a split of a symbol, oldRate shares to newRate, with the ex-date ex.
	Split func(t *testing.T, symbol string, oldRate, newRate int, ex rewards.Date)

	// Unknown is a symbol that the broker does not have.
	Unknown string
}

// Symbols lists the stocks that a world must trade, in fractions.
func Symbols() []string { return []string{"AAPL", "BRK.B", "F", "NVDA"} }

// settleTime is the longest time in which an open market fills an order.
const settleTime = 10 * time.Second

// check is one clause of the contract.
type check struct {
	name string
	run  func(t *testing.T, w World)
}

func contract() []check {
	return []check{
		{"an order is filled for about its notional", testFill},
		{"a fill never changes", testFillSticks},
		{"a second order with the same id is a duplicate", testDuplicate},
		{"an id that was never sent is not found", testNotFound},
		{"an invalid order is refused", testRefusals},
		{"an order beyond the buying power waits", testBuyingPower},
		{"orders are listed once and in order", testOrders},
		{"orders are listed across pages", testManyOrders},
		{"positions are the sum of the fills", testPositions},
		{"the account pays for the fills", testAccount},
		{"the clock advances with time", testClock},
		{"assets are listed", testAssets},
		{"snapshots have prices", testSnapshots},
		{"activities have every fill once, in order", testFillActivities},
		{"activities add up to a split", testSplitActivities},
		{"copies of one order at once make one order", testConcurrentCopies},
		{"an ended context ends the call", testContext},
	}
}

// Run checks a broker against the contract, each clause in its own world.
func Run(t *testing.T, open func(t *testing.T) World) {
	t.Helper()
	each(t, func(t *testing.T, c check) {
		t.Helper()
		c.run(t, open(t))
	})
}

// RunInBubble is Run with each clause in a bubble of testing/synctest. A clean-up of the test that
// the world was opened for must close it.
func RunInBubble(t *testing.T, open func(t *testing.T) World) {
	t.Helper()
	each(t, func(t *testing.T, c check) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { c.run(t, open(t)) })
	})
}

// each runs every clause in a parallel subtest.
func each(t *testing.T, run func(t *testing.T, c check)) {
	t.Helper()
	for _, c := range contract() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run(t, c)
		})
	}
}

// orders lists the orders after a moment.
func (w World) orders(ctx context.Context, after time.Time) ([]rewards.BrokerOrder, error) {
	return w.Broker.Orders(ctx, after, nil)
}
