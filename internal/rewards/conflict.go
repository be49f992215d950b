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

// ConflictOf returns how the broker's order b, which has our prefix, contradicts the stored
// order o; "" when it does not. known reports whether o exists. An order that is not final
// is polled, so it cannot contradict.
func ConflictOf(o Order, known bool, b BrokerOrder) string {
	switch {
	case !known:
		return fmt.Sprintf("the store does not have this order: %s, %s of %s", b.Status, b.FilledQty, b.Symbol)
	case !o.State.Final():
		return ""
	case b.FilledQty != o.FilledQty:
		return fmt.Sprintf("%s shares are booked, the broker reports %s", o.FilledQty, b.FilledQty)
	case PhaseOf(b.Status) == PhaseWorking:
		return fmt.Sprintf("its end is booked, the broker still works on it (%s)", b.Status)
	}
	return ""
}
