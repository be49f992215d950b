package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Brakes are the order limits of the fulfillment leader. It stores them, so that an
// operator's command can explain why a reward waits.
type Brakes struct {
	MaxNotional     money.USD // of an order
	DailyLimit      money.USD // all orders of a UTC day
	HouseDailyLimit money.USD // added by the house to small pools in a UTC day
	HouseAppLimit   money.USD // added by the house for one app in a UTC day
	MaxMembers      int       // rewards in an order; 0: the constant MaxMembers
	SmallPoolWait   time.Duration
	UseHouse        bool // the house's own shares pay for a part of the orders
}

// brakesFormat is the stored form of brakes; its first number is the version. UseHouse is not in
// it: it makes no reward wait.
const brakesFormat = "1 %d %d %d %d %d %d"

// String returns the brakes in their stored form.
func (b Brakes) String() string {
	return fmt.Sprintf(brakesFormat, int64(b.MaxNotional), int64(b.DailyLimit), int64(b.HouseDailyLimit),
		int64(b.HouseAppLimit), b.MaxMembers, int64(b.SmallPoolWait))
}

// ParseBrakes reads brakes in their stored form.
func ParseBrakes(text string) (b Brakes, err error) {
	_, err = fmt.Sscanf(text, brakesFormat, (*int64)(&b.MaxNotional), (*int64)(&b.DailyLimit),
		(*int64)(&b.HouseDailyLimit), (*int64)(&b.HouseAppLimit), &b.MaxMembers, (*int64)(&b.SmallPoolWait))
	return b, err
}

// Limits returns the limits of one order before anything was ordered today.
func (b Brakes) Limits(price money.Price, timer SmallPoolTimer) PlanLimits {
	return PlanLimits{
		MaxNotional: b.MaxNotional, DailyLeft: b.DailyLimit, HouseLeft: b.HouseDailyLimit,
		HousePerApp: b.HouseAppLimit, Price: price, Timer: timer, UseHouse: b.UseHouse,
	}
}

// Wait is an app's rewards that wait for a stock, and why.
type Wait struct {
	Asset   Asset // ID, Symbol and Doubt only
	Blocked bool  // an order of the asset is quarantined
	FarFill bool  // a fill of the asset is far from its last price, and waits for a newer one
	Held    bool  // a corporate action holds the asset
	App     App
	Count   int // of rewards, at most MaxCounted
	Oldest  time.Time
	Why     string // for operators
}

// Explain returns why the app's rewards wait. p and hold are the order that would be planned
// now, left is what remains of the limits b.
func (w Wait) Explain(p Plan, hold Hold, b Brakes, left PlanLimits) string {
	switch {
	case w.App.Suspended:
		return "the app is suspended"
	case w.Asset.Doubt.Exists():
		return "the stock's price is in doubt: see `stockrewards asset confirm` and `asset reject`"
	case w.Blocked:
		return "an order of the stock is quarantined: see `stockrewards order list --state quarantined`"
	case w.FarFill:
		return "an order of the stock was filled far from its last price and waits for a newer one, for up to a minute"
	case w.Held:
		return "a corporate action holds the stock: see `stockrewards action list`"
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
		return fmt.Sprintf("the stock's pool is under $1, and the house may add only $%s more today",
			max(left.HouseLeft, 0))
	case HoldDaily:
		return fmt.Sprintf("$%s is left of the daily limit", max(left.DailyLeft, 0))
	default:
		return "goes into one of the next orders while ordering is on and the market is open"
	}
}

// explain returns why rewards were skipped.
func (p Skipped) explain(b Brakes, left PlanLimits) string {
	what := fmt.Sprintf("%d can't be ordered, the smallest of $%s: ", p.Count, p.Least)
	switch p.Hold {
	case HoldQuantity:
		return what + "at the last price it buys more shares than one order may have"
	case HoldAppHouse:
		return what + fmt.Sprintf("the house has added $%s of at most $%s for the app today",
			left.HouseSpent[p.AppID], b.HouseAppLimit)
	default: // HoldDaily
		if p.Least > b.DailyLimit {
			return what + fmt.Sprintf("it is more than the whole daily limit of $%s", b.DailyLimit)
		}
		return what + fmt.Sprintf("$%s is left of the daily limit of $%s; it waits for the next UTC day",
			max(left.DailyLeft, 0), b.DailyLimit)
	}
}
