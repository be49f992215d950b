package brokertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func testFill(t *testing.T, w World) {
	t.Helper()
	request := buy("fill-1", "AAPL", 1_234*money.Dollar+56*money.Cent)
	placed := call(t, w.Broker.Submit, request)
	if placed.ID == "" || placed.Problem != "" {
		t.Errorf("Submit = %+v, want an order with an id and no problem", placed)
	}
	matches(t, placed, request)
	w.Advance(settleTime)
	filled := call(t, w.Broker.OrderByClientID, request.ClientOrderID)
	matches(t, filled, request)
	if diff := cmp.Diff(filled, call(t, w.Broker.OrderByID, placed.ID)); diff != "" {
		t.Errorf("by the broker's id the order is another one (-by client order id +by id):\n%s", diff)
	}
	if filled.ID != placed.ID || filled.Status != "filled" {
		t.Errorf("after %s the order is %+v, want %s filled", settleTime, filled, placed.ID)
	}
	if filled.SubmittedAt.IsZero() || filled.FilledAt.Before(filled.SubmittedAt) {
		t.Errorf("submitted at %s and filled at %s", filled.SubmittedAt, filled.FilledAt)
	}
	value, err := money.Value(filled.FilledQty, filled.FilledAvgPrice, money.HalfAway)
	if err != nil || value > request.Notional || value < request.Notional-money.Cent {
		t.Errorf("filled %s at %s = %s (%v), want %s within a cent",
			filled.FilledQty, filled.FilledAvgPrice, value, err, request.Notional)
	}
}

func testFillSticks(t *testing.T, w World) {
	t.Helper()
	call(t, w.Broker.Submit, buy("sticks-1", "BRK.B", 50*money.Dollar))
	w.Advance(settleTime)
	before := call(t, w.Broker.OrderByClientID, "sticks-1")
	call(t, w.Broker.Submit, buy("sticks-2", "BRK.B", 70*money.Dollar))
	w.Advance(24 * time.Hour)
	if diff := cmp.Diff(before, call(t, w.Broker.OrderByClientID, "sticks-1")); diff != "" {
		t.Errorf("a filled order changed (-before +after):\n%s", diff)
	}
}

func testDuplicate(t *testing.T, w World) {
	t.Helper()
	first := call(t, w.Broker.Submit, buy("twice", "AAPL", 10*money.Dollar))
	for _, again := range []rewards.OrderRequest{
		buy("twice", "AAPL", 10*money.Dollar), buy("twice", "F", 99*money.Dollar),
	} {
		_, err := w.Broker.Submit(t.Context(), again)
		wantKind(t, err, rewards.BrokerDuplicate, "")
	}
	w.Advance(settleTime)
	_, err := w.Broker.Submit(t.Context(), buy("twice", "AAPL", 10*money.Dollar))
	wantKind(t, err, rewards.BrokerDuplicate, "")
	found := call(t, w.Broker.OrderByClientID, "twice")
	matches(t, found, buy("twice", "AAPL", 10*money.Dollar))
	if found.ID != first.ID {
		t.Errorf("the order is now %s, want %s", found.ID, first.ID)
	}
}

func testNotFound(t *testing.T, w World) {
	t.Helper()
	_, err := w.Broker.OrderByClientID(t.Context(), "never-sent")
	wantKind(t, err, rewards.BrokerNotFound, "")
	for _, id := range []string{"61e69015-8549-4bfd-b9c3-01e75843f47d", "", "..", "../account", "a?b"} {
		_, err := w.Broker.OrderByID(t.Context(), id)
		wantKind(t, err, rewards.BrokerNotFound, "")
	}
}

func testRefusals(t *testing.T, w World) {
	t.Helper()
	for _, c := range []struct {
		id, symbol string
		notional   money.USD
		code       string
	}{
		{"refused-1", w.Unknown, 10 * money.Dollar, "asset_not_found"},
		{"refused-2", "AAPL", 99 * money.Cent, "notional_too_small"},
		{"refused-3", "AAPL", 10*money.Dollar + money.Cent/2, "order_refused"}, // half a cent
	} {
		_, err := w.Broker.Submit(t.Context(), buy(c.id, c.symbol, c.notional))
		wantKind(t, err, rewards.BrokerRefused, c.code)
		_, err = w.Broker.OrderByClientID(t.Context(), c.id)
		wantKind(t, err, rewards.BrokerNotFound, "")
	}
}

