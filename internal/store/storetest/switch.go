package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// announce stores an action of a stock that is due now, with the evidence to apply it.
func (w *World) announce(t *testing.T, id, symbol string, terms rewards.Terms) rewards.Action {
	t.Helper()
	terms.Symbol, terms.ExDate = symbol, rewards.DateOf(w.Now())
	a := rewards.Action{
		Terms: terms, ID: id, AssetID: w.Asset(t, symbol).ID, State: rewards.ActionAnnounced, Revision: 1,
		FirstSeen: w.Now(), Boundary: w.Now(),
	}
	if a.Type.Holds() {
		a.HoldFrom = a.Boundary
	}
	check(t, w.change(t, rewards.ActionChange{After: a}))
	return a
}

// derive returns the switch of an action, and the change that applies it. The broker has gone along,
// with a few billionths more for the house.
func (w *World) derive(t *testing.T, a rewards.Action, part rewards.Fraction) (rewards.ActionChange, rewards.Switch) {
	t.Helper()
	var target rewards.AssetID
	if a.Type.Gives() {
		target = w.Asset(t, a.NewSymbol).ID
	}
	c, err := a.Conversion(target, part)
	check(t, err)
	s := rewards.Switch{Conversion: c, ActionID: a.ID, AssetID: a.AssetID}
	s.Booked, s.TargetBooked = w.booked(t, a.AssetID), w.booked(t, target)
	s.Position, err = c.Keep.Of(s.Booked)
	check(t, err)
	given, err := c.Give.Of(s.Booked)
	check(t, err)
	if s.TargetPosition = s.TargetBooked; target != 0 {
		s.TargetPosition += given
	}
	if a.Type == rewards.ActionCashDividend { // it only records who is entitled
		return rewards.ActionChange{Before: a, After: a}, s
	}
	o := rewards.Observation{Now: w.Now(), SeenAt: w.Now()}
	return rewards.ActionChange{Before: a, After: o.Applied(a)}, s
}

// booked reads the booked shares of a stock.
func (w *World) booked(t *testing.T, id rewards.AssetID) money.Shares {
	t.Helper()
	for _, b := range read(t, w.Booked) {
		if b.AssetID == id {
			return b.Quantity
		}
	}
	return 0
}

// apply announces an action and applies it. more is what the broker has beyond the expected
// position.
func (w *World) apply(t *testing.T, id, symbol string, terms rewards.Terms, more money.Shares) rewards.Switch {
	t.Helper()
	c, s := w.derive(t, w.announce(t, id, symbol, terms), rewards.Fraction{})
	s.Position += more
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	return w.openSwitch(t)
}

// openSwitch reads the switch whose sweep goes on.
func (w *World) openSwitch(t *testing.T) rewards.Switch {
	t.Helper()
	s, found, err := w.OpenSwitch(t.Context())
	check(t, err)
	if !found {
		t.Fatal("no sweep goes on")
	}
	return s
}

// sweep sweeps to the end.
func (w *World) sweep(t *testing.T) {
	t.Helper()
	s := w.openSwitch(t)
	for done := false; !done; {
		var err error
		done, err = w.Sweep(t.Context(), w.lease, s.Number)
		check(t, err)
	}
}

// SplitInTwo applies a split of AAPL without its sweep.
func (w *World) SplitInTwo(t *testing.T, id string) {
	t.Helper()
	w.apply(t, id, "AAPL", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "2"}, 0)
}

// SweepAll sweeps to the end.
func (w *World) SweepAll(t *testing.T) {
	t.Helper()
	w.sweep(t)
}

// lost returns the lease of a former leader.
func (w *World) lost() rewards.Lease {
	l := w.lease
	l.Epoch--
	return l
}

// books is what a refused change must leave alone.
type books struct {
	Assets   []rewards.Asset
	Quotes   []rewards.Quote
	Booked   []rewards.BookedPosition
	Holdings []rewards.Holding
	Action   rewards.Action
	Switch   rewards.Switch
	Orders   []rewards.Order
}

