package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testHouseOffers: the house's shares pay for a part of an order when the leader says so. What one
// order is promised is not offered in another, and no order gets more than the house has when it is
// booked: the rest of an award waits.
func testHouseOffers(t *testing.T, w *World) {
	w.Give(t, 400_000)
	check(t, w.Settle(t, w.Open(t), "filled", 5_000_000, dollar200))
	w.houseShares(t, "topped up", 3_000_000) // worth $0.60
	plan := func(use bool, amount, notional money.USD) rewards.Order {
		t.Helper()
		w.Give(t, amount)
		r := w.planRequest(t)
		r.Limits.Price, r.Limits.UseHouse = dollar200, use
		o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
		check(t, err)
		if hold != rewards.NoHold || o.Notional != notional || o.House != notional-amount {
			t.Fatalf("hold %d, an order of %s, %s of the house; want %s", hold, o.Notional, o.House, notional)
		}
		return w.Accept(t, o)
	}
	check(t, w.Settle(t, plan(false, 2_000_000, 2_000_000), "filled", 10_000_000, dollar200))
	w.houseShares(t, "not offered", 3_000_000)
	first := plan(true, 1_200_000, 1_000_000)
	second := plan(true, 5_000_000, 4_640_000) // $0.57 less the $0.20 of the first, up to the cent
	third := plan(true, 3_000_000, 3_000_000)
	w.wantRows(t, "dollars spent by the house", 600_000, `SELECT house FROM spending`)
	check(t, w.Settle(t, first, "filled", 5_000_000, dollar200))
	w.houseShares(t, "gave to the first", 2_000_000)
	w.wantRows(t, "shares of its award", 6_000_000, `SELECT shares FROM allocations WHERE amount = 1200000`)
	check(t, w.Settle(t, second, "filled", 46_400_000, dollar200/2))
	w.houseShares(t, "gave all to the second, at half the price", 0)
	w.wantRows(t, "dollars of its award", 4_840_000, `SELECT amount FROM allocations WHERE shares = 48400000`)
	check(t, w.Settle(t, third, "filled", 15_000_000, dollar200))
	w.houseShares(t, "nothing was left", 0)
	r := w.planRequest(t)
	r.Limits.TopUp = true
	o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
	check(t, err)
	if hold != rewards.NoHold || o.Notional != money.Dollar || o.House != 840_000 {
		t.Errorf("the rest of the second: hold %d, an order of %s, %s of the house", hold, o.Notional, o.House)
	}
}

// TestOffersBesideBookings tests that an order is not offered shares which the house gives to another order while the
// order is planned.
func TestOffersBesideBookings(t *testing.T, engine store.ConcurrentWriter) {
	t.Helper()
	e := &betweenReads{ConcurrentWriter: engine}
	w := NewWorld(t, e)
	w.Give(t, 400_000)
	check(t, w.Settle(t, w.Open(t), "filled", 5_000_000, dollar200))
	w.houseShares(t, "topped up", 3_000_000)
	plan := func(amount money.USD) rewards.Order {
		t.Helper()
		w.Give(t, amount)
		r := w.planRequest(t)
		r.Limits.Price, r.Limits.UseHouse = dollar200, true
		o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
		if err != nil || hold != rewards.NoHold {
			t.Fatalf("hold %d: %v", hold, err)
		}
		return w.Accept(t, o)
	}
	first := plan(1_200_000)
	e.reads, e.between = 0, func() { check(t, w.Settle(t, first, "filled", 5_000_000, dollar200)) }
	second := plan(5_000_000)
	w.houseShares(t, "gave to the first", 2_000_000)
	if e.between != nil || second.House < -380_000 || second.House == 0 { // 2,000,000 are worth $0.40, less 5 %
		t.Errorf("the house offers %s, and has shares worth $0.40", -second.House)
	}
}

// betweenReads is an engine that runs between once, when an order that is planned has read one of two things: what the
// house has, and what it has promised.
type betweenReads struct {
	store.ConcurrentWriter
	reads   int
	between func()
}

// WriteOrders implements store.ConcurrentWriter.
func (e *betweenReads) WriteOrders(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.ConcurrentWriter.WriteOrders(ctx, func(ctx context.Context, tx store.Tx) error {
		network, ok := tx.(store.NetworkTx)
		if !ok {
			return errors.New("the engine has no network")
		}
		return f(ctx, betweenTx{network, e})
	})
}

type betweenTx struct {
	store.NetworkTx
	e *betweenReads
}

// AcceptsColumns implements store.ColumnTx.
func (betweenTx) AcceptsColumns() {}

// Query implements store.Tx.
func (x betweenTx) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	if strings.Contains(query, "house_holdings") || strings.Contains(query, "house <> 0") {
		x.e.reads++
		if between := x.e.between; between != nil && x.e.reads == 2 {
			x.e.between = nil
			between()
		}
	}
	return x.NetworkTx.Query(ctx, each, query, args...)
}
