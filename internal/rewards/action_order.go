package rewards

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// SortToJudge sorts open actions by ex-date. Of one day those that give shares of another stock come first: what the
// broker gave shows whether it did them before the others of the day.
func SortToJudge(list []Action) {
	turn := func(a Action) int {
		if a.Type.Gives() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Action) int {
		return cmp.Or(cmp.Compare(a.ExDate, b.ExDate), cmp.Compare(turn(a), turn(b)))
	})
}

// Overtaken returns the last action of a list that was applied before a, although its ex-date is later, where the order
// matters: one of the two counts shares that the other one changes.
func (a Action) Overtaken(list []Action) (by Action, overtaken bool) {
	for _, b := range list {
		late := a.AssetID == b.AssetID && a.ExDate < b.ExDate && a.orderMatters(b)
		if late && (!overtaken || b.AppliedAt.After(by.AppliedAt)) {
			by, overtaken = b, true
		}
	}
	return by, overtaken
}

// orderMatters reports whether b was applied, and one of the two counts shares that the other one changes.
func (a Action) orderMatters(b Action) bool {
	applied := b.ID != a.ID && (b.State == ActionApplied || b.State == ActionSwept)
	return applied && a.DependsOn(b)
}

// DependsOn reports whether what one of a and b does depends on whether the broker did the other one before.
// The action of a doubted position says what another action does, so it depends on none, except after an undo.
func (a Action) DependsOn(b Action) bool {
	doubts := func(c Action) bool { return c.DoubtsPosition() && !c.DoubtsUndo() }
	return !doubts(a) && !doubts(b) && (a.CountsSharesOf(b) || b.CountsSharesOf(a))
}

// CountsSharesOf reports whether what a does depends on whether the broker did b before: b changes the shares in which
// a counts what it gives, or gives shares of the stock of a, which a converts or counts.
func (a Action) CountsSharesOf(b Action) bool {
	if b.AssetID == a.AssetID {
		return a.Type.Gives() && b.changesUnits()
	}
	return b.Type.Gives() && b.NewSymbol == a.Symbol && (a.Type.Gives() || a.changesUnits())
}

// Behind reports whether a waits while b, which gives shares on an earlier day, does: it changes the stock of b, or
// gives shares of it. An operator's decision waits for no other action, and a new symbol does not either: the prices
// for which b waits may have that symbol.
func (a Action) Behind(b Action) bool {
	shared := b.AssetID == a.AssetID || a.Type.Gives() && a.NewSymbol == b.Symbol
	return shared && b.ExDate < a.ExDate && a.ApprovedAt.IsZero() && a.Type != ActionNameChange
}

// MayShow reports whether the action is open, and the broker's positions may show it at the broker's time now.
func (a Action) MayShow(now time.Time) bool {
	open := a.State == ActionAnnounced || a.State == ActionHeld
	return open && a.Type.Known() && a.Type != ActionCashDividend && a.Due(now)
}

// NamedStock is a stock of the catalog with its symbol, and the one by which an action names it: the stock may have
// been renamed since.
type NamedStock struct {
	ID            AssetID
	Symbol, Named string
}

// Named returns the stock that an action names by a symbol; zero for a zero one.
func (a Asset) Named(symbol string) NamedStock {
	if a.ID == 0 {
		return NamedStock{}
	}
	return NamedStock{ID: a.ID, Symbol: a.Symbol, Named: symbol}
}

// Gives reports whether the action gives shares of a stock, under one of its symbols. The stock may be zero.
func (a Action) Gives(s NamedStock) bool {
	return a.Type.Gives() && a.NewSymbol != "" && (a.NewSymbol == s.Symbol || a.NewSymbol == s.Named)
}

// Touches reports whether the action changes the shares of one of two stocks. The second one may be zero.
func (a Action) Touches(one, other NamedStock) bool {
	if a.DoubtsPosition() { // it says what another one does
		return false
	}
	return a.AssetID == one.ID || a.AssetID == other.ID || a.Gives(one) || a.Gives(other)
}

