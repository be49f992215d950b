package fulfillment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// After the undo of a split that did happen nobody sees a value, whatever was bought since, and although the price is near
// that of the day before. Applied again, everything is as it was before the undo.
func TestNoPortfolioMixesUnitsAfterAnUndo(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"2:3":              `"type":"forward_split","old_rate":2,"new_rate":3`,
		"7:1":              `"type":"reverse_split","old_rate":7,"new_rate":1`,
		"a stock dividend": `"type":"stock_dividend","rate":0.25`,
	}, func(w *world, body string) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		id := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05",` + body + `}`)
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.until("2000-01-05 10:00:00")
		w.wantAfter(time.Minute, w.give("AAPL", 77*usd), rewards.Executed)
		w.until("2000-01-06 10:00:00")
		if seen := w.watch(time.Second); len(seen.values) == 0 {
			w.t.Fatal("nothing is valued before the undo")
		}
		house := w.house("AAPL")
		w.undo(id)
		if seen := w.watch(3 * time.Minute); len(seen.values) > 0 || seen.unavailable == 0 {
			w.t.Errorf("after the undo %d answers were 502, and portfolios were valued at %s", seen.unavailable, seen.values)
		}
		w.wantAction(id, rewards.ActionUndone)
		doubt := w.actionsOf(rewards.ActionHeld)
		if len(doubt) != 1 || doubt[0].Type != rewards.ActionPosition {
			w.t.Fatalf("held: %+v, want the position", doubt)
		}
		waiting := w.wantNotOrdered("AAPL")
		w.wantAlarm(rewards.AlarmAction+doubt[0].ID, true)
		w.approve(id)
		w.serve(20 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantAction(doubt[0].ID, rewards.ActionWithdrawn)
		w.wantValued("AAPL", true)
		w.wantAfter(time.Minute, waiting, rewards.Executed)
		if got := w.house("AAPL"); got != house {
			w.t.Errorf("the house has %s shares, want %s", got, house)
		}
		w.wantBalance()
	})
}

// wantAsBefore checks the holdings of AAPL, and what the house has of it.
func (w *world) wantAsBefore(before []rewards.Holding, house money.Shares) {
	w.t.Helper()
	for i, got := range w.holdings("AAPL") {
		if got.Quantity != before[i].Quantity || got.CostBasis != before[i].CostBasis {
			w.t.Errorf("%+v became %+v", before[i], got)
		}
	}
	if got := w.house("AAPL"); got != house {
		w.t.Errorf("the house has %s shares, want %s", got, house)
	}
}

// Two splits that did happen are undone and applied again. Only with both of them the position agrees, and the books are
// as before.
func TestTwoUndoneSplitsAreAppliedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		first := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05","type":"forward_split","old_rate":2,"new_rate":3}`)
		second := w.post(`{"symbol":"AAPL","ex_date":"2000-01-06","type":"reverse_split","old_rate":3,"new_rate":1}`)
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantAction(first, rewards.ActionSwept)
		w.until("2000-01-06 02:30:00")
		w.serve(30 * time.Second)
		w.wantAction(second, rewards.ActionSwept)
		w.until("2000-01-06 10:00:00")
		w.wantAfter(time.Minute, w.give("AAPL", 77*usd), rewards.Executed)
		before, house := w.holdings("AAPL"), w.house("AAPL")
		for _, id := range []string{second, first} {
			w.undo(id)
			w.serve(20 * time.Second)
		}
		doubt := w.actionsOf(rewards.ActionHeld)[0].ID
		w.approve(second)
		w.serve(time.Minute)
		w.wantAction(second, rewards.ActionHeld) // and waits for the first one
		w.wantAction(doubt, rewards.ActionHeld)
		w.wantValued("AAPL", false)
		w.approve(first)
		w.serve(time.Minute)
		w.wantAction(first, rewards.ActionSwept)
		w.wantAction(second, rewards.ActionSwept)
		w.wantValued("AAPL", true)
		w.wantAsBefore(before, house)
		w.wantBalance()
	})
}

// applyEntered applies an action of AAPL that does not happen at the brokerage.
func (w *world) applyEntered(terms rewards.Terms) {
	w.t.Helper()
	terms.Symbol, terms.ExDate = "AAPL", rewards.DateOf(time.Now())
	w.enter(terms)
	w.serve(20 * time.Second)
	w.wantAction("entered", rewards.ActionSwept)
}

