package storetest

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// redo applies an undone action again while the broker's position is that of before the undo. It reports whether that
// takes the undo back.
func (w *World) redo(t *testing.T, id string) bool {
	t.Helper()
	undo, _, err := w.LastUndo(t.Context(), id)
	check(t, err)
	if undo.Number == 0 {
		return false
	}
	first, err := w.Switches(t.Context(), id)
	check(t, err)
	a, err := w.ApproveAction(t.Context(), id, false)
	check(t, err)
	c, s := w.derive(t, a, first[0].Part)
	s, err = a.Begin(s.Conversion, rewards.Standing{
		Source: rewards.Stake{
			Booked: s.Booked, Theirs: s.Booked + undo.Booked - undo.Position + undo.Recounted, Undone: true,
		},
		Target: rewards.Stake{
			Booked: s.TargetBooked, Theirs: s.TargetBooked + undo.TargetBooked - undo.TargetPosition, Undone: true,
		},
		Undo: undo,
	})
	check(t, err)
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	w.sweep(t)
	return true
}

// testUndoTakenBack: what was bought while an action was applied is in its units. So an undo, and taking that back,
// leave it as it is, and corrections of its fill count one to one.
func testUndoTakenBack(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	first := w.Open(t)
	check(t, w.Settle(t, first, "filled", 10_000_000, dollar200))
	w.apply(t, "split", "AAPL", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "2", NewRate: "3"}, 0)
	w.sweep(t)
	w.Give(t, 1_000_000)
	second := w.Open(t)
	check(t, w.Settle(t, second, "filled", 5_000_000, dollar200))
	w.wantHolding(t, 20_000_000, 3_000_000)
	check(t, failure(w.UndoAction(t.Context(), "split")))
	w.sweep(t)
	w.wantHolding(t, 15_000_000, 3_000_000)
	w.reversed(t, w.back(r, 1_000_000))
	w.wantHolding(t, 10_000_000, 2_000_000)
	w.entitled(t, "first dividend")
	if !w.redo(t, "split") {
		t.Error("the undo is not taken back")
	}
	w.wantHolding(t, 12_500_000, 2_000_000)
	shown, err := w.Effects(t.Context(), w.App.ID, "split", rewards.EffectPage{Limit: 9})
	check(t, err)
	if len(shown) != 1 || shown[0].Before != 10_000_000 || shown[0].After != 12_500_000 {
		t.Errorf("clients see the effects %+v", shown)
	}
	if u := w.Asset(t, "AAPL").Units; u.Ratio != (rewards.Ratio{Old: 2, New: 3}) || u.From.IsZero() {
		t.Errorf("the units are %+v, want those of the split", u)
	}
	w.bust(t, first, 9_999_998)
	w.houseShares(t, "after a bust of 2 from before the split", 7_499_997) // it has half of the first award
	w.bust(t, second, 4_999_998)
	w.houseShares(t, "after a bust of 2 from after it", 7_499_995)
	w.entitled(t, "second dividend")
	check(t, failure(w.UndoAction(t.Context(), "split")))
	w.sweep(t)
	w.wantHolding(t, 10_000_000, 2_000_000)
}

// bust corrects the fill of an order.
func (w *World) bust(t *testing.T, o rewards.Order, to money.Shares) {
	t.Helper()
	check(t, w.CorrectOrder(t.Context(), w.lease, o, rewards.BrokerOrder{
		ID: o.BrokerID, ClientOrderID: o.ClientOrderID, Symbol: "AAPL", Side: "buy", Status: "filled",
		FilledQty: to, FilledAvgPrice: dollar200,
	}, "bust"))
	w.Advance(time.Second)
}

