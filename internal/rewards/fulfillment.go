package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Lease makes one process the leader of fulfillment. Every state change of an order carries
// the lease's epoch; a change with an older epoch writes nothing.
type Lease struct {
	Holder string
	Epoch  int64 // zero: not the leader
	Until  time.Time
}

// Held reports whether the lease has not expired.
func (l Lease) Held(now time.Time) bool { return l.Epoch > 0 && now.Before(l.Until) }

// Pool is the rewards of one asset that wait for an order.
type Pool struct {
	Asset   Asset     // ID, Symbol, Doubt and Hold only
	Oldest  time.Time // when its oldest reward was recorded
	Blocked bool      // an order of the asset is quarantined
	Apps    int       // with waiting rewards, suspended apps excluded
}

// PlanRequest asks for an order of one asset. In Limits, DailyLeft and HouseLeft are the
// limits of a whole day: the store subtracts what the day has spent and sets HouseSpent.
type PlanRequest struct {
	Now                 time.Time // broker's time
	Asset               Asset
	Limits              PlanLimits
	ClientOrderIDPrefix string
	MaxMembers          int // most rewards in the order; 0 or above MaxMembers means MaxMembers
	Apps                int // apps with waiting rewards; an estimate of how much to read
}

// MemberLimit returns the most rewards that the order may have.
func (r PlanRequest) MemberLimit() int {
	if r.MaxMembers <= 0 {
		return MaxMembers
	}
	return min(r.MaxMembers, MaxMembers)
}

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