// undoOlder applies an action of 2000-01-05, and finds out that the entered one before it did not happen: it undoes both,
// and applies the later one again.
func (w *world) undoOlder(happened string) {
	w.t.Helper()
	w.until("2000-01-05 02:30:00")
	w.serve(30 * time.Second)
	w.approve(happened) // it was held, as a difference to the position is accepted
	w.serve(30 * time.Second)
	w.wantAction(happened, rewards.ActionSwept)
	for _, id := range []string{happened, "entered"} {
		w.undo(id)
		w.serve(20 * time.Second)
	}
	w.approve(happened)
	w.serve(time.Minute)
	w.wantAction(happened, rewards.ActionSwept)
}

// To undo a split that did not happen, a later one that did is undone too. It is applied again alone.
func TestAnOlderActionDidNotHappen(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		shares := w.holding(w.user, "AAPL").Quantity
		w.applyEntered(rewards.Terms{Type: "forward_split", OldRate: "2", NewRate: "3"})
		happened := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05","type":"reverse_split","old_rate":3,"new_rate":1}`)
		w.undoOlder(happened)
		if got := w.holding(w.user, "AAPL").Quantity; got != shares/3 {
			w.t.Errorf("%s shares, want a third of %s", got, shares)
		}
		w.wantValued("AAPL", true)
		w.wantBalance()
	})
}

// After the undo of a split that did not happen the position agrees, and the stock is valued within seconds.
func TestARightUndoIsConfirmed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		before := w.watch(time.Second).values[0]
		shares := w.holding(w.user, "AAPL").Quantity
		w.applyEntered(rewards.Terms{Type: "forward_split", OldRate: "2", NewRate: "3"})
		w.undo("entered")
		w.wantValued("AAPL", false)
		w.serve(20 * time.Second)
		w.wantAction("entered", rewards.ActionUndone)
		if held := w.actionsOf(rewards.ActionHeld); len(held) > 0 {
			w.t.Errorf("held after the undo: %+v", held)
		}
		seen := w.watch(time.Second)
		w.wantNear(seen, before)
		if got := w.holding(w.user, "AAPL").Quantity; got != shares || len(seen.values) == 0 {
			w.t.Errorf("%s shares, %d answers; want %s", got, len(seen.values), shares)
		}
		w.buy()
		w.wantBalance()
	})
}

// A split that is applied, undone and applied again before the broker's position shows it: what was bought since is in
// new units and stays, as the broker's position will be.
func TestAppliedAgainBeforeTheBrokerFollows(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		w.afflict("late-position symbol=AAPL by=12h")
		id := w.announce("3", "7", "2000-01-05")
		w.until("2000-01-05 02:30:10")
		w.approve(id)
		w.serve(20 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.until("2000-01-05 09:31:00")
		w.wantAfter(20*time.Second, w.give("AAPL", 12*usd), rewards.Executed)
		applied := w.holding(w.user, "AAPL").Quantity
		w.undo(id)
		w.serve(30 * time.Second)
		w.wantAction(id, rewards.ActionUndone)
		w.approve(id)
		w.serve(20 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		if again := w.holding(w.user, "AAPL").Quantity; again != applied {
			w.t.Errorf("%s shares after the second time, %s after the first", again, applied)
		}
		w.until("2000-01-05 14:31:00")
		w.serve(2 * time.Minute)
		w.buy()
		w.wantBalance()
		if held := w.actionsOf(rewards.ActionHeld); len(held) > 0 {
			w.t.Errorf("held after all: %+v", held)
		}
	})
}

// The undo of a reverse split that did not happen takes the new symbol back, because nothing else could.
func TestARightUndoTakesTheSymbolBack(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		shares := w.holding(w.user, "AAPL").Quantity
		w.applyEntered(rewards.Terms{Type: "reverse_split", NewSymbol: "AAPQ", OldRate: "4", NewRate: "1"})
		if renamed := w.holding(w.user, "AAPQ").Quantity; renamed != shares/4 {
			w.t.Errorf("%s shares of AAPQ, want a quarter of %s", renamed, shares)
		}
		w.undo("entered")
		w.serve(20 * time.Second)
		if held := w.actionsOf(rewards.ActionHeld); len(held) > 0 {
			w.t.Errorf("held after the undo: %+v", held)
		}
		if got := w.holding(w.user, "AAPL").Quantity; got != shares {
			w.t.Errorf("%s shares, want %s", got, shares)
		}
		w.wantValued("AAPL", true)
		w.buy()
		w.wantBalance()
	})
}