func (w *World) books(t *testing.T, action string) (b books) {
	t.Helper()
	var err error
	b.Assets, b.Booked, b.Orders = read(t, w.Assets), read(t, w.Booked), read(t, w.LiveOrders)
	_, b.Quotes, err = w.QuotedAssets(t.Context())
	check(t, err)
	b.Holdings, err = w.Holdings(t.Context(), w.App.ID, w.Users[0].ID)
	check(t, err)
	b.Action, _, err = w.Action(t.Context(), action)
	check(t, err)
	b.Switch, _, err = w.OpenSwitch(t.Context())
	check(t, err)
	return b
}

// wantRefused checks that an action cannot be applied, and that the attempt changes nothing.
func (w *World) wantRefused(
	t *testing.T, why string, want error, l rewards.Lease, c rewards.ActionChange, s rewards.Switch,
) {
	t.Helper()
	before := w.books(t, c.Before.ID)
	if err := w.ApplyAction(t.Context(), l, c, s, rewards.Renaming{}); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", why, err, want)
	}
	wantEqual(t, "the books after: "+why, before, w.books(t, c.Before.ID))
}

// buy gives a user a reward of a stock and settles its order.
func (w *World) buy(t *testing.T, u rewards.User, symbol string, amount money.USD, filled money.Shares) {
	t.Helper()
	price, err := money.MulDiv(int64(amount), 1_000*int64(money.Share), int64(filled), money.Down)
	check(t, err)
	check(t, w.Settle(t, w.openFor(t, u, symbol, amount), "filled", filled, money.Price(price)))
}

// openFor gives a user a reward of a stock and opens its order.
func (w *World) openFor(t *testing.T, u rewards.User, symbol string, amount money.USD) rewards.Order {
	t.Helper()
	w.giveStock(t, u, symbol, amount)
	o, hold := w.planFor(t, symbol)
	if hold != rewards.NoHold {
		t.Fatalf("the pool of %s is held: %d", symbol, hold)
	}
	return w.Accept(t, o)
}

// giveStock records a reward of a stock.
func (w *World) giveStock(t *testing.T, u rewards.User, symbol string, amount money.USD) rewards.Reward {
	t.Helper()
	r := rewards.NewReward{
		AppID: u.AppID, UserID: u.ID, Amount: amount, Symbol: symbol, AssetID: w.Asset(t, symbol).ID,
		IdempotencyKey: fmt.Sprintf("key-%08d", w.keys.Add(1)),
	}
	r.Fingerprint = rewards.NewFingerprint(r, "")
	return w.record(t, r)
}

// planFor plans an order of a stock, unless it is held.
func (w *World) planFor(t *testing.T, symbol string) (rewards.Order, rewards.Hold) {
	t.Helper()
	r := rewards.PlanRequest{
		Asset: w.Asset(t, symbol), Limits: Limits(), ClientOrderIDPrefix: "sr-test-", FilledUntil: w.Now(),
	}
	o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
	check(t, err)
	return o, hold
}

// testApplyRefused: an action that was derived from what is no longer so is not applied.
func testApplyRefused(t *testing.T, w *World) {
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	w.buy(t, w.Users[0], "KO", 2_000_000, 10_000_000)
	check(t, w.SaveQuotes(t.Context(), []rewards.Quote{{AssetID: w.Asset(t, "AAPL").ID, Price: dollar200, ConfirmedAt: w.Now()}}))
	merger := w.announce(t, "merger", "AAPL", rewards.Terms{
		Type: rewards.ActionStockMerger, NewSymbol: "KO", OldRate: "2", NewRate: "1",
	})
	c, s := w.derive(t, merger, rewards.Fraction{})
	w.wantRefused(t, "a former leader", rewards.ErrLostLease, w.lost(), c, s)
	for why, change := range map[string]func(*rewards.ActionChange, *rewards.Switch){
		"other shares are booked":    func(_ *rewards.ActionChange, s *rewards.Switch) { s.Booked++ },
		"other shares of the target": func(_ *rewards.ActionChange, s *rewards.Switch) { s.TargetBooked-- },
		"another state":              func(c *rewards.ActionChange, _ *rewards.Switch) { c.Before.State = rewards.ActionHeld },
		"another revision":           func(c *rewards.ActionChange, _ *rewards.Switch) { c.Before.Revision++ },
	} {
		c, s := c, s
		change(&c, &s)
		w.wantRefused(t, why, rewards.ErrStale, w.lease, c, s)
	}
	w.giveStock(t, w.Users[1], "KO", 1_000_000)
	o, _ := w.planFor(t, "KO")
	sent := w.Accept(t, o)
	w.wantRefused(t, "an open order of the target", rewards.ErrStale, w.lease, c, s)
	check(t, w.Settle(t, sent, "filled", 5_000_000, dollar200))
	w.wantRefused(t, "a purchase of the target", rewards.ErrStale, w.lease, c, s)
	c, s = w.derive(t, merger, rewards.Fraction{})
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	other := w.announce(t, "other", "TSLA", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "2"})
	oc, os := w.derive(t, other, rewards.Fraction{})
	w.wantRefused(t, "another sweep goes on", rewards.ErrStale, w.lease, oc, os)
	w.refusedSweeps(t)
	w.sweep(t)
	w.wantRefused(t, "it was applied", rewards.ErrStale, w.lease, c, s)
	check(t, w.ApplyAction(t.Context(), w.lease, oc, os, rewards.Renaming{}))
}

