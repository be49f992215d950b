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
	LowestMaxNotional = 1_000_000 * money.Dollar // lowest setting of the limit: any reward must fit into an order

	// maxOrderShares keeps the quantity of an order far from overflow.
	maxOrderShares = 1_000_000_000 * money.Share
)

// Waiting is a reward that needs an order: recorded, or the rest of a split one.
type Waiting struct {
	AppID    AppID
	RewardID RewardID
	Pending  money.USD // not bought yet
}

// PlanLimits are the brakes on one order.
type PlanLimits struct {
	MaxNotional money.USD      // largest notional of an order
	DailyLeft   money.USD      // may still be ordered today
	HouseLeft   money.USD      // the house may still add to small pools today
	HousePerApp money.USD      // the house may add for one app in a day
	Price       money.Price    // the asset's last price; zero if unknown
	TopUp       bool           // top up a small pool at once, regardless of Timer
	Timer       SmallPoolTimer // when a small pool is topped up
	Shortage    money.USD      // that buys the shares which the house owes; whole cents
	HouseAlone  bool           // the house may order them without any reward
	UseHouse    bool           // the house's own shares pay for a part of the order
	Offer       money.USD      // that they may pay for

	HouseSpent map[AppID]money.USD // added by the house today, by app
}

// Hold is why a reward, or a whole pool, is not ordered now.
type Hold int

// The reasons to wait.
const (
	NoHold        Hold = iota
	HoldEmpty          // no reward waits
	HoldSmallPool      // under the broker's minimum: waits for more rewards
	HoldHouse          // the house's daily limit forbids a top-up
	HoldDaily          // more than is left of the daily notional limit
	HoldQuantity       // more shares at the last price than an order may have
	HoldDoubt          // the asset's price is in doubt
	HoldAppHouse       // the house's daily limit per app forbids a top-up
	HoldAction         // a corporate action holds the asset
)

// Plan is an order before it is stored: its members in order of arrival, and its dollars.
type Plan struct {
	Members   []Member
	Notional  money.USD
	House     money.USD // as in Order
	Shortage  money.USD // of House, for the shares that it owes
	TopUps    []TopUp   // by app; for an order below the broker's minimum
	Skipped   []Skipped // by app and reason
	NeedsMore bool      // an app's turn came after all that was read of its queue
}

// Skipped counts an app's rewards that cannot be ordered now.
type Skipped struct {
	AppID AppID
	Hold  Hold
	Count int
	Least money.USD // the smallest of them
}

// PlanOrder pools the waiting rewards of an asset into one order of at most maxMembers.
// The apps take turns, one reward each, oldest first; the app that has waited longest
// starts. A reward that cannot be ordered today is skipped, so that it does not block the
// others. A reward that only this order has no room for ends its app's turns, so that it
// comes first in the next order. The notional is the sum of the amounts, up to the cent; the
// house adds the difference. When it offers its own shares, the order buys less by what these
// pay for, but for at least the broker's minimum. PlanOrder fails with money.ErrOverflow.
func PlanOrder(queues []Queue, maxMembers int, l PlanLimits) (Plan, Hold, error) {
	d := newDraft(queues, min(maxMembers, MaxMembers), l)
	d.takeTurns()
	p := Plan{Skipped: d.skipped, NeedsMore: d.needsMore}
	if len(d.members) == 0 {
		if l.HouseAlone && l.Shortage > 0 {
			return d.houseOrder(p)
		}
		return p, d.hold(), nil
	}
	return d.order(p)
}

// NewOrder returns the order of a plan, planned and never sent.
func NewOrder(id OrderID, clientOrderID string, a Asset, p Plan) Order {
	return Order{
		ID: id, ClientOrderID: clientOrderID, State: OrderPlanned,
		AssetID: a.ID, AssetBrokerID: a.BrokerID, Symbol: a.Symbol,
		Notional: p.Notional, House: p.House, MembersHash: HashMembers(p.Members),
	}
}

// wholeCents rounds a limit down to the cent.
func wholeCents(limit money.USD) money.USD { return limit - limit%money.Cent }

// quantity returns the dollars that buy maxOrderShares at the last price.
func (l PlanLimits) quantity() money.USD {
	if l.Price > 0 {
		if byQuantity, err := money.Value(maxOrderShares, l.Price, money.Down); err == nil {
			return wholeCents(byQuantity)
		}
	}
	return math.MaxInt64
}

// SmallPoolTimer decides how long a pool below the broker's minimum waits for more rewards.
type SmallPoolTimer struct {
	Now       time.Time     // our time; zero: it never expires
	Ahead     time.Duration // of the broker's clock before ours
	Wait      time.Duration
	NextClose time.Time // broker's time
}

// expired reports whether a pool has waited long enough; oldest is when its oldest reward
// was recorded.
func (p SmallPoolTimer) expired(oldest time.Time) bool {
	return !p.Now.IsZero() && !p.Now.Add(p.Ahead).Before(SmallPoolDeadline(oldest.Add(p.Ahead), p.Wait, p.NextClose))
}

// SmallPoolDeadline returns when a pool below the broker's minimum is topped up: when its
// oldest reward has waited for wait, but a minute before the market's close at the latest.
func SmallPoolDeadline(oldest time.Time, wait time.Duration, nextClose time.Time) time.Time {
	deadline := oldest.Add(wait)
	if last := nextClose.Add(-closingMargin); !nextClose.IsZero() && last.Before(deadline) {
		return last
	}
	return deadline
}

// closingMargin leaves time to send an order before the close.
const closingMargin = time.Minute