// holdBoth gives the user shares of AAPL and of KO.
func (w *world) holdBoth() (aapl, ko money.Shares) {
	w.t.Helper()
	w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
	w.wantAfter(5*time.Second, w.give("KO", 70*usd), rewards.Executed)
	return w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity
}

// A merger into a stock did not happen, and a later split of that stock did: both are undone, and the split is applied again.
func TestAnOlderMergerIntoTheStockDidNotHappen(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		aapl, ko := w.holdBoth()
		w.enter(rewards.Terms{
			Type: "stock_merger", Symbol: "KO", NewSymbol: "AAPL", OldRate: "1", NewRate: "1", ExDate: rewards.DateOf(time.Now()),
		})
		w.serve(20 * time.Second)
		w.wantAction("entered", rewards.ActionSwept)
		happened := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05","type":"forward_split","old_rate":1,"new_rate":3}`)
		w.undoOlder(happened)
		if got := w.holding(w.user, "AAPL").Quantity; got != 3*aapl {
			w.t.Errorf("%s shares of AAPL, want three times %s; the house has %s", got, aapl, w.house("AAPL"))
		}
		if got := w.holding(w.user, "KO").Quantity; got != ko {
			w.t.Errorf("%s shares of KO, want %s", got, ko)
		}
		w.wantBalance()
	})
}

// A split did not happen, and a later merger into its stock did: both are undone, and the merger is applied again.
func TestAnOlderSplitBeforeAMergerDidNotHappen(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{"exact": "", "cash in lieu": "cash-in-lieu"}, func(w *world, affliction string) {
		aapl, ko := w.holdBoth()
		if affliction != "" {
			w.afflict(affliction)
		}
		w.applyEntered(rewards.Terms{Type: "forward_split", OldRate: "2", NewRate: "3"})
		happened := w.post(`{"type":"stock_merger","acquiree_symbol":"KO","acquirer_symbol":"AAPL","acquiree_rate":2,` +
			`"acquirer_rate":1,"effective_date":"2000-01-05"}`)
		w.undoOlder(happened)
		w.wantAction("entered", rewards.ActionUndone)
		if got := w.holding(w.user, "AAPL").Quantity; got != aapl+ko/2 {
			w.t.Errorf("%s shares of AAPL, want %s and half of %s; the house has %s", got, aapl, ko, w.house("AAPL"))
		}
		w.wantBalance()
	})
}

// A new symbol does not keep the split before it from being undone. It is undone itself only when the split is applied
// again.
func TestUndoOfASplitBeforeTheNewSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		split := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05","type":"forward_split","old_rate":1,"new_rate":3}`)
		rename := w.post(`{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"2000-01-06"}`)
		w.until("2000-01-06 10:00:00")
		w.serve(30 * time.Second)
		shares := w.holding(w.user, "APL").Quantity
		w.undo(split)
		w.serve(20 * time.Second)
		_, err := w.operator("action undo").UndoAction(w.t.Context(), rename)
		if want := "the action " + split + " was undone after it: apply that one again first"; !strings.Contains(fmt.Sprint(err), want) {
			w.t.Errorf("%v, want %s", err, want)
		}
		w.approve(split)
		w.serve(20 * time.Second)
		w.undo(rename)
		w.serve(20 * time.Second)
		w.wantAction(rename, rewards.ActionUndone)
		if got := w.holding(w.user, "APL").Quantity; got != shares {
			w.t.Errorf("%s shares, want %s", got, shares)
		}
		w.wantBalance()
	})
}

// A split is undone by mistake, a merger brings shares of the stock, and the split is applied again.
func TestAMergerAfterAWrongUndo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		aapl, ko := w.holdBoth()
		split := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05","type":"forward_split","old_rate":1,"new_rate":3}`)
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantAction(split, rewards.ActionSwept)
		w.undo(split)
		w.serve(20 * time.Second)
		merger := w.post(`{"type":"stock_merger","acquiree_symbol":"KO","acquirer_symbol":"AAPL","acquiree_rate":1,"acquirer_rate":1,` +
			`"effective_date":"2000-01-06"}`)
		w.until("2000-01-06 02:30:00")
		w.serve(30 * time.Second)
		w.approve(merger) // held: the position of AAPL differs
		w.serve(30 * time.Second)
		w.approve(split)
		w.serve(time.Minute)
		w.wantAction(split, rewards.ActionSwept)
		if got := w.holding(w.user, "AAPL").Quantity; got != 3*aapl+ko {
			w.t.Errorf("%s shares of AAPL, want three times %s and %s", got, aapl, ko)
		}
		w.wantBalance()
	})
}