// testCorrectedBeforeUndo: what the broker corrects of a fill counts in the units of now, also when an action was applied
// or undone by mistake at the time.
func testCorrectedBeforeUndo(t *testing.T, w *World) {
	w.Give(t, 2_000_000)
	o := w.Open(t)
	check(t, w.Settle(t, o, "filled", 10_000_000, dollar200))
	switched := func(err error) {
		t.Helper()
		check(t, err)
		w.sweep(t)
		w.Advance(time.Second)
	}
	w.bust(t, o, 9_999_990)
	w.apply(t, "first", "AAPL", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "2", NewRate: "3"}, 0)
	switched(nil)
	w.bust(t, o, 9_999_988)
	w.houseShares(t, "after 10 x 1.5 and 2 x 1.5", -18)
	w.apply(t, "second", "AAPL", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "2"}, 0)
	switched(nil)
	w.bust(t, o, 9_999_986)
	w.houseShares(t, "after 14 x 1.5 x 2", -42)
	switched(failure(w.UndoAction(t.Context(), "second")))
	w.houseShares(t, "after 14 x 1.5", -21)
	switched(failure(w.UndoAction(t.Context(), "first")))
	w.houseShares(t, "after 14", -14)
	w.bust(t, o, 9_999_980)
	w.houseShares(t, "after 20", -20)
	if !w.redo(t, "first") {
		t.Error("the undo is not taken back")
	}
	w.houseShares(t, "after 20 x 1.5", -30)
	w.wantHolding(t, 15_000_000, 2_000_000)
}

// entitled records who is entitled to a cash dividend of AAPL, which changes no holding.
func (w *World) entitled(t *testing.T, id string) {
	t.Helper()
	c, s := w.derive(t, w.announce(t, id, "AAPL", rewards.Terms{Type: rewards.ActionCashDividend, Rate: "1"}), rewards.Fraction{})
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	w.sweep(t)
}

// testCashStaysShown: clients see their users' parts of a merger's cash, also after it was undone and applied again.
func testCashStaysShown(t *testing.T, w *World) {
	for _, u := range w.Users[:2] {
		w.buy(t, u, "AAPL", 2_000_000, 10_000_000)
	}
	w.apply(t, "merger", "AAPL", rewards.Terms{Type: rewards.ActionCashMerger, Rate: "3"}, 0)
	w.sweep(t)
	check(t, w.BeginPayout(t.Context(), w.lease, "merger", rewards.Payment{ActivityID: "a", Net: 4_000_000}))
	w.shareOut(t, "merger")
	want := []money.USD{2_000_000, 2_000_000}
	wantEqual(t, "shown", want, w.shownCash(t, "merger"))
	check(t, failure(w.UndoAction(t.Context(), "merger")))
	w.sweep(t)
	wantEqual(t, "shown after the undo", want, w.shownCash(t, "merger"))
	if !w.redo(t, "merger") {
		t.Error("the undo is not taken back")
	}
	wantEqual(t, "shown after it was applied again", want, w.shownCash(t, "merger"))
}

// shownCash is the cash that clients see of an action, by user.
func (w *World) shownCash(t *testing.T, action string) (cash []money.USD) {
	t.Helper()
	for _, e := range w.shownEffects(t, w.App.ID, action, 9) {
		if e.Shared {
			cash = append(cash, e.Cash)
		}
	}
	return cash
}

// testGiftMeanwhile: what another action gave between an undo and its taking back stays with the award, less
// what was taken back since.
func testGiftMeanwhile(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	spin := rewards.Terms{Type: rewards.ActionSpinOff, NewSymbol: "KO", OldRate: "1", NewRate: "2"}
	holds := func(when string, aapl, ko money.Shares) {
		t.Helper()
		w.wantSums(t, w.Users[0].ID)
		list, err := w.Holdings(t.Context(), w.App.ID, w.Users[0].ID)
		check(t, err)
		got := make(map[rewards.AssetID]money.Shares)
		for _, h := range list {
			got[h.AssetID] = h.Quantity
		}
		if a, k := got[w.Asset(t, "AAPL").ID], got[w.Asset(t, "KO").ID]; a != aapl || k != ko {
			t.Errorf("%s: %s of AAPL and %s of KO, want %s and %s", when, a, k, aapl, ko)
		}
	}
	w.apply(t, "spin", "AAPL", spin, 0)
	w.sweep(t)
	w.apply(t, "split", "KO", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "3"}, 0)
	w.sweep(t)
	w.reversed(t, w.back(r, 500_000))
	holds("after a quarter was taken back", 7_500_000, 45_000_000)
	check(t, failure(w.UndoAction(t.Context(), "split")))
	w.sweep(t)
	w.reversed(t, w.back(r, 500_000))
	w.apply(t, "spin again", "AAPL", spin, 0)
	w.sweep(t)
	holds("after the second gift", 5_000_000, 20_000_000)
	w.reversed(t, w.back(r, 500_000))
	if !w.redo(t, "split") {
		t.Error("the undo is not taken back")
	}
	holds("with the split again", 2_500_000, 20_000_000)
	w.reversed(t, w.back(r, 0))
	holds("in the end", 0, 0)
}
