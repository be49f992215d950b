package rewards

import (
	"math/big"
	"slices"
	"time"

	"stockrewards/internal/money"
)

// Switch changes the units of a stock for all holdings at once, by a corporate action, by its
// undo, or by taking that undo back. It raises the stock's generation. A sweep then brings the stored
// holdings up to date; until it has ended, readers convert what it has not reached.
type Switch struct {
	Conversion

	Number     int64 // from 1, in the order of applying
	ActionID   string
	AssetID    AssetID
	Generation int64     // of the asset, after it
	Undoes     int64     // number of the switch that it takes back; 0: none
	EntitledAt time.Time // of a dividend: who bought since then is not entitled; zero: nobody did
	At         time.Time
	SweptAt    time.Time // zero: the sweep goes on

	Booked, Position             money.Shares // all shares before and after, the users' and the house's
	TargetBooked, TargetPosition money.Shares // the same of the target

	// What the broker has beyond the positions after, when an operator applies an action before the
	// broker did. It is accepted until the broker follows, and not stored with the switch.
	Ahead, TargetAhead money.Shares
	Swept              SweepSums

	// Explained is the stock's price after a spin-off, as far as the fall is explained: see PriceAfter. It is accepted,
	// and not stored with the switch. 0: none.
	Explained money.Price

	// Reverted is the conversion that an undo took back. Recounted is what fills that were corrected since the undo
	// change more when that is taken back: they were booked in the units of then. Only Store.LastUndo fills them.
	Reverted  Conversion
	Recounted money.Shares
}

// Renaming is the symbol that a stock gets by an action, and the broker's identifier with it; ""
// leaves them.
type Renaming struct{ Symbol, BrokerID string }

// SweepSums are the sums over the users' holdings that a sweep has reached.
type SweepSums struct{ Before, After, Given money.Shares }

// Effect is what a switch did to a holding (additions, section 7).
type Effect struct {
	AppID                   AppID
	UserID                  UserID
	AssetID                 AssetID
	Before, After           money.Shares
	BasisBefore, BasisAfter money.USD
	Entitled                money.Shares // that a payment counts
	Cash                    money.USD    // the user's part of what the broker paid
	RewardID                RewardID     // of the award that the cash became; zero: none
}

// Undo returns the switch that takes s back.
func (s Switch) Undo() Switch {
	back := Switch{Conversion: unchanged(), ActionID: s.ActionID, AssetID: s.AssetID, Undoes: s.Number}
	back.Target = s.Target
	return back
}

// Redo returns the switch that takes the undo s back, of an action with the conversion c: what was bought while the
// action was applied is in its units already, and stays.
func (s Switch) Redo(c Conversion) Switch {
	return Switch{Conversion: c, ActionID: s.ActionID, AssetID: s.AssetID, Undoes: s.Number}
}

// IsUndo reports whether the switch takes an action back. One that takes an undo back has the ratios of its action.
func (s Switch) IsUndo() bool { return s.Undoes != 0 && s.Keep.Old == s.Keep.New && s.Give.New == 0 }

// undoneIn returns which switches of a list, oldest first, are undone: by later ones that are not undone themselves.
func undoneIn(list []Switch) map[int64]bool {
	undone := make(map[int64]bool, len(list))
	for _, w := range slices.Backward(list) {
		undone[w.Undoes] = undone[w.Undoes] || !undone[w.Number]
	}
	return undone
}

// Covered returns the last of the later switches of its stocks, oldest first, that is in effect. The switch cannot be
// taken back before that one is. One that changes no holding, such as that of a cash dividend, is no obstacle. Nor is a
// gift of another stock to taking an undo back: what was given since stays as it came.
func (s Switch) Covered(later []Switch) (by Switch, covered bool) {
	undone := undoneIn(later)
	later = slices.DeleteFunc(slices.Clone(later), func(w Switch) bool {
		return s.IsUndo() && !w.IsUndo() && w.AssetID != s.AssetID && w.AssetID != s.Target
	})
	for _, w := range slices.Backward(later) {
		if !undone[w.Number] && w.Undoes <= s.Number && !w.Unchanging() { // else it takes one of the later ones back
			return w, true
		}
	}
	return by, false
}