func testBuyingPower(t *testing.T, w World) {
	t.Helper()
	power := read(t, w.Broker.Account).BuyingPower
	request := buy("too-much", "AAPL", (power/money.Dollar+1)*money.Dollar)
	_, err := w.Broker.Submit(t.Context(), request)
	wantKind(t, err, rewards.BrokerWait, "insufficient_buying_power")
	_, err = w.Broker.OrderByClientID(t.Context(), request.ClientOrderID)
	wantKind(t, err, rewards.BrokerNotFound, "")
	if after := read(t, w.Broker.Account).BuyingPower; after != power {
		t.Errorf("a refused order changed the buying power from %s to %s", power, after)
	}
	request.Notional = money.Dollar
	call(t, w.Broker.Submit, request) // the refused id was not used up
}

func testOrders(t *testing.T, w World) {
	t.Helper()
	var want []string
	var middle time.Time
	for i, symbol := range append(Symbols(), Symbols()...) {
		placed := call(t, w.Broker.Submit, buy(fmt.Sprintf("list-%d", i), symbol, money.USD(i+1)*money.Dollar))
		want = append(want, placed.ClientOrderID)
		if i == 3 {
			middle = placed.SubmittedAt
		}
		w.Advance(time.Second)
	}
	if diff := cmp.Diff(want, clientIDs(call(t, w.orders, time.Time{}))); diff != "" {
		t.Errorf("all orders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[4:], clientIDs(call(t, w.orders, middle))); diff != "" {
		t.Errorf("orders after the fourth (-want +got):\n%s", diff)
	}
	w.Advance(settleTime)
	for _, o := range call(t, w.orders, time.Time{}) {
		if diff := cmp.Diff(call(t, w.Broker.OrderByClientID, o.ClientOrderID), o); diff != "" {
			t.Errorf("an order differs in the list (-alone +listed):\n%s", diff)
		}
	}
}

// testManyOrders lists more orders than a page holds, submitted within little of the broker's time.
func testManyOrders(t *testing.T, w World) {
	t.Helper()
	const many = 520
	var want []string
	for i := range many {
		want = append(want, call(t, w.Broker.Submit, buy(fmt.Sprintf("many-%d", i), "F", money.Dollar)).ClientOrderID)
	}
	if diff := cmp.Diff(want, clientIDs(call(t, w.orders, time.Time{}))); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

func testPositions(t *testing.T, w World) {
	t.Helper()
	if before := read(t, w.Broker.Positions); len(before) != 0 {
		t.Errorf("a new account has the positions %v", before)
	}
	for i := range 12 {
		symbol := Symbols()[i%len(Symbols())]
		call(t, w.Broker.Submit, buy(fmt.Sprintf("position-%d", i), symbol, money.USD(10+i)*money.Dollar))
		w.Advance(time.Minute)
	}
	w.Advance(settleTime)
	want := make(map[string]money.Shares)
	for _, o := range call(t, w.orders, time.Time{}) {
		want[o.Symbol] += o.FilledQty
	}
	got := make(map[string]money.Shares)
	for _, p := range read(t, w.Broker.Positions) {
		got[p.Symbol] = p.Qty
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("positions (-sum of the fills +got):\n%s", diff)
	}
}

func testAccount(t *testing.T, w World) {
	t.Helper()
	before := read(t, w.Broker.Account)
	if before.ID == "" || before.Status != "ACTIVE" || before.Blocked || before.BuyingPower <= 0 {
		t.Errorf("Account = %+v, want an active one with buying power", before)
	}
	call(t, w.Broker.Submit, buy("account-1", "NVDA", 500*money.Dollar))
	if after := read(t, w.Broker.Account); after.BuyingPower > before.BuyingPower-499*money.Dollar {
		t.Errorf("an open order left the buying power at %s of %s", after.BuyingPower, before.BuyingPower)
	}
	w.Advance(settleTime)
	after := read(t, w.Broker.Account)
	if spent := before.BuyingPower - after.BuyingPower; spent > 500*money.Dollar || spent < 499*money.Dollar {
		t.Errorf("an order of $500 cost %s", spent)
	}
	if after.ID != before.ID {
		t.Errorf("the account's id changed from %s to %s", before.ID, after.ID)
	}
}

func testClock(t *testing.T, w World) {
	t.Helper()
	for range 3 {
		c := read(t, w.Broker.Clock)
		if !c.Open || !c.NextClose.After(c.Now) || c.NextOpen.Before(c.NextClose) {
			t.Errorf("Clock = %+v, want open, and next close and open in this order", c)
		}
		w.Advance(7 * time.Hour)
		if passed := read(t, w.Broker.Clock).Now.Sub(c.Now); passed < 7*time.Hour || passed > 8*time.Hour {
			t.Errorf("Clock went by %s in 7 hours", passed)
		}
	}
}

func testAssets(t *testing.T, w World) {
	t.Helper()
	assets := read(t, w.Broker.Assets)
	bySymbol := make(map[string]rewards.BrokerAsset)
	ids := make(map[string]bool)
	for _, a := range assets {
		bySymbol[a.Symbol], ids[a.ID] = a, true
	}
	if len(ids) != len(assets) {
		t.Errorf("%d assets have %d ids", len(assets), len(ids))
	}
	for _, symbol := range Symbols() {
		a := bySymbol[symbol]
		if a.ID == "" || a.Name == "" || a.Exchange == "" || !a.Active || !a.Tradable || !a.Fractionable {
			t.Errorf("the asset %s is %+v, want it active, tradable and fractionable", symbol, a)
		}
	}
}

func testSnapshots(t *testing.T, w World) {
	t.Helper()
	got := call(t, w.Broker.LatestPrices, append(Symbols(), w.Unknown))
	if len(got) != len(Symbols()) {
		t.Errorf("LatestPrices = %v, want those of %v", got, Symbols())
	}
	c := read(t, w.Broker.Clock)
	for _, symbol := range Symbols() {
		s := got[symbol]
		age := c.Now.Sub(s.TradedAt)
		if s.Symbol != symbol || s.Price <= 0 || s.PreviousClose <= 0 || age < 0 || age > time.Minute {
			t.Errorf("the snapshot of %s is %+v", symbol, s)
		}
		if s.Price > 2*s.PreviousClose || s.PreviousClose > 2*s.Price {
			t.Errorf("%s went from %s to %s in a day", symbol, s.PreviousClose, s.Price)
		}
	}
	if empty := call(t, w.Broker.LatestPrices, nil); len(empty) != 0 {
		t.Errorf("LatestPrices of nothing = %v", empty)
	}
}

func testConcurrentCopies(t *testing.T, w World) {
	t.Helper()
	const copies = 16
	request := buy("copies", "AAPL", 100*money.Dollar)
	errs := make([]error, copies)
	var wg sync.WaitGroup
	for i := range copies {
		wg.Go(func() { _, errs[i] = w.Broker.Submit(t.Context(), request) })
	}
	wg.Wait()
	accepted := 0
	for _, err := range errs {
		if err == nil {
			accepted++
			continue
		}
		wantKind(t, err, rewards.BrokerDuplicate, "")
	}
	if orders := call(t, w.orders, time.Time{}); accepted != 1 || len(orders) != 1 {
		t.Errorf("%d copies: %d accepted, %d orders, want 1 and 1", copies, accepted, len(orders))
	}
}

func testContext(t *testing.T, w World) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Broker.Clock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Clock with an ended context: %v, want %v", err, context.Canceled)
	}
	_, err := w.Broker.Submit(ctx, buy("ended", "AAPL", money.Dollar))
	if kind := rewards.BrokerKindOf(err); kind != rewards.BrokerUnknown && kind != rewards.BrokerWait {
		t.Errorf("Submit with an ended context: %v", err)
	}
}
