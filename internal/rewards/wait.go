package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Brakes are the limits that the leading process orders by. It keeps them in the books, so
// that an operator's command can say why something waits.
type Brakes struct {
	MaxNotional     money.USD
	DailyLimit      money.USD // of all orders of a UTC day
	HouseDailyLimit money.USD // of what the house adds to small pools
	HouseAppLimit   money.USD // the same, for one app
	MaxMembers      int
	SmallPoolWait   time.Duration
}

// brakesFormat is how brakes are kept; its number is the version.
const brakesFormat = "1 %d %d %d %d %d %d"

// String is the brakes as they are kept.
func (b Brakes) String() string {
	return fmt.Sprintf(brakesFormat, int64(b.MaxNotional), int64(b.DailyLimit), int64(b.HouseDailyLimit),
		int64(b.HouseAppLimit), b.MaxMembers, int64(b.SmallPoolWait))
}

// ParseBrakes reads brakes as they are kept.
func ParseBrakes(text string) (b Brakes, err error) {
	_, err = fmt.Sscanf(text, brakesFormat, (*int64)(&b.MaxNotional), (*int64)(&b.DailyLimit),
		(*int64)(&b.HouseDailyLimit), (*int64)(&b.HouseAppLimit), &b.MaxMembers, (*int64)(&b.SmallPoolWait))
	return b, err
}

// Limits are the brakes on one order, before anything was ordered today.
func (b Brakes) Limits(price money.Price, p SmallPoolTimer) PlanLimits {
	return PlanLimits{
		MaxNotional: b.MaxNotional, DailyLeft: b.DailyLimit, HouseLeft: b.HouseDailyLimit,
		HousePerApp: b.HouseAppLimit, Price: price, Timer: p,
	}
}

// Wait is what waits of an app for a stock, and why.
type Wait struct {
	Asset   Asset // its ID, Symbol and Doubt
	Blocked bool  // an order of the asset is quarantined
	App     App
	Count   int // of rewards, at most MaxCounted
	Oldest  time.Time
	Why     string // a sentence
}

// Explain says why rewards of an app wait, given the order that would be planned now and
// what is left of the limits.
func (w Wait) Explain(p Plan, hold Hold, b Brakes, left PlanLimits) string {
	switch {
	case w.App.Suspended:
		return "the app is suspended"
	case w.Asset.Doubt.Exists():
		return "the stock's price is in doubt: see `stockrewards asset confirm` and `asset reject`"
	case w.Blocked:
		return "an order of the stock is quarantined: see `stockrewards order list --state quarantined`"
	}
	for _, a := range p.Skipped {
		if a.AppID == w.App.ID {
			return a.explain(b, left)
		}
	}
	switch hold {
	case HoldSmallPool:
		return "the stock's pool is under the broker's minimum of $1 and waits for more"
	case HoldHouse:
		return fmt.Sprintf("the stock's pool is under $1, and the house may add $%s more today", max(left.HouseLeft, 0))
	case HoldDaily:
		return fmt.Sprintf("$%s is left of the daily limit", max(left.DailyLeft, 0))
	case NoHold, HoldEmpty, HoldQuantity, HoldDoubt, HoldAppHouse, HoldAction:
	}
	return "goes into one of the next orders while ordering is on and the market is open"
}

// explain says why rewards were passed over.
func (p Skipped) explain(b Brakes, left PlanLimits) string {
	what := fmt.Sprintf("%d can't be ordered, the smallest of $%s: ", p.Count, p.Least)
	switch p.Hold {
	case HoldQuantity:
		return what + "it buys more shares than can be counted at the last price"
	case HoldAppHouse:
		return what + fmt.Sprintf("the house has added $%s of at most $%s for the app today",
			left.HouseSpent[p.AppID], b.HouseAppLimit)
	case NoHold, HoldEmpty, HoldSmallPool, HoldHouse, HoldDaily, HoldDoubt, HoldAction:
	}
	if p.Least > b.DailyLimit {
		return what + fmt.Sprintf("it is more than the whole daily limit of $%s", b.DailyLimit)
	}
	return what + fmt.Sprintf("$%s is left of the daily limit of $%s; it waits for the next UTC day",
		max(left.DailyLeft, 0), b.DailyLimit)
}
