package storetest

import (
	"errors"
	"testing"

	"stockrewards/internal/rewards"
)

// nameChange announces that AAPL becomes another symbol.
func (w *World) nameChange(t *testing.T, id, symbol string) (rewards.ActionChange, rewards.Switch) {
	t.Helper()
	a := w.announce(t, id, "AAPL", rewards.Terms{Type: rewards.ActionNameChange, NewSymbol: symbol})
	return w.derive(t, a, rewards.Fraction{})
}

// testRenamedByAction: an action gives its stock another symbol, and another identifier at the
// broker. What was given before stays, and an order that was not sent follows.
func testRenamedByAction(t *testing.T, w *World) {
	w.sync(t, "a AAPL", "k KO", "t TSLA")
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	w.giveStock(t, w.Users[1], "AAPL", 1_000_000)
	before := w.Asset(t, "AAPL")
	o, _ := w.planFor(t, "AAPL")
	c, s := w.nameChange(t, "first", "NEW")
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{Symbol: "NEW", BrokerID: "n"}))
	after := before
	after.Symbol, after.BrokerID, after.FormerID, after.Generation = "NEW", "n", "a", 1
	wantEqual(t, "renamed", after, w.Asset(t, "NEW"))
	stored, err := w.Order(t.Context(), o.ID)
	check(t, err)
	if stored.Symbol != "NEW" || stored.AssetFormerID != "a" {
		t.Errorf("the order that was not sent is of %s, formerly %q", stored.Symbol, stored.AssetFormerID)
	}
	w.sweep(t)
	check(t, w.Settle(t, w.Accept(t, stored), "filled", 5_000_000, dollar200))
	w.buy(t, w.Users[0], "NEW", 2_000_000, 10_000_000)
	w.wantBooked(t, "after a rename")
	w.giveStock(t, w.Users[0], "KO", 1_000_000)
	again := w.announce(t, "second", "NEW", rewards.Terms{Type: rewards.ActionNameChange, NewSymbol: "KO"})
	c, s = w.derive(t, again, rewards.Fraction{})
	books := w.books(t, "second")
	err = w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{Symbol: "KO"})
	wantCode(t, err, rewards.CodeConflict) // KO was given
	wantEqual(t, "the books after a refused rename", books, w.books(t, "second"))
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{Symbol: "LATER"}))
	after.Symbol, after.Generation = "LATER", 2 // the identifier stays
	wantEqual(t, "renamed again", after, w.Asset(t, "LATER"))
}

// testTakeOver: a stock that was never given makes room for a renamed one. Its actions are those of
// the renamed stock from then on.
func testTakeOver(t *testing.T, w *World) {
	w.sync(t, "a AAPL", "n NEW")
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	id := w.Asset(t, "AAPL").ID
	theirs := w.announce(t, "theirs", "NEW", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "2"})
	c, s := w.nameChange(t, "rename", "NEW")
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{Symbol: "NEW"}))
	got := w.Asset(t, "NEW")
	if got.ID != id || got.BrokerID != "n" || got.FormerID != "a" || !got.Hold.From.Equal(theirs.HoldFrom) {
		t.Errorf("the renamed stock is %+v, want the identifier n and the hold of its action", got)
	}
	moved, _, err := w.Action(t.Context(), "theirs")
	check(t, err)
	if moved.AssetID != id {
		t.Errorf("the action is of stock %d, want %d", moved.AssetID, id)
	}
	if old := w.Asset(t, "NEW.OLD"); old.BrokerID != "" || old.Giftable() || old.Hold.Exists() {
		t.Errorf("the displaced stock is %+v", old)
	}
	w.sweep(t)
	w.wantBooked(t, "after a take-over")
}

// testEnsureAsset: a stock that holders receive is added, and cannot be given until an operator
// allows it. One that exists stays as it is.
func testEnsureAsset(t *testing.T, w *World) {
	if _, err := w.EnsureAsset(t.Context(), w.lost(), "SPUN", "s"); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("a former leader adds a stock: %v", err)
	}
	for range 2 {
		a, err := w.EnsureAsset(t.Context(), w.lease, "SPUN", "s")
		check(t, err)
		want := rewards.Asset{ID: a.ID, BrokerID: "s", Symbol: "SPUN", Name: "SPUN", Units: rewards.Units{Ratio: rewards.Ratio{Old: 1, New: 1}}}
		wantEqual(t, "the added stock", want, a)
	}
	if _, err := w.EnsureAsset(t.Context(), w.lease, "OTHER", "s"); !errors.Is(err, rewards.ErrTerms) {
		t.Errorf("one identifier of two stocks: %v", err)
	}
	before := w.Asset(t, "KO")
	a, err := w.EnsureAsset(t.Context(), w.lease, "KO", "other")
	check(t, err)
	wantEqual(t, "the existing stock", before, a)
	quoted, _, err := w.QuotedAssets(t.Context())
	check(t, err)
	if len(quoted) != 2 || quoted[0].Symbol != "KO" || quoted[1].Symbol != "SPUN" {
		t.Errorf("prices are needed of %+v, want KO and SPUN", quoted)
	}
}

