package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testUndoRefused: only the last action of a stock can be undone, when no order of it is open and
// no sweep goes on.
func testUndoRefused(t *testing.T, w *World) {
	undo := func(id string) error { return failure(w.UndoAction(t.Context(), id)) }
	split := rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "2"}
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	wantCode(t, undo("none"), rewards.CodeNotFound)
	w.announce(t, "announced", "TSLA", split)
	wantCode(t, undo("announced"), rewards.CodeConflict)
	w.apply(t, "first", "AAPL", split, 0)
	wantCode(t, undo("first"), rewards.CodeConflict) // its sweep goes on
	w.sweep(t)
	w.apply(t, "elsewhere", "KO", split, 0)
	refused := func(why string) {
		t.Helper()
		before := w.books(t, "first")
		wantCode(t, undo("first"), rewards.CodeConflict)
		wantEqual(t, "the books when "+why, before, w.books(t, "first"))
	}
	refused("another sweep goes on")
	w.sweep(t)
	o := w.openFor(t, w.Users[0], "AAPL", 1_000_000)
	refused("an order is open")
	check(t, w.Settle(t, o, "filled", 5_000_000, dollar200))
	w.apply(t, "second", "AAPL", split, 0)
	w.sweep(t)
	refused("a later action was applied")
	check(t, undo("second"))
	refused("the undo of the later one is not swept")
	w.sweep(t)
	check(t, undo("first")) // the later one was undone, too
	w.sweep(t)
	want := rewards.Holding{AssetID: w.Asset(t, "AAPL").ID, Quantity: 15_000_000, CostBasis: 3_000_000, Generation: 4}
	wantEqual(t, "the holding", want, w.holding(t, w.Users[0]))
	w.wantBooked(t, "after both undos")
	wantCode(t, undo("first"), rewards.CodeConflict)
}

// testOperatorActions: what operators decide about actions, besides an undo.
func testOperatorActions(t *testing.T, w *World) {
	split := rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "2"}
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	by := w.As(rewards.Operator{Actor: "ann@db1", Command: "action", Reason: "checked"})
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE positions SET accepted = 5`)
		return err
	}))
	held := w.announce(t, "held", "AAPL", split)
	check(t, w.change(t, rewards.ActionChange{Before: held, After: rewards.Observation{SeenAt: w.Now()}.Hold(held, "strange")}))
	var rows int
	for range 2 {
		a, err := by.ApproveAction(t.Context(), "held", false)
		check(t, err)
		if a.State != rewards.ActionAnnounced || !a.ApprovedAt.Equal(w.Now()) || a.Reason != "checked" {
			t.Errorf("approved: %+v", a)
		}
		if again := len(w.log(t)); rows != 0 && again != rows {
			t.Error("a repeated approval is logged")
		}
		rows = len(w.log(t))
	}
	if booked := read(t, w.Booked); booked[0].Accepted != 0 {
		t.Errorf("the accepted difference is %d: it would count twice", booked[0].Accepted)
	}
	wantCode(t, failure(by.ApproveAction(t.Context(), "none", false)), rewards.CodeNotFound)
	entered := rewards.Action{
		Terms: rewards.Terms{Type: split.Type, Symbol: "KO", OldRate: "1", NewRate: "3", ExDate: "2026-12-01"}, ID: "entered",
		State: rewards.ActionAnnounced, FirstSeen: w.Now(), Boundary: w.Now(), HoldFrom: w.Now(), Reason: "checked",
	}
	got, err := by.EnterAction(t.Context(), entered)
	check(t, err)
	entered.AssetID = w.Asset(t, "KO").ID
	wantEqual(t, "entered", entered, got)
	if hold := w.Asset(t, "KO").Hold; !hold.InForce(w.Now()) || hold.Units.Ratio != (rewards.Ratio{Old: 1, New: 3}) {
		t.Errorf("an entered action holds its stock by %+v", hold)
	}
	wantCode(t, failure(by.EnterAction(t.Context(), entered)), rewards.CodeConflict)
	entered.ID, entered.Symbol = "unknown", "NONE"
	wantCode(t, failure(by.EnterAction(t.Context(), entered)), rewards.CodeNotFound)
	wantCode(t, failure(by.IgnoreAction(t.Context(), "held", false)), rewards.CodeConflict) // another operator decided otherwise
	check(t, failure(by.IgnoreAction(t.Context(), "held", true)))
	wantCode(t, failure(by.ApproveAction(t.Context(), "held", false)), rewards.CodeConflict)
	check(t, failure(by.ApproveAction(t.Context(), "held", true)))
	approved, _, err := w.Action(t.Context(), "held")
	check(t, err)
	c, s := w.derive(t, approved, rewards.Fraction{})
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	wantCode(t, failure(by.IgnoreAction(t.Context(), "held", true)), rewards.CodeConflict)
	w.sweep(t)
	wantCode(t, failure(by.IgnoreAction(t.Context(), "held", true)), rewards.CodeConflict)
}

// testHouse: the house gets what users do not, may owe shares, and it is known since when.
func testHouse(t *testing.T, w *World) {
	house := func(when string, quantity, since int64) {
		t.Helper()
		w.wantRows(t, "billionths of the house, "+when, quantity, `SELECT coalesce(max(quantity), 0) FROM house_holdings`)
		w.wantRows(t, "microseconds since, "+when, since, `SELECT coalesce(max(short_since), 0) FROM house_holdings`)
		w.wantBooked(t, when)
	}
	w.Give(t, 1_000_000)
	w.refuse(t)
	house("refused", 0, 0)
	w.wantRows(t, "stocks of the app", 0, `SELECT count(*) FROM app_assets`)
	w.Give(t, 1_000_000)
	w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 15_000_001, dollar200))
	house("bought", 1, 0)
	w.wantRows(t, "stocks of the app", 1, `SELECT count(*) FROM app_assets`)
	app := w.NewApp(t, "second").ID
	w.buy(t, w.NewUser(t, app, "theirs"), "AAPL", 2_000_000, 10_000_000)
	w.wantRows(t, "stocks of the apps", 2, `SELECT count(*) FROM app_assets`)
	halve := rewards.Terms{Type: rewards.ActionReverseSplit, OldRate: "2", NewRate: "1"}
	short := w.Now().UnixMicro()
	w.apply(t, "one", "AAPL", halve, -7)
	w.sweep(t)
	house("the broker took too much", -7, 0)
	w.wantShort(t)
	house("since", -7, short)
	w.Advance(1)
	w.apply(t, "two", "AAPL", halve, -1)
	w.sweep(t)
	house("and again", -5, short)
	check(t, failure(w.UndoAction(t.Context(), "two")))
	w.sweep(t)
	house("the last one is undone", -7, short)
	w.agree(t, "AAPL")
	w.buy(t, w.Users[0], "AAPL", 1_000_000, 5_000_000)
	check(t, failure(w.UndoAction(t.Context(), "one")))
	w.sweep(t)
	house("both are undone", 1, 0)
}

// wantShort marks since when the house owes 7 billionths of AAPL.
func (w *World) wantShort(t *testing.T) {
	t.Helper()
	asset := w.Asset(t, "AAPL")
	if err := w.MarkShort(t.Context(), w.lost(), asset.ID, w.Now()); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("a former leader marks a shortage: %v", err)
	}
	for _, late := range []time.Duration{0, time.Hour} {
		check(t, w.MarkShort(t.Context(), w.lease, asset.ID, w.Now().Add(late)))
	}
	wantEqual(t, "the shortages", []rewards.Shortage{{Asset: asset, Owed: 7, Since: w.Now()}}, read(t, w.Shortages))
}
