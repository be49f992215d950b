package storetest

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// houseShares checks what the house has of AAPL, and that the books agree.
func (w *World) houseShares(t *testing.T, when string, want int64) {
	t.Helper()
	w.wantRows(t, "billionths of the house, "+when, want, `SELECT quantity FROM house_holdings WHERE asset_id = ?1`,
		int64(w.Asset(t, "AAPL").ID))
	w.wantBooked(t, when)
}

// testCorrectedFill: a corrected fill changes the house's shares, in the units of now, and no
// user's. The same correction again changes nothing.
func testCorrectedFill(t *testing.T, w *World) {
	o := w.openFor(t, w.Users[0], "AAPL", 2_000_000)
	check(t, w.Settle(t, o, "filled", 10_000_001, dollar200))
	w.apply(t, "split", "AAPL", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "3"}, 0)
	b := rewards.BrokerOrder{
		ID: o.BrokerID, ClientOrderID: o.ClientOrderID, Symbol: "AAPL", Side: "buy", Status: "filled", FilledQty: 9_000_000,
		FilledAvgPrice: dollar200,
	}
	if err := w.CorrectOrder(t.Context(), w.lease, o, b, "bust"); !errors.Is(err, rewards.ErrStale) {
		t.Errorf("a fill is corrected during a sweep: %v", err)
	}
	w.sweep(t)
	if err := w.CorrectOrder(t.Context(), w.lost(), o, b, "bust"); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("a former leader corrects a fill: %v", err)
	}
	w.houseShares(t, "before the correction", 0)
	before := w.holding(t, w.Users[0])
	for range 2 {
		check(t, w.CorrectOrder(t.Context(), w.lease, o, b, "bust"))
		w.houseShares(t, "corrected", -3_000_003)
	}
	first := w.Now()
	w.Advance(time.Minute)
	b.FilledQty = 10_000_000
	check(t, w.CorrectOrder(t.Context(), w.lease, o, b, "again"))
	w.houseShares(t, "corrected again", -3)
	wantEqual(t, "the user's holding", before, w.holding(t, w.Users[0]))
	change := func(filled, change money.Shares, at time.Time) rewards.Correction {
		return rewards.Correction{
			OrderID: o.ID, ClientOrderID: o.ClientOrderID, Symbol: "AAPL", FilledQty: filled, Change: change, At: at,
		}
	}
	for since, want := range map[time.Time][]rewards.Correction{
		first:   {change(9_000_000, -3_000_003, first), change(10_000_000, 3_000_000, w.Now())},
		w.Now(): {change(10_000_000, 3_000_000, w.Now())},
	} {
		got, err := w.Corrections(t.Context(), since)
		check(t, err)
		wantEqual(t, "the corrections", want, got)
	}
	stored, err := w.Order(t.Context(), o.ID)
	check(t, err)
	if stored.Corrected != 10_000_000 || stored.FilledQty != 10_000_001 {
		t.Errorf("the order has %s, corrected %s", stored.FilledQty, stored.Corrected)
	}
}

// testCorrectedPosition: corrections of a position are the house's once they explain the difference
// to it.
func testCorrectedPosition(t *testing.T, w *World) {
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	back := rewards.Activity{ID: "back", Type: "REORG", Status: rewards.ActivityCorrect, Symbol: "AAPL", Qty: 7, Body: "{}"}
	ignored, more := back, back
	ignored.ID, ignored.Problem = "ignored", "qty: too many decimals"
	more.ID, more.Qty = "more", 5
	check(t, w.SaveActivities(t.Context(), w.lease, []rewards.Activity{back, ignored, more}))
	b := rewards.BookedPosition{AssetID: w.Asset(t, "AAPL").ID, Symbol: "AAPL", Quantity: 10_000_000}
	correct := func(difference money.Shares, want bool, house int64) {
		t.Helper()
		if got, err := w.CorrectPosition(t.Context(), w.lease, b, difference); err != nil || got != want {
			t.Errorf("a difference of %d: %v, %v; want %v", difference, got, err, want)
		}
		w.wantRows(t, "billionths of the house", house, `SELECT coalesce(sum(quantity), 0) FROM house_holdings`)
		w.wantBooked(t, "corrected")
	}
	if _, err := w.CorrectPosition(t.Context(), w.lost(), b, 12); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("a former leader corrects a position: %v", err)
	}
	correct(7, false, 0)
	correct(0, false, 0)
	correct(12, true, 12)
	correct(12, false, 12)
	correct(0, false, 12)
}

// testShortage: the house buys what it owes with the next order, or alone, and spends its limit.
func testShortage(t *testing.T, w *World) {
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	w.apply(t, "halve", "AAPL", rewards.Terms{Type: rewards.ActionReverseSplit, OldRate: "2", NewRate: "1"}, -5_000_000)
	w.sweep(t)
	w.houseShares(t, "short", -5_000_000)
	r := rewards.PlanRequest{Asset: w.Asset(t, "AAPL"), Limits: Limits(), ClientOrderIDPrefix: "sr-test-", FilledUntil: w.Now()}
	r.Limits.Price = dollar200
	if _, hold, err := w.PlanOrder(t.Context(), w.lease, r); err != nil || hold != rewards.HoldEmpty {
		t.Errorf("nothing waits: hold %d, %v", hold, err)
	}
	r.Limits.HouseAlone = true
	o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
	check(t, err)
	if hold != rewards.NoHold || o.Notional < money.Dollar || o.House != o.Notional {
		t.Fatalf("the house alone orders %s, %s of it for itself: hold %d", o.Notional, o.House, hold)
	}
	check(t, w.Settle(t, w.Accept(t, o), "filled", 5_000_000, dollar200))
	w.houseShares(t, "bought", 0)
	w.wantRows(t, "millionths spent for shortages", int64(o.House), `SELECT shortage FROM spending`)
	if list := read(t, w.Shortages); len(list) != 0 {
		t.Errorf("the shortages are %+v", list)
	}
}