// Undecided reports whether an operator must decide about the action, and the broker may have done it.
func (a Action) Undecided(now time.Time) bool {
	return a.State == ActionHeld && a.WaitsFor == "" && a.MayShow(now) && !strings.HasPrefix(a.Note, noteRepeats)
}

// Undecides is what other actions wait for while an operator must decide about this one.
func (a Action) Undecides() string {
	return "the action " + a.ID + ", about which an operator must decide"
}

// Changes reports whether the action changes how many shares of a stock there are. The stock may be zero.
func (a Action) Changes(stock NamedStock) bool {
	if a.DoubtsPosition() { // it says what another one does
		return false
	}
	return a.Gives(stock) || a.AssetID == stock.ID && a.changesUnits()
}

// Misplaced returns an action of a list that was applied before a, although it is of the same day or later, where the
// order matters: one of the two counts shares that the other one changes. The broker may have done it after a. An
// operator who approved a since it was held for that has decided the order.
func (a Action) Misplaced(list []Action) (by Action, found bool) {
	i := slices.IndexFunc(list, func(b Action) bool {
		decided := a.HeldAt.After(b.AppliedAt) && a.ApprovedAt.After(a.HeldAt)
		return a.ExDate <= b.ExDate && a.orderMatters(b) && !decided
	})
	if i < 0 {
		return by, false
	}
	return list[i], true
}

// Preceded says what an operator must do about an action that may be applied in the wrong order.
func (a Action) Preceded() string {
	return "the action " + a.ID + " was applied already: if the broker did it after this one, undo that one first, " +
		"then apply both in their order"
}

// noteUnordered begins the note of an action whose order to another one the broker's positions do not show.
const noteUnordered = "the broker's positions do not show whether it did this one before the action "

// Unordered says why an action is held that the broker may have done before the action with the id or after it.
func Unordered(id string) string { return noteUnordered + id + "; apply both in its order" }

// Unordered reports whether the action is held for that.
func (a Action) Unordered() bool {
	return a.State == ActionHeld && a.WaitsFor == "" && strings.HasPrefix(a.Note, noteUnordered)
}

// ApprovedAfter reports whether an operator has approved both actions, and b before a: then a must wait for b, unless b
// waits for a.
func (a Action) ApprovedAfter(b Action) bool {
	waits := strings.HasPrefix(b.WaitsFor, "the action "+a.ID+",")
	return !b.ApprovedAt.IsZero() && b.ApprovedAt.Before(a.ApprovedAt) && !waits
}

// AwaitsUndone reports whether an approved action waits for another one that was undone after it, zero for none: then
// its own undo can be taken back. It does not when the broker's positions need only this one. Nor does it when an
// operator has approved it first of two actions of one day whose order matters: the first time it may have been wrong.
func (a Action) AwaitsUndone(after Action, c Conversion, s Standing) bool {
	open := after.ID != "" && after.State != ActionApplied && after.State != ActionSwept
	first := after.ApprovedAt.IsZero() || a.ApprovedAt.Before(after.ApprovedAt)
	reordered := first && a.ExDate == after.ExDate && a.DependsOn(after)
	return open && (s.Source.Undone || s.Target.Undone) && !reordered && !a.explains(c, s)
}

// GivenBefore reports whether b, which has the switches, has given shares of the stock of a since the undo of a, but as
// of before a: a counts them too, so that its undo cannot be taken back. It can when b had given them before a was
// applied.
func (a Action) GivenBefore(b Action, switches []Switch, undo Switch) bool {
	if b.ExDate > a.ExDate || !a.CountsSharesOf(b) || len(switches) == 0 {
		return false
	}
	last, counted := switches[len(switches)-1], false
	for _, w := range switches {
		if w.Number < undo.Undoes {
			counted = !w.IsUndo()
		}
	}
	return last.Number > undo.Number && !last.IsUndo() && !counted
}