// refusedSweeps: neither a former leader sweeps, nor anybody a switch that is not open.
func (w *World) refusedSweeps(t *testing.T) {
	t.Helper()
	number := w.openSwitch(t).Number
	for _, c := range []struct {
		l      rewards.Lease
		number int64
		want   error
	}{{w.lost(), number, rewards.ErrLostLease}, {w.lease, number + 1, rewards.ErrStale}, {w.lease, 0, rewards.ErrStale}} {
		if _, err := w.Sweep(t.Context(), c.l, c.number); !errors.Is(err, c.want) {
			t.Errorf("a sweep of switch %d: %v, want %v", c.number, err, c.want)
		}
	}
	if got := w.openSwitch(t).Number; got != number {
		t.Errorf("switch %d is open, want %d", got, number)
	}
}

// testSweepWaits: while a sweep changes holdings of two stocks, nobody plans or settles their
// orders; another stock's go on. A former order then has the new units.
func testSweepWaits(t *testing.T, w *World) {
	for _, symbol := range []string{"AAPL", "KO", "TSLA"} {
		w.buy(t, w.Users[0], symbol, 2_000_000, 10_000_000)
	}
	w.giveStock(t, w.Users[1], "AAPL", 1_000_000)
	w.giveStock(t, w.Users[1], "KO", 1_000_000)
	planned := map[string]rewards.Order{}
	for _, symbol := range []string{"AAPL", "KO"} {
		o, _ := w.planFor(t, symbol)
		planned[symbol] = o
	}
	w.apply(t, "spin", "AAPL", rewards.Terms{Type: rewards.ActionSpinOff, NewSymbol: "KO", OldRate: "1", NewRate: "2"}, 0)
	for symbol, o := range planned {
		planned[symbol] = w.Accept(t, o)
		if err := w.Settle(t, planned[symbol], "filled", 5_000_000, dollar200); !errors.Is(err, rewards.ErrStale) {
			t.Errorf("an order of %s is settled during a sweep: %v", symbol, err)
		}
		w.giveStock(t, w.Users[2], symbol, 1_000_000)
		if _, hold := w.planFor(t, symbol); hold != rewards.HoldAction {
			t.Errorf("%s is planned during a sweep: hold %d", symbol, hold)
		}
	}
	w.buy(t, w.Users[0], "TSLA", 2_000_000, 10_000_000)
	w.sweep(t)
	for symbol, o := range planned {
		check(t, w.Settle(t, o, "filled", 5_000_000, dollar200))
		settled, err := w.Order(t.Context(), o.ID)
		check(t, err)
		if want := w.Asset(t, symbol).Generation; settled.Generation != want {
			t.Errorf("the order of %s has generation %d, want %d", symbol, settled.Generation, want)
		}
		if _, hold := w.planFor(t, symbol); hold != rewards.NoHold {
			t.Errorf("%s is held after the sweep: %d", symbol, hold)
		}
	}
	first, err := w.Orders(t.Context(), rewards.OrderSettled, all[rewards.Order]())
	check(t, err)
	if g := first[len(first)-1].Generation; g != 0 {
		t.Errorf("the order before the action has generation %d", g)
	}
	w.wantRows(t, "holdings of another generation", 0, `SELECT count(*) FROM holdings h JOIN assets a ON a.id = h.asset_id
		WHERE h.generation <> a.generation`)
}