// testActivities: an activity is stored once, as it came first.
func testActivities(t *testing.T, w *World) {
	first := rewards.Activity{
		ID: "2026::a", Type: "SPLIT", SubType: "FSPLIT", Status: "executed", GroupID: "g", Previous: "p", OrderID: "o",
		Symbol: "AAPL", Date: "2026-09-21", CreatedAt: w.Now(), Qty: -1, CumQty: 2, Price: 3, Net: -4, PerShare: "0.5",
		Body: "{}", Problem: "qty: too many decimals",
	}
	undated, old, other := first, first, first
	undated.ID, undated.Date = "2026::c", ""
	old.ID, old.Date = "2026::b", "2026-09-20"
	other.ID, other.Symbol = "2026::d", "KO"
	changed := first
	changed.Body = "changed"
	check(t, w.SaveActivities(t.Context(), w.lease, []rewards.Activity{undated, first, old, other}))
	check(t, w.SaveActivities(t.Context(), w.lease, []rewards.Activity{changed}))
	if err := w.SaveActivities(t.Context(), w.lost(), []rewards.Activity{other}); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("a former leader stores activities: %v", err)
	}
	for _, c := range []struct {
		symbols []string
		want    []rewards.Activity
	}{
		{[]string{"AAPL"}, []rewards.Activity{first, undated}},
		{[]string{"KO", "AAPL"}, []rewards.Activity{other, first, undated}},
		{[]string{"TSLA"}, nil},
	} {
		got, err := w.ActivitiesOf(t.Context(), "2026-09-21", c.symbols...)
		check(t, err)
		wantEqual(t, "the activities", c.want, got)
	}
}

// testConflictsRenamed: the shares of lost orders follow their stock when it gets another symbol, before and after an
// operator acknowledges them, also when two stocks swap their symbols.
func testConflictsRenamed(t *testing.T, w *World) {
	w.sync(t, "a AAPL", "k KO")
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	known := rewards.BrokerConflict{ClientOrderID: "sr-x-1", Symbol: "AAPL", FilledQty: 3, Detail: "unknown"}
	late := rewards.BrokerConflict{ClientOrderID: "sr-x-2", Symbol: "AAPL", FilledQty: 4, Detail: "unknown"}
	other := rewards.BrokerConflict{ClientOrderID: "sr-x-3", Symbol: "KO", FilledQty: 5, Detail: "unknown"}
	check(t, w.SaveReconciliation(t.Context(), w.lease, []rewards.BrokerConflict{known, late, other}, w.Now()))
	check(t, w.AcknowledgeConflict(t.Context(), known.ClientOrderID, "ours"))
	c, s := w.nameChange(t, "name", "NEW")
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{Symbol: "NEW", BrokerID: "a"}))
	w.sweep(t)
	symbols := func(when string, want ...string) {
		t.Helper()
		for i, c := range read(t, w.Conflicts) {
			if c.Symbol != want[i] {
				t.Errorf("%s: the order %s is of %s, want %s", when, c.ClientOrderID, c.Symbol, want[i])
			}
		}
	}
	symbols("renamed", "NEW", "NEW", "KO")
	check(t, w.AcknowledgeConflict(t.Context(), late.ClientOrderID, "ours"))
	w.sync(t, "a KO", "k NEW")
	symbols("swapped", "KO", "KO", "NEW")
	check(t, w.AcknowledgeConflict(t.Context(), other.ClientOrderID, "ours"))
	for symbol, want := range map[string]int64{"KO": 7, "NEW": 5} {
		w.wantRows(t, "billionths of "+symbol+" that are accepted", want, `SELECT accepted FROM positions
			WHERE asset_id = ?1`, int64(w.Asset(t, symbol).ID))
	}
}