// BesideUndone returns the stake of a stock whose position is in doubt since an undo. undone are the actions that were
// undone. When none of them changes the stock, and a was not undone itself, a is the last one that the position shows.
// When one of them ends the stock, the position shows nothing of the others.
func (a Action) BesideUndone(k Stake, stock NamedStock, undone []Action) Stake {
	changes := func(b Action) bool { return b.Changes(stock) }
	ends := func(b Action) bool { return b.AssetID == stock.ID && b.Ends() }
	k.Undone = !a.AppliedAt.IsZero() || slices.ContainsFunc(undone, changes)
	k.Shared = k.Shared || slices.ContainsFunc(undone, ends)
	return k
}

// RenamedBy returns the action of a list that gave the stock which a gives another symbol, within ten days. It may be
// open, or undone: the new symbol may stay.
func (a Action) RenamedBy(list []Action) (by Action, found bool) {
	i := slices.IndexFunc(list, func(b Action) bool {
		states := []ActionState{ActionAnnounced, ActionHeld, ActionApplied, ActionSwept, ActionUndoing, ActionUndone}
		counts := slices.Contains(states, b.State)
		near := b.ExDate.Plus(-twinDays) <= a.ExDate && a.ExDate <= b.ExDate.Plus(twinDays)
		return a.Type.Gives() && b.Renames() && b.Symbol == a.NewSymbol && counts && near
	})
	if i < 0 {
		return by, false
	}
	return list[i], true
}

// Follows reports whether the broker did a after another action with the id, which gives shares of its stock and may
// have any of the impacts: its positions are what a makes of those and the booked ones. An action that changes no
// shares shows no order.
func (a Action) Follows(id string, impacts []Impact, c Conversion, s Standing) bool {
	after, same := s, func(e Impact) bool { return e.ID == id }
	after.Others = slices.Concat(impacts, slices.DeleteFunc(slices.Clone(s.Others), same))
	return slices.ContainsFunc(impacts, Impact.gives) && (a.Type.Gives() || a.changesUnits()) &&
		a.SequenceTo(id, c, after) == SequenceSecond
}

// changesUnits reports whether the action changes how many shares of its stock users have.
func (t Terms) changesUnits() bool {
	r, err := t.UnitRatio()
	return err == nil && r.Old != r.New
}

// SplitBy reports whether an action of a list was applied that changed the units of the stock on the day of a.
func (a Action) SplitBy(list []Action) bool {
	return slices.ContainsFunc(list, func(b Action) bool {
		applied := b.ID != a.ID && (b.State == ActionApplied || b.State == ActionSwept)
		return applied && b.AssetID == a.AssetID && b.ExDate == a.ExDate && b.changesUnits()
	})
}

// Overtook says what an operator must do about an action that overtook an earlier one.
func (a Action) Overtook() string {
	return "the action " + a.ID + " was applied already, although its ex-date is later: undo that one first, then " +
		"apply both in their order"
}

// PriceBefore returns a price of the stock in the units of a, before the later action b: a trade since the ex-date of b
// is in the units of b. undone reports whether actions of the stock were undone that the broker's position still shows.
func (a Action) PriceBefore(b Action, p money.Price, tradedAt time.Time, undone bool) money.Price {
	if b.DoubtsPosition() { // another action says it too
		return p
	}
	happened := b.State == ActionAnnounced || b.State == ActionHeld || undone && b.State == ActionUndone
	r, err := b.UnitRatio()
	if err != nil || !happened || a.AssetID != b.AssetID || a.ExDate >= b.ExDate || tradedAt.Before(b.ExDate.Open()) {
		return p
	}
	return r.Inverse().PriceOrNone(p)
}

// CountsAfter reports whether the cash of a dividend cannot be shared yet, because it is not decided whether b changed
// the units of the stock before the broker counted its shares.
func (a Action) CountsAfter(b Action) bool {
	if a.Type != ActionCashDividend || b.AssetID != a.AssetID || b.ExDate >= a.ExDate {
		return false
	}
	r, err := b.UnitRatio()
	return (b.State == ActionAnnounced || b.State == ActionHeld) && (err != nil || r.Old != r.New)
}