// wantRows checks a count that a query returns.
func (w *World) wantRows(t *testing.T, what string, want int64, query string, args ...any) {
	t.Helper()
	var got int64
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&got) }, query+" "+unbounded, args...)
	}))
	if got != want {
		t.Errorf("%d %s, want %d", got, what, want)
	}
}

// agree ends the doubt about the position of an asset whose action was undone, as the service does when the broker's
// position agrees.
func (w *World) agree(t *testing.T, symbol string) {
	t.Helper()
	asset := w.Asset(t, symbol)
	held, err := w.Actions(t.Context(), rewards.ActionHeld, symbol, 10)
	check(t, err)
	if len(held) != 1 || held[0].Type != rewards.ActionPosition || !asset.Hold.InForce(w.Now()) {
		t.Fatalf("after an undo %+v is held by %+v, want its position", asset, held)
	}
	check(t, w.ChangeActions(t.Context(), w.lease, []rewards.ActionChange{{
		Before: held[0], After: rewards.Observation{Now: w.Now(), SeenAt: w.Now()}.Agreed(held[0]),
	}}))
}

// testUnits: an action converts the stored prices with the units; after an undo they are unknown.
// A quote in other units is not stored.
func testUnits(t *testing.T, w *World) {
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	id := w.Asset(t, "AAPL").ID
	quote := rewards.Quote{AssetID: id, Price: 200_000_000_001, TradedAt: w.Now().Add(-time.Hour), ConfirmedAt: w.Now()}
	check(t, w.SaveQuotes(t.Context(), []rewards.Quote{quote}))
	check(t, w.DoubtAsset(t.Context(), id, 100*dollar1))
	check(t, failure(w.ConfirmAsset(t.Context(), "AAPL")))
	s := w.apply(t, "split", "AAPL", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "2", NewRate: "3"}, 0)
	boundary := w.Now()
	want := quote
	want.Price, want.Accepted, want.Generation = 133_333_333_334, 66_666_666_667, 1
	stored := func(when string, want rewards.Quote, units rewards.Units) {
		t.Helper()
		_, quotes, err := w.QuotedAssets(t.Context())
		check(t, err)
		wantEqual(t, when, []rewards.Quote{want}, quotes)
		a := w.Asset(t, "AAPL")
		if a.Generation != want.Generation || a.Units != units || a.Hold.Exists() {
			t.Errorf("%s: the asset is %+v, want the units %+v", when, a, units)
		}
	}
	after := rewards.Units{From: boundary, Ratio: rewards.Ratio{Old: 2, New: 3}}
	stored("applied", want, after)
	check(t, w.SaveQuotes(t.Context(), []rewards.Quote{quote})) // of the market before it knew
	stored("a quote in the old units", want, after)
	fresh := want
	fresh.Price, fresh.Accepted = 5, 0
	check(t, w.SaveQuotes(t.Context(), []rewards.Quote{fresh}))
	fresh.Accepted = want.Accepted
	stored("a quote in the new units", fresh, after)
	wantEqual(t, "the switch", rewards.Switch{
		Conversion: s.Conversion, Number: 1, ActionID: "split", AssetID: id, Generation: 1, At: w.Now(),
		Booked: 10_000_000, Position: 15_000_000,
	}, s)
	w.sweep(t)
	check(t, failure(w.UndoAction(t.Context(), "split")))
	w.agree(t, "AAPL")
	fresh.Price, fresh.Accepted, fresh.Generation = 0, 0, 2 // whether the broker ever changed them is not known
	fresh.TradedAt = time.Time{}
	stored("undone", fresh, rewards.Units{})
	w.sweep(t)
	w.apply(t, "spin", "AAPL", rewards.Terms{Type: rewards.ActionSpinOff, NewSymbol: "KO", OldRate: "1", NewRate: "1"}, 0)
	fresh.Price, fresh.Accepted, fresh.Generation = 0, 0, 3 // no ratio says what a share is worth now
	a, quotes, err := w.QuotedAssets(t.Context())
	check(t, err)
	wantEqual(t, "after a spin-off", []rewards.Quote{fresh}, quotes)
	wantEqual(t, "the units after a spin-off", rewards.Units{From: w.Now()}, a[0].Units)
}
