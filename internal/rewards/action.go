package rewards

import (
	"sync"
	"time"
	_ "time/tzdata" // New York's time also where the host has no time zones
)

// Date is a calendar day in New York, "2026-12-01". Dates compare as strings.
type Date string

// DateOf returns New York's date at the time t.
func DateOf(t time.Time) Date { return Date(t.In(newYork()).Format(time.DateOnly)) }

// Valid reports whether d is a calendar day.
func (d Date) Valid() bool {
	_, err := time.Parse(time.DateOnly, string(d))
	return err == nil
}

// Plus returns the date the given number of days later. An invalid date stays unchanged.
func (d Date) Plus(days int) Date {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return d
	}
	return Date(t.AddDate(0, 0, days).Format(time.DateOnly))
}

// evening returns the end of extended trading on the day; the zero time for an invalid date.
func (d Date) evening() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return time.Date(t.Year(), t.Month(), t.Day(), holdHour, 0, 0, 0, newYork()).UTC()
}

// newYork loads the time zone of trading days, once, from the embedded time zone database.
var newYork = sync.OnceValue(func() *time.Location { //nolint:gochecknoglobals // it never changes
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err) // it is embedded
	}
	return zone
})

// ActionType is the type of a corporate action in the broker's words.
type ActionType string

// The types with rules of their own. Every other type holds its stock, because an unknown
// type may change what one share is.
const (
	ActionCashDividend ActionType = "cash_dividend"
	ActionRights       ActionType = "rights_distribution"
	ActionPartialCall  ActionType = "partial_call"

	// ActionPosition is not announced: the broker's position and the store differ by what
	// looks like the ratio of a split.
	ActionPosition ActionType = "position"
)

// Holds reports whether an action of this type stops the ordering and valuing of its stock.
// An action that does not change what one share is does not.
func (t ActionType) Holds() bool {
	return t != ActionCashDividend && t != ActionRights && t != ActionPartialCall
}

// ActionState is the state of a corporate action.
type ActionState int

// The states of an action.
const (
	ActionAnnounced ActionState = iota + 1 // no effect yet
	ActionHeld                             // its stock is neither ordered nor valued
	ActionResumed                          // an operator ended the hold
	ActionWithdrawn                        // the broker withdrew it before the hold began
	ActionPassed                           // it is over and never held its stock
)

// actionStates returns the names of the states, in their order.
func actionStates() []string {
	return []string{"announced", "held", "resumed", "withdrawn", "passed"}
}

// String returns the state's name.
func (s ActionState) String() string {
	if names := actionStates(); s >= ActionAnnounced && int(s) <= len(names) {
		return names[s-1]
	}
	return "unknown"
}

// ParseActionState returns the state of that name, or false.
func ParseActionState(text string) (ActionState, bool) {
	for i, name := range actionStates() {
		if name == text {
			return ActionState(i + 1), true
		}
	}
	return 0, false
}

// Terms are the terms of a corporate action, as announced. Rates are decimals as written;
// "" where the type has no such rate.
type Terms struct {
	Type      ActionType
	Symbol    string // of the stock that the action changes
	NewSymbol string // of the stock that results
	OldRate   string
	NewRate   string
	Rate      string // per share: dollars, or shares of a stock dividend
	ExDate    Date   // the effective or process date where there is no ex-date
	PayDate   Date   // when the broker pays; "" if unknown
}

// Announcement is a corporate action as a broker announces it.
type Announcement struct {
	Terms

	ID          string
	ProcessDate Date
	Body        string // as received
}

// Action is a corporate action of a stock of the catalog, as stored.
type Action struct {
	Terms

	ID          string // the broker's; this service's for ActionPosition
	AssetID     AssetID
	ProcessDate Date
	Revision    int // of the announcement, from 1; 0: not announced
	State       ActionState
	HoldFrom    time.Time // broker's time; zero: it never holds
	FirstSeen   time.Time
	HeldAt      time.Time // zero: never
	ResumedAt   time.Time // zero: never
	Reason      string    // an operator's
	Note        string    // what changed last, for operators
}

// ActionChange is an action before and after a change. It is new if Before has no id; it has
// a new revision if Body is not empty.
type ActionChange struct {
	Before, After Action
	Body          string
}

// ActionHold is the broker's time from which an asset is neither ordered nor valued because
// of a corporate action. The zero value is no hold.
type ActionHold struct{ From time.Time }

// Exists reports whether there is a hold, now or later.
func (h ActionHold) Exists() bool { return !h.From.IsZero() }

// InForce reports whether the hold has begun at the broker's time at.
func (h ActionHold) InForce(at time.Time) bool { return h.Exists() && !at.Before(h.From) }

// Object returns the action's name in the operator log.
func (a Action) Object() string { return "action " + a.ID }

// Decided returns the action for the operator log.
func (a Action) Decided() State { return State{{"terms", a.String()}, {"state", a.State.String()}} }
