package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Control is what stops ordering.
type Control struct {
	Paused    string // an operator's reason for the pause; "" when ordering is not paused
	Conflicts int    // broker conflicts that are not acknowledged
}

// Stopped reports whether nothing may be ordered.
func (c Control) Stopped() bool { return c.Paused != "" || c.Conflicts > 0 }

// BrokerConflict is an order at the broker with our prefix that is missing in the store, or
// that contradicts a final order in it.
type BrokerConflict struct {
	ClientOrderID  string
	Symbol         string
	FilledQty      money.Shares // as the broker reports it
	Detail         string
	FoundAt        time.Time
	AcknowledgedAt time.Time // zero: ordering is stopped
	Reason         string    // an operator's
}

// AcknowledgedOrder is an order that the broker has and the store does not have. Its shares are the house's.
type AcknowledgedOrder struct {
	BrokerConflict

	AssetID AssetID // of the stock that had its symbol when it was acknowledged; 0 if that is not known
}

// ConflictOf returns how the broker's order b, which has our prefix, contradicts the stored
// order o; "" when it does not. known reports whether o exists. An order that is not final
// is polled, so it cannot contradict.
func ConflictOf(o Order, known bool, b BrokerOrder) string {
	switch {
	case !known:
		return fmt.Sprintf("the store does not have this order: %s, %s of %s", b.Status, b.FilledQty, b.Symbol)
	case !o.State.Final():
		return ""
	case b.FilledQty != o.Corrected:
		return fmt.Sprintf("%s shares are booked, the broker reports %s", o.Corrected, b.FilledQty)
	case PhaseOf(b.Status) == PhaseWorking:
		return fmt.Sprintf("its end is booked, the broker still works on it (%s)", b.Status)
	}
	return ""
}

// Corrects reports whether the broker's order b corrects the fill of the settled order o: the
// exchange busted a trade or changed its quantity.
func (o Order) Corrects(b BrokerOrder) bool {
	phase := PhaseOf(b.Status)
	return o.State == OrderSettled && o.FilledQty > 0 && b.FilledQty != o.Corrected && b.FilledQty >= 0 &&
		b.Problem == "" && b.Side == "buy" && o.sameAsset(b) && (o.BrokerID == "" || b.ID == o.BrokerID) &&
		(phase == PhaseFilled || phase == PhaseEnded)
}

// Correction is a fill that the broker corrected after it was booked. Users keep what they were
// shown: the difference is the house's.
type Correction struct {
	OrderID       OrderID
	ClientOrderID string
	Symbol        string
	FilledQty     money.Shares // in all, as corrected
	Change        money.Shares // of the house's shares, in the units of now
	At            time.Time
}

// InUnitsOfNow returns a quantity of a stock in its units of now. switches are those since the
// quantity was counted, oldest first. It fails with money.ErrOverflow.
func InUnitsOfNow(q money.Shares, switches []Switch) (money.Shares, error) {
	undone := undoneIn(switches)
	var err error
	for _, w := range switches {
		if w.Undoes != 0 || undone[w.Number] {
			continue
		}
		if q, err = w.Keep.Of(q); err != nil {
			return 0, err
		}
	}
	return q, nil
}

// ChangeInUnitsOfNow returns what the correction of a fill from one quantity to another changes, in the units of now.
// switches are those since the order was planned, oldest first. It fails with money.ErrOverflow.
func ChangeInUnitsOfNow(from, to money.Shares, switches []Switch) (money.Shares, error) {
	before, err := InUnitsOfNow(from, switches)
	if err != nil {
		return 0, err
	}
	after, err := InUnitsOfNow(to, switches)
	return after - before, err
}

// CorrectsFill reports whether the activity busts or corrects a fill.
func (n Activity) CorrectsFill() bool {
	return n.Type == "FILL" && (n.SubType == "trade_bust" || n.SubType == "trade_correct") && n.Problem == ""
}

// Follows reports whether the activity came after another one of the same order.
func (n Activity) Follows(other Activity) bool {
	return n.CreatedAt.After(other.CreatedAt) || n.CreatedAt.Equal(other.CreatedAt) && n.ID > other.ID
}
