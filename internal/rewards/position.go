package rewards

import (
	"strconv"
	"time"

	"stockrewards/internal/money"
)

// Booked is what the books have of a stock: all users' shares and the house's.
type BookedPosition struct {
	AssetID  AssetID
	BrokerID string
	Symbol   string
	Quantity money.Shares
	Differs  money.Shares // the broker's position less ours, as last compared
	Accepted money.Shares // a difference that an operator has accepted
}

// The ratios that a difference of positions is taken for: 1:100 to 100:1, of which the
// smaller number is at most ten, of positions that are large enough to tell them apart.
const (
	maxRatioLarge = 100
	maxRatioSmall = 10
	leastCompared = money.Share / 1000
)

// Ratio is a ratio in lowest terms: old shares become new ones.
type Ratio struct{ Old, New int64 }

// SplitRatio is the ratio of a split by which the broker's position differs from the
// books, within the billionth that its rounding may take off. found is false when they
// are equal or differ otherwise.
func SplitRatio(ours, theirs money.Shares) (r Ratio, found bool) {
	if ours == theirs || ours < leastCompared || theirs < leastCompared {
		return r, false
	}
	for small := int64(1); small <= maxRatioSmall; small++ {
		for large := small + 1; large <= maxRatioLarge; large++ {
			if reducible(small, large) {
				continue
			}
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

// reducible tells whether the ratio is not in lowest terms.
func reducible(a, b int64) bool {
	for b != 0 {
		a, b = b, a%b
	}
	return a > 1
}

// fits tells whether ours x newRate / oldRate is theirs, up to a billionth.
func fits(ours, theirs money.Shares, oldRate, newRate int64) bool {
	n, err := money.MulDiv(int64(ours), newRate, oldRate, money.Down)
	if err != nil {
		return false
	}
	difference := n - int64(theirs)
	return difference >= -1 && difference <= 1
}

// Suspect tells whether a position of the broker's looks like a split that the books
// do not know, and that no operator has accepted.
func (b BookedPosition) Suspect(theirs money.Shares) (Ratio, bool) {
	if theirs-b.Quantity == b.Accepted {
		return Ratio{}, false
	}
	return SplitRatio(b.Quantity, theirs)
}

// PositionAction is the hold because of a position that looks like a split.
func (s Observation) PositionAction(b BookedPosition, theirs money.Shares, r Ratio) Action {
	today := DateOf(s.Now)
	return Action{
		Terms: Terms{
			Type: ActionPosition, Symbol: b.Symbol, ExDate: today,
			OldRate: strconv.FormatInt(r.Old, 10), NewRate: strconv.FormatInt(r.New, 10),
		},
		ID:      "position-" + b.Symbol + "-" + s.SeenAt.UTC().Format("20060102T150405"),
		AssetID: b.AssetID, ProcessDate: today, State: ActionHeld, HoldFrom: alreadyHeld(),
		FirstSeen: s.SeenAt, HeldAt: s.SeenAt,
		Note: "the broker has " + theirs.String() + " shares, the books " + b.Quantity.String(),
	}
}

// holdsNow tells whether an action holds its stock at a moment of the broker's time.
func (a Action) holdsNow(now time.Time) bool {
	return a.State == ActionHeld || a.State == ActionAnnounced && (ActionHold{a.HoldFrom}).InForce(now)
}

// HeldAssets are the assets that these actions hold at a moment of the broker's time.
func HeldAssets(actions []Action, now time.Time) map[AssetID]bool {
	held := make(map[AssetID]bool)
	for _, a := range actions {
		if a.holdsNow(now) {
			held[a.AssetID] = true
		}
	}
	return held
}