// Done is what the switch that another one takes back did to a user.
type Done struct {
	Effects []Effect
	Exact   []Holding // what the user has after it, if some of that was taken back in between
}

// Apply returns the holding and the target's holding after the switch. target is what the user
// has of the target, the zero value if nothing. done is what s undoes for this user. It fails with
// money.ErrOverflow.
func (s Switch) Apply(h, target Holding, done Done) (kept, given Holding, err error) {
	if s.Undoes != 0 {
		kept, given = h, target
		for _, e := range done.Effects {
			switch e.AssetID {
			case h.AssetID:
				kept = kept.back(e)
			case s.Target:
				given = given.back(e)
			}
		}
		for _, exact := range done.Exact {
			switch exact.AssetID {
			case h.AssetID:
				kept.Quantity, kept.CostBasis = exact.Quantity, exact.CostBasis
			case s.Target:
				given.Quantity, given.CostBasis = exact.Quantity, exact.CostBasis
			}
		}
		return kept, given, nil
	}
	kept, given, err = s.Conversion.Apply(h)
	if err != nil || s.Target == 0 {
		return kept, given, err
	}
	if given.Quantity, err = money.AddShares(given.Quantity, target.Quantity); err != nil {
		return kept, given, err
	}
	given.CostBasis, err = money.AddUSD(given.CostBasis, target.CostBasis)
	return kept, given, err
}

// Convert returns a user's holdings after the switch, whether the sweep has reached them or not.
// goal is the generation of the target.
func (s Switch) Convert(list []Holding, goal int64, done Done) ([]Holding, error) {
	source, target := -1, -1
	for i, h := range list {
		switch {
		case h.AssetID == s.AssetID && h.Generation < s.Generation:
			source = i
		case h.AssetID == s.Target:
			target = i
		}
	}
	if source < 0 {
		return list, nil
	}
	had := Holding{AssetID: s.Target, Generation: goal}
	if target >= 0 {
		had = list[target]
	}
	kept, given, err := s.Apply(list[source], had, done)
	if err != nil {
		return nil, err
	}
	kept.Generation, given.Generation = s.Generation, goal
	list[source] = kept
	switch {
	case target >= 0:
		list[target] = given
	case s.Target != 0 && !given.IsEmpty():
		list = append(list, given)
	}
	return list, nil
}

// back takes an effect back. What the user no longer has is not taken.
func (h Holding) back(e Effect) Holding {
	h.Quantity = max(0, h.Quantity-(e.After-e.Before))
	h.CostBasis = max(0, h.CostBasis-(e.BasisAfter-e.BasisBefore))
	return h
}

// EndsStock reports whether the stock cannot be bought after the switch w; before is whether that was so before it.
func (a Action) EndsStock(w Switch, before bool) bool {
	if r, err := a.UnitRatio(); err != nil || r.New > 0 {
		return before
	}
	return !w.IsUndo()
}

// UnitsAfter returns the units of the stock after the switch w, and the ratio by which its price
// changes; the zero value when the price is not known then.
func (a Action) UnitsAfter(w Switch, before Units) (after Units, price Ratio) {
	switch r := a.priceRatio(); {
	case a.Type == ActionCashDividend || a.Type == ActionNameChange:
		return before, Ratio{1, 1}
	case w.IsUndo(): // whether the broker has ever changed the units is not known
		return Units{}, Ratio{}
	default:
		return before.followed(Units{From: a.Boundary, Ratio: r}), r
	}
}

// followed returns the units after the next change. Of two splits on one day every earlier trade, and the previous
// close, is from before both: the ratio is that of both.
func (u Units) followed(next Units) Units {
	if u.From.IsZero() || !u.From.Equal(next.From) || u.Ratio.New == 0 || next.Ratio.New == 0 {
		return next
	}
	both := new(big.Rat).Mul(big.NewRat(u.Ratio.New, u.Ratio.Old), big.NewRat(next.Ratio.New, next.Ratio.Old))
	if both.Num().IsInt64() && both.Denom().IsInt64() { // else an operator must confirm the price
		next.Ratio = Ratio{Old: both.Denom().Int64(), New: both.Num().Int64()}
	}
	return next
}
