package rewards

import (
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// Standstill is a time in which the leader ordered nothing of a stock, or of any stock.
type Standstill struct {
	AssetID  AssetID // 0: all stocks
	Since    time.Time
	Until    time.Time // zero: it goes on
	Cause    Cause
	Expected time.Time // broker's time when it will end; zero: unknown
}

// Cause is why nothing is ordered.
type Cause int

// The causes.
const (
	CausePaused       Cause = iota + 1 // an operator paused ordering
	CauseConflict                      // orders at the broker contradict the store, or it shows another account
	CauseBroker                        // the broker cannot be reached
	CauseClosed                        // the market is closed
	CauseAnnouncement                  // announcements of corporate actions could not be read
	CauseDoubt                         // the stock's price is in doubt
	CauseQuarantine                    // an order of the stock awaits a decision: an operator's if no end is expected
	CauseAction                        // a corporate action holds the stock
	CauseSmallPool                     // the pool is below the broker's minimum
	CauseHouse                         // the house's daily limit
	CauseDaily                         // the daily limit of all orders
	CauseQuantity                      // more shares than an order may have
)

// CauseOf returns the cause of a hold, or false when nothing waits.
func CauseOf(h Hold) (Cause, bool) {
	switch h {
	case HoldSmallPool:
		return CauseSmallPool, true
	case HoldHouse, HoldAppHouse:
		return CauseHouse, true
	case HoldDaily:
		return CauseDaily, true
	case HoldQuantity:
		return CauseQuantity, true
	case HoldDoubt:
		return CauseDoubt, true
	case HoldAction:
		return CauseAction, true
	case NoHold, HoldEmpty:
	}
	return 0, false
}

// Same reports whether both say the same about a stock, apart from when they began.
func (s Standstill) Same(other Standstill) bool {
	return s.AssetID == other.AssetID && s.Cause == other.Cause && s.Expected.Equal(other.Expected)
}

// Explain says in one sentence why a stock is not ordered, for clients and operators. It has no
// details of other apps. pool is the dollars that wait for the stock; 0: unknown.
func (s Standstill) Explain(symbol string, pool money.USD) string {
	switch s.Cause {
	case CausePaused:
		return "the operator has paused ordering"
	case CauseConflict:
		return "ordering is stopped until the operator has checked the orders or the account at the broker"
	case CauseBroker:
		return "the broker has been unreachable since " + shortMoment(s.Since)
	case CauseClosed:
		return "the market is closed" + until(s.Expected, s.Since)
	case CauseAnnouncement:
		return "the broker's corporate actions have been unavailable since " + shortMoment(s.Since)
	case CauseDoubt:
		return "the price of " + symbol + " is in doubt until the operator has checked it"
	case CauseQuarantine:
		if !s.Expected.IsZero() {
			return "an order of " + symbol + " was filled far from its last price, which is being checked"
		}
		return "the operator must decide about an order of " + symbol
	case CauseAction:
		return "a corporate action changes " + symbol + ", or ends it, and must be applied first"
	case CauseSmallPool:
		return s.explainPool(pool)
	case CauseHouse:
		return "the pool is below the $1.00 that the broker wants, and the house adds no more today"
	case CauseDaily:
		return "the limit of all orders today leaves no room for it; it waits for the next UTC day"
	case CauseQuantity:
		return "it buys more shares of " + symbol + " than one order may have"
	}
	return "it waits for an order"
}

func (s Standstill) explainPool(pool money.USD) string {
	text := "the pool is below the $1.00 that the broker wants"
	if pool > 0 {
		text = "the pool has " + dollars(pool-pool%money.Cent) + " of the $1.00 that the broker wants"
	}
	if !s.Expected.IsZero() {
		text += ", topped up at " + s.Expected.In(newYork()).Format("15:04") + " New York"
	}
	return text
}

// dollars writes an amount or a price with at least two decimals.
func dollars(amount fmt.Stringer) string {
	const cents = 2
	whole, fraction, _ := strings.Cut(amount.String(), ".")
	return "$" + whole + "." + fraction + strings.Repeat("0", max(0, cents-len(fraction)))
}

// until writes when something ends, in New York's time: a weekday within six days, else a date.
func until(end, now time.Time) string {
	if end.IsZero() {
		return ""
	}
	const near = 6 * 24 * time.Hour
	layout := "Monday 15:04"
	if d := end.Sub(now); d > near || d < -near {
		layout = "2006-01-02 15:04"
	}
	return " until " + end.In(newYork()).Format(layout) + " New York"
}

// shortMoment writes a moment to the minute, in UTC.
func shortMoment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
