package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Lease makes one process the leader of fulfilment. Each state change of an order
// carries the epoch; one that is not the newest writes nothing.
type Lease struct {
	Holder string
	Epoch  int64 // zero: not the leader
	Until  time.Time
}

// Held tells whether the lease still runs.
func (l Lease) Held(now time.Time) bool { return l.Epoch > 0 && now.Before(l.Until) }

// Pool is what waits to be bought of one asset.
type Pool struct {
	Asset   Asset     // its ID, Symbol, Doubt and Hold
	Oldest  time.Time // when the reward that has waited longest was recorded
	Blocked bool      // an order of the asset is quarantined
	Apps    int       // whose rewards wait, suspended ones left out
}

// PlanRequest asks for an order of one asset. DailyLeft and HouseLeft are the
// whole limits of a day; the store takes off what the day has spent, and fills HouseSpent.
type PlanRequest struct {
	Now                 time.Time // the broker's
	Asset               Asset
	Limits              PlanLimits
	ClientOrderIDPrefix string
	MaxMembers          int // the most rewards in it; 0, or more than MaxMembers: MaxMembers
	Apps                int // whose rewards wait, as far as is known: a hint at how much to read
}

// Most is how many rewards the order may have.
func (r PlanRequest) MemberLimit() int {
	if r.MaxMembers <= 0 {
		return MaxMembers
	}
	return min(r.MaxMembers, MaxMembers)
}

// Control is what an operator, or a contradiction, says about ordering.
type Control struct {
	Paused    string // why an operator paused ordering; "" when not
	Conflicts int    // orders at the broker that our books contradict, not acknowledged
}

// Stopped tells whether nothing may be ordered.
func (c Control) Stopped() bool { return c.Paused != "" || c.Conflicts > 0 }

// BrokerConflict is an order at the broker, with our prefix, that our books do not
// know or that contradicts a final order of ours.
type BrokerConflict struct {
	ClientOrderID  string
	Symbol         string
	FilledQty      money.Shares // as the broker tells
	Detail         string
	FoundAt        time.Time
	AcknowledgedAt time.Time // zero: ordering is stopped
	Reason         string    // an operator's
}

// ConflictOf tells how an order at the broker with our prefix contradicts our
// books; "" when it does not. An order of ours that is not final is followed
// anyway, so it cannot.
func ConflictOf(o Order, known bool, b BrokerOrder) string {
	switch {
	case !known:
		return fmt.Sprintf("our books do not know this order: %s, %s of %s", b.Status, b.FilledQty, b.Symbol)
	case !o.State.Final():
		return ""
	case b.FilledQty != o.FilledQty:
		return fmt.Sprintf("we booked %s shares, the broker tells of %s", o.FilledQty, b.FilledQty)
	case PhaseOf(b.Status) == PhaseWorking:
		return fmt.Sprintf("we booked its end, the broker still works on it (%s)", b.Status)
	}
	return ""
}
