package brokertest

import (
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// activities reads all pages of the activities that the broker created after an instant.
func activities(t *testing.T, w World, after time.Time) []rewards.Activity {
	t.Helper()
	const maxPages = 10
	var all []rewards.Activity
	token := ""
	for range maxPages {
		page, next, err := w.Broker.Activities(t.Context(), "", after, token)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if next == "" {
			return all
		}
		token = next
	}
	t.Fatalf("the activities have more than %d pages", maxPages)
	return nil
}

// testFillActivities fills more orders than a page of activities holds.
func testFillActivities(t *testing.T, w World) {
	t.Helper()
	if list := activities(t, w, time.Time{}); len(list) != 0 {
		t.Errorf("a new account has the activities %+v", list)
	}
	const many = 120
	for i := range many {
		symbol := Symbols()[i%len(Symbols())]
		call(t, w.Broker.Submit, buy(fmt.Sprintf("activity-%d", i), symbol, money.USD(i+1)*money.Dollar))
		w.Advance(time.Second)
	}
	w.Advance(settleTime)
	orders := make(map[string]rewards.BrokerOrder)
	for _, o := range call(t, w.orders, time.Time{}) {
		orders[o.ID] = o
	}
	now := read(t, w.Broker.Clock).Now
	filled, ids, last := make(map[string]money.Shares), make(map[string]bool), ""
	for _, a := range activities(t, w, time.Time{}) {
		o, sum := orders[a.OrderID], filled[a.OrderID]+a.Qty
		if o.Symbol != a.Symbol || a.Type != "FILL" || a.Status != "" || a.Problem != "" || a.Body == "" {
			t.Errorf("the activity %+v, want a fill of %+v", a, o)
		}
		if a.Qty <= 0 || a.CumQty != sum || a.Price <= 0 || (a.SubType == "fill") != (sum == o.FilledQty) {
			t.Errorf("the activity %+v, want a total of %s of %s", a, sum, o.FilledQty)
		}
		if a.CreatedAt.Before(o.SubmittedAt.Truncate(time.Millisecond)) || a.CreatedAt.After(now) {
			t.Errorf("an order of %s was filled at %s; it is %s", o.SubmittedAt, a.CreatedAt, now)
		}
		if a.ID < last || ids[a.ID] {
			t.Errorf("the activity %s comes after %s", a.ID, last)
		}
		filled[a.OrderID], ids[a.ID], last = sum, true, a.ID
	}
	for id, o := range orders {
		if filled[id] != o.FilledQty || len(orders) != many {
			t.Errorf("the activities of %s fill %s of %s", o.ClientOrderID, filled[id], o.FilledQty)
		}
	}
	if list := activities(t, w, now.Add(time.Second)); len(list) != 0 {
		t.Errorf("activities after %s: %+v", now, list)
	}
}

func testSplitActivities(t *testing.T, w World) {
	t.Helper()
	const untilMorning = 28 * time.Hour // 02:30 of tomorrow is at most so far away
	call(t, w.Broker.Submit, buy("split-1", "AAPL", 10*money.Dollar))
	call(t, w.Broker.Submit, buy("split-2", "F", 10*money.Dollar))
	call(t, w.Broker.Submit, buy("split-3", "NVDA", 10*money.Dollar))
	w.Advance(settleTime)
	before, now := holdings(t, w), read(t, w.Broker.Clock).Now
	ex := rewards.DateOf(now).Plus(1)
	w.Split(t, "AAPL", 2, 3, ex)
	w.Split(t, "F", 10, 1, ex)
	w.Advance(untilMorning)
	got := make(map[string]money.Shares)
	groups := make(map[string]string)
	subTypes := map[string]string{"AAPL": "FSPLIT", "F": "RSPLIT"}
	for _, a := range activities(t, w, now.Add(time.Second)) {
		if a.Type != "SPLIT" || a.SubType != subTypes[a.Symbol] || a.Status != "executed" || a.Date != ex ||
			a.Net != 0 || a.OrderID != "" || a.Problem != "" || a.GroupID == "" || a.Body == "" || a.CreatedAt.Before(now) {
			t.Errorf("the activity %+v, want one of a split on %s", a, ex)
		}
		if group, exists := groups[a.GroupID]; exists && group != a.Symbol {
			t.Errorf("the activity %+v belongs to a split of %s", a, group)
		}
		groups[a.GroupID] = a.Symbol
		got[a.Symbol] += a.Qty
	}
	after := holdings(t, w)
	if want := before["AAPL"] * 3 / 2; after["AAPL"] != want {
		t.Errorf("a split of 2 to 3 left %s of %s shares, want %s", after["AAPL"], before["AAPL"], want)
	}
	if want := before["F"] / 10; after["F"] != want {
		t.Errorf("a split of 10 to 1 left %s of %s shares, want %s", after["F"], before["F"], want)
	}
	for _, symbol := range Symbols() {
		if want := after[symbol] - before[symbol]; got[symbol] != want {
			t.Errorf("the activities of %s add up to %s, want the change of the position, %s", symbol, got[symbol], want)
		}
	}
}

// holdings returns the account's quantities by symbol.
func holdings(t *testing.T, w World) map[string]money.Shares {
	t.Helper()
	bySymbol := make(map[string]money.Shares)
	for _, p := range read(t, w.Broker.Positions) {
		bySymbol[p.Symbol] = p.Qty
	}
	return bySymbol
}
