package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// The limits of one order.
const (
	MaxMembers       = 1000                     // rewards in an order
	MinNotional      = money.Dollar             // the broker's minimum for a buy
	LeastMaxNotional = 1_000_000 * money.Dollar // any single reward must fit into an order

	// maxOrderShares keeps the quantity of an order far from overflow: a billion shares.
	maxOrderShares = 1_000_000_000 * money.Share
)

// Waiting is a reward that needs an order: recorded, or the rest of a split one.
type Waiting struct {
	AppID    AppID
	RewardID RewardID
	Pending  money.USD // what has not been bought yet
}

// PlanLimits are the brakes on one order.
type PlanLimits struct {
	MaxNotional money.USD   // the largest notional of an order
	DailyLeft   money.USD   // what may still be ordered today
	HouseLeft   money.USD   // what the house may still add today
	Price       money.Price // the asset's last price; zero when not known
	TopUp       bool        // a pool under the minimum has waited long enough
}

// Hold is why a pool does not become an order now.
type Hold int

// The reasons to wait.
const (
	NoHold        Hold = iota
	HoldEmpty          // no reward waits
	HoldSmallPool      // under the broker's minimum: waits for more
	HoldHouse          // the house's daily limit forbids to top it up
	HoldDaily          // the daily limit of notional is reached
	HoldQuantity       // more shares than can be counted at the last price
	HoldDoubt          // the asset's price is in doubt
)

// Plan is an order to be: its members in order of arrival and its dollars.
type Plan struct {
	Members  []Member
	Notional money.USD
	House    money.USD
}

// PlanOrder pools waiting rewards, given in order of arrival, into one order. The
// notional is their sum up to the cent; the house adds the difference. It fails
// with money.ErrOverflow.
func PlanOrder(waiting []Waiting, l PlanLimits) (Plan, Hold, error) {
	limit, hold := l.largest()
	var p Plan
	var sum money.USD
	for _, w := range waiting {
		if len(p.Members) == MaxMembers || w.Pending > limit-sum {
			break
		}
		sum += w.Pending
		p.Members = append(p.Members, Member{AppID: w.AppID, RewardID: w.RewardID, Amount: w.Pending})
	}
	if len(p.Members) == 0 {
		if len(waiting) == 0 {
			hold = HoldEmpty
		}
		return Plan{}, hold, nil
	}
	var err error
	if p.Notional, err = sum.UpToCent(); err != nil {
		return Plan{}, 0, err
	}
	if p.Notional < MinNotional {
		if !l.TopUp {
			return Plan{}, HoldSmallPool, nil
		}
		if p.Notional = MinNotional; p.Notional > l.DailyLeft {
			return Plan{}, HoldDaily, nil
		}
		if MinNotional-sum > l.HouseLeft {
			return Plan{}, HoldHouse, nil
		}
	}
	p.House = p.Notional - sum
	return p, NoHold, nil
}

// largest is the most that an order may hold, in whole cents, and the hold to
// name when that is too little for the first reward.
func (l PlanLimits) largest() (money.USD, Hold) {
	limit, hold := l.MaxNotional, HoldDaily
	if l.DailyLeft < limit {
		limit = l.DailyLeft
	}
	if l.Price > 0 {
		byQuantity, err := money.Value(maxOrderShares, l.Price, money.Down)
		if err == nil && byQuantity < limit {
			limit, hold = byQuantity, HoldQuantity
		}
	}
	return limit - limit%money.Cent, hold
}

// SmallPoolDeadline is when a pool under the broker's minimum is topped up: when
// its oldest reward has waited long enough, never past the market's close.
func SmallPoolDeadline(oldest time.Time, wait time.Duration, nextClose time.Time) time.Time {
	deadline := oldest.Add(wait)
	if last := nextClose.Add(-closingMargin); !nextClose.IsZero() && last.Before(deadline) {
		return last
	}
	return deadline
}

// closingMargin leaves the time to send an order before the close.
const closingMargin = time.Minute
