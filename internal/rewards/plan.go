package rewards

import (
	"math"
	"time"

	"stockrewards/internal/money"
)

// The limits of one order.
const (
	MaxMembers        = 1000                     // rewards in an order
	MinNotional       = money.Dollar             // the broker's minimum for a buy
	LowestMaxNotional = 1_000_000 * money.Dollar // any single reward must fit into an order

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
	MaxNotional money.USD      // the largest notional of an order
	DailyLeft   money.USD      // what may still be ordered today
	HouseLeft   money.USD      // what the house may still add to small pools today
	HousePerApp money.USD      // what the house may add for one app on a day
	Price       money.Price    // the asset's last price; zero when not known
	TopUp       bool           // a pool under the minimum has waited long enough, whatever Timer says
	Timer       SmallPoolTimer // how long a pool under the minimum waits

	HouseSpent map[AppID]money.USD // what the house has added for each app today
}

// Hold is why a reward, or a whole pool, does not become an order now.
type Hold int

// The reasons to wait.
const (
	NoHold        Hold = iota
	HoldEmpty          // no reward waits
	HoldSmallPool      // under the broker's minimum: waits for more
	HoldHouse          // the house's daily limit forbids to top it up
	HoldDaily          // more than what is left of the daily limit of notional
	HoldQuantity       // more shares than can be counted at the last price
	HoldDoubt          // the asset's price is in doubt
	HoldAppHouse       // the house's daily limit for the app forbids to top it up
	HoldAction         // a corporate action holds the asset
)

// Plan is an order to be: its members in order of arrival and its dollars.
type Plan struct {
	Members   []Member
	Notional  money.USD
	House     money.USD
	TopUps    []TopUp   // the house's part of an order under the minimum, by app
	Skipped   []Skipped // what could not be a member, by app and reason
	NeedsMore bool      // an app had a turn after all that was read of its queue
}

// Skipped counts the rewards of an app that an order had to pass over.
type Skipped struct {
	AppID AppID
	Hold  Hold
	Count int
	Least money.USD // the smallest of them
}

// PlanOrder pools the rewards that wait for an asset into one order of at most so many
// members. The apps take turns: one reward of each, its oldest first, starting with the
// app that has waited longest. What can't fit today is passed over, so that it holds up
// nothing else. What does not fit beside the others ends its app's turns in this order, so
// that it comes first in the next. The notional is the sum up to the cent; the house adds
// the difference. It fails with money.ErrOverflow.
func PlanOrder(queues []Queue, most int, l PlanLimits) (Plan, Hold, error) {
	d := newDraft(queues, min(most, MaxMembers), l)
	d.takeTurns()
	p := Plan{Skipped: d.skipped, NeedsMore: d.needsMore}
	if len(d.members) == 0 {
		return p, d.hold(), nil
	}
	return d.order(p)
}

// wholeCents is a limit rounded down to the cent.
func wholeCents(limit money.USD) money.USD { return limit - limit%money.Cent }

// quantity is the most dollars that buy a number of shares that can be counted.
func (l PlanLimits) quantity() money.USD {
	if l.Price > 0 {
		if byQuantity, err := money.Value(maxOrderShares, l.Price, money.Down); err == nil {
			return wholeCents(byQuantity)
		}
	}
	return math.MaxInt64
}

// SmallPoolTimer is how long a pool under the broker's minimum waits for more.
type SmallPoolTimer struct {
	Now       time.Time     // ours; zero: for ever
	Ahead     time.Duration // of the broker's clock
	Wait      time.Duration
	NextClose time.Time // the broker's
}

// Over reports whether a pool has waited long enough, given when its oldest member was recorded.
func (p SmallPoolTimer) Expired(oldest time.Time) bool {
	return !p.Now.IsZero() && !p.Now.Add(p.Ahead).Before(SmallPoolDeadline(oldest.Add(p.Ahead), p.Wait, p.NextClose))
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
