package rewards

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// BookedPosition is the stored quantity of a stock: all users' shares and the house's.
type BookedPosition struct {
	AssetID  AssetID
	BrokerID string
	Symbol   string
	Quantity money.Shares
	Differs  money.Shares // broker's position minus Quantity, as last compared
	Accepted money.Shares // difference that an operator has accepted
}

// The ratios that SplitRatio finds: from 1:100 to 100:1, the smaller number at most ten.
// Positions below leastCompared are too small to distinguish the ratios.
const (
	maxRatioLarge = 100
	maxRatioSmall = 10
	leastCompared = money.Share / 1000
)

// Ratio is the ratio of a split in lowest terms: Old shares become New shares.
type Ratio struct{ Old, New int64 }

// SplitRatio returns the ratio of the split by which the broker's position theirs differs
// from ours, within a billionth for the broker's rounding. found is false when they are
// equal or differ otherwise.
func SplitRatio(ours, theirs money.Shares) (r Ratio, found bool) {
	if ours == theirs || ours < leastCompared || theirs < leastCompared {
		return r, false
	}
	// Smaller numbers are tried first, so the first that fits is in lowest terms.
	for small := int64(1); small <= maxRatioSmall; small++ {
		for large := small + 1; large <= maxRatioLarge; large++ {
			if fits(ours, theirs, small, large) {
				return Ratio{small, large}, true
			}
			if fits(ours, theirs, large, small) {
				return Ratio{large, small}, true
			}
		}
	}
	return r, false
}

// fits reports whether ours x newRate / oldRate is theirs, within a billionth.
func fits(ours, theirs money.Shares, oldRate, newRate int64) bool {
	n, err := money.MulDiv(int64(ours), newRate, oldRate, money.Down)
	if err != nil {
		return false
	}
	difference := n - int64(theirs)
	return difference >= -1 && difference <= 1
}

// Agrees reports whether the broker's position is the booked one, but for what an operator has accepted.
func (b BookedPosition) Agrees(theirs money.Shares) bool { return theirs-b.Quantity == b.Accepted }

// Suspect reports whether the broker's position looks like a split that is missing in the
// store and that no operator has accepted.
func (b BookedPosition) Suspect(theirs money.Shares) (Ratio, bool) {
	if b.Agrees(theirs) {
		return Ratio{}, false
	}
	return SplitRatio(b.Quantity, theirs)
}

// PositionAction returns the held action for a broker's position that looks like a split.
func (s Observation) PositionAction(b BookedPosition, theirs money.Shares, r Ratio) Action {
	return s.positionAction(b.AssetID, b.Symbol, r, s.SeenAt.UTC().Format("20060102T150405"),
		"the broker has "+theirs.String()+" shares, the store "+b.Quantity.String())
}

// UndoneAction returns the held action for a stock whose shares w, the undo of a, has changed back: that of the action,
// or the one that it gave. Until the broker's position agrees with them, it is not known in which shares the broker
// counts and trades. When the action left these units as they are, or ended them, only how many there are is in doubt:
// the stock is ordered and valued.
func (s Observation) UndoneAction(a Action, w Switch, stock Asset) (doubt Action, exists bool) {
	r, err := a.UnitRatio()
	before, after := w.Booked, w.Position
	if stock.ID == w.Target {
		before, after = w.TargetBooked, w.TargetPosition
	}
	if err != nil || before == after {
		return doubt, false
	}
	doubt = s.positionAction(stock.ID, stock.Symbol, r, undoMark+strconv.FormatInt(w.Undoes, 10),
		"the action "+a.ID+" was undone: the broker's position does not agree with the database yet")
	if stock.ID == w.Target || r.New == 0 || r.New == r.Old {
		doubt.HoldFrom, doubt.OldRate, doubt.NewRate = time.Time{}, "", ""
	}
	return doubt, true
}

const undoMark = "undo-" // in the id

// Foreseen returns the announced action without effect if an operator has applied what it announces, because the
// position showed it first: an action of the list with the same ratio, within ten days. One that also renames the stock
// is held.
func (s Observation) Foreseen(a Action, list iter.Seq[Action]) Action {
	r, err := a.UnitRatio()
	if err != nil || !a.changesUnits() || a.Type.Gives() || a.State != ActionAnnounced {
		return a
	}
	for b := range list {
		decided := b.State == ActionApplied || b.State == ActionSwept || b.State == ActionAnnounced
		if b.Type != ActionPosition || b.AssetID != a.AssetID || !decided {
			continue
		}
		was, err := b.UnitRatio()
		if err == nil && was == r && a.ExDate.Plus(-twinDays) <= b.ExDate && b.ExDate <= a.ExDate.Plus(twinDays) {
			note := "an operator has applied it: " + b.ID
			if a.Renames() {
				return s.Hold(a, note+"; ignore this one, then sync the catalog, which brings the new symbol")
			}
			a.State, a.HoldFrom, a.Note = ActionPassed, time.Time{}, note
			return a
		}
	}
	return a
}

// DoubtsPosition reports whether the action holds its stock because the broker's position is in doubt.
func (a Action) DoubtsPosition() bool { return a.Type == ActionPosition && a.State == ActionHeld }

// DoubtsUndo reports whether the action does that since an undo. Only the position ends it, or an operator.
func (a Action) DoubtsUndo() bool {
	return a.DoubtsPosition() && strings.HasPrefix(a.ID, "position-"+a.Symbol+"-"+undoMark)
}

func (s Observation) positionAction(asset AssetID, symbol string, r Ratio, since, note string) Action {
	today := DateOf(s.Now)
	return Action{
		Terms: Terms{
			Type: ActionPosition, Symbol: symbol, ExDate: today,
			OldRate: strconv.FormatInt(r.Old, 10), NewRate: strconv.FormatInt(r.New, 10),
		},
		ID:      "position-" + symbol + "-" + since,
		AssetID: asset, ProcessDate: today, State: ActionHeld, HoldFrom: alwaysHeld(), Boundary: alwaysHeld(),
		FirstSeen: s.SeenAt, HeldAt: s.SeenAt,
		Note: note,
	}
}

// holdsNow reports whether the action holds its stock at the broker's time now.
func (a Action) holdsNow(now time.Time) bool {
	return a.State == ActionHeld || a.State == ActionAnnounced && (ActionHold{From: a.HoldFrom}).InForce(now)
}

// HeldAssets returns the assets that the actions hold at the broker's time now.
func HeldAssets(actions []Action, now time.Time) map[AssetID]bool {
	held := make(map[AssetID]bool)
	for _, a := range actions {
		if a.holdsNow(now) {
			held[a.AssetID] = true
		}
	}
	return held
}
