package rewards

import (
	"cmp"
	"slices"
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
// matters: one of the two gives shares of another stock, counted in those that the other one changes.
func (a Action) Overtaken(list []Action) (by Action, overtaken bool) {
	for _, b := range list {
		if a.ExDate < b.ExDate && a.orderMatters(b) && (!overtaken || b.AppliedAt.After(by.AppliedAt)) {
			by, overtaken = b, true
		}
	}
	return by, overtaken
}

// orderMatters reports whether b was applied, and one of the two gives shares, counted in those that the other changes.
func (a Action) orderMatters(b Action) bool {
	applied := b.ID != a.ID && b.AssetID == a.AssetID && (b.State == ActionApplied || b.State == ActionSwept)
	return applied && (a.Type.Gives() && b.changesUnits() || a.changesUnits() && b.Type.Gives())
}

// MayShow reports whether the action is open, and the broker's positions may show it at the broker's time now.
func (a Action) MayShow(now time.Time) bool {
	open := a.State == ActionAnnounced || a.State == ActionHeld
	return open && a.Type.Known() && a.Type != ActionCashDividend && a.Due(now)
}

// Touches reports whether the action changes the shares of one of two stocks. The second one may be zero.
func (a Action) Touches(one, other Asset) bool {
	if a.DoubtsPosition() { // it says what another one does
		return false
	}
	gives := a.Type.Gives() && a.NewSymbol != "" && (a.NewSymbol == one.Symbol || a.NewSymbol == other.Symbol)
	return a.AssetID == one.ID || a.AssetID == other.ID || gives
}

// Misplaced returns an action of a list that was applied before a, although it is of the same day or later, where the
// order matters, as for Overtaken. The broker may have done it after a.
func (a Action) Misplaced(list []Action) (by Action, found bool) {
	i := slices.IndexFunc(list, func(b Action) bool { return a.ExDate <= b.ExDate && a.orderMatters(b) })
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

// Follows reports whether the broker did a after b, which gives shares of its stock: its position is what a makes of
// what is booked and of what b gives for all shares of the other stock.
func (a Action) Follows(b Action, booked, other, theirs money.Shares) bool {
	keep, err := a.UnitRatio()
	give, errGive := b.Ratio()
	if err != nil || errGive != nil || !b.Type.Gives() || b.ExDate > a.ExDate {
		return false
	}
	given, err := give.Of(other)
	if err == nil {
		given, err = money.AddShares(booked, given)
	}
	if err == nil {
		given, err = keep.Of(given)
	}
	return err == nil && near(theirs, given)
}

// changesUnits reports whether the action changes how many shares of its stock users have.
func (t Terms) changesUnits() bool {
	r, err := t.UnitRatio()
	return err == nil && r.Old != r.New
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
