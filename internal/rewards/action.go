package rewards

import (
	"sync"
	"time"
	_ "time/tzdata" // New York's time also where the host has no time zones
)

// Date is a day of a market's calendar, "2026-12-01". Dates compare as strings.
type Date string

// DateOf is New York's date at a moment.
func DateOf(t time.Time) Date { return Date(t.In(newYork()).Format(time.DateOnly)) }

// Valid tells whether it is a day of the calendar.
func (d Date) Valid() bool {
	_, err := time.Parse(time.DateOnly, string(d))
	return err == nil
}

// Plus is the date so many days later. An invalid date stays as it is.
func (d Date) Plus(days int) Date {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return d
	}
	return Date(t.AddDate(0, 0, days).Format(time.DateOnly))
}

// evening is the end of extended trading on the day, in New York.
func (d Date) evening() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return time.Date(t.Year(), t.Month(), t.Day(), holdHour, 0, 0, 0, newYork()).UTC()
}

// newYork is the zone of trading days. It is part of the program, and read once.
var newYork = sync.OnceValue(func() *time.Location { //nolint:gochecknoglobals // it never changes
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err) // the zone is part of the program
	}
	return zone
})

// ActionType is the type of a corporate action in the broker's words.
type ActionType string

// The types that the rules treat apart. Others are held as well: a type that is not
// known may change a stock's units.
const (
	ActionCashDividend ActionType = "cash_dividend"
	ActionRights       ActionType = "rights_distribution"
	ActionPartialCall  ActionType = "partial_call"

	// ActionPosition is no announcement: the broker's position and the books differ by
	// what looks like the ratio of a split.
	ActionPosition ActionType = "position"
)

// Holds tells whether the stock is neither ordered nor valued because of it. An action
// that leaves a share what it is only shows.
func (t ActionType) Holds() bool {
	return t != ActionCashDividend && t != ActionRights && t != ActionPartialCall
}

// ActionState is how far a corporate action has come.
type ActionState int

// The states of an action.
const (
	ActionAnnounced ActionState = iota + 1 // it has no effect yet
	ActionHeld                             // its stock is neither ordered nor valued
	ActionResumed                          // an operator ended the hold
	ActionWithdrawn                        // the broker took it back before the hold began
	ActionPassed                           // it is over, and nothing was held because of it
)

// actionStates are the words for the states, in their order.
func actionStates() []string {
	return []string{"announced", "held", "resumed", "withdrawn", "passed"}
}

// String is the state as operators read it.
func (s ActionState) String() string {
	if names := actionStates(); s >= ActionAnnounced && int(s) <= len(names) {
		return names[s-1]
	}
	return "unknown"
}

// ParseActionState finds a state by its word.
func ParseActionState(text string) (ActionState, bool) {
	for i, name := range actionStates() {
		if name == text {
			return ActionState(i + 1), true
		}
	}
	return 0, false
}

// Terms are what a corporate action does, as announced. Rates are decimals as they
// were written; "" where the type has none.
type Terms struct {
	Type      ActionType
	Symbol    string // of the stock whose units change
	NewSymbol string // of the stock that comes of it
	OldRate   string
	NewRate   string
	Rate      string // of one share: dollars, or shares of a stock dividend
	ExDate    Date   // the effective or process date where there is no ex-date
}

// Announcement is a corporate action as a broker announces it.
type Announcement struct {
	Terms

	ID          string
	ProcessDate Date
	Body        string // as it came
}

// Action is a corporate action of a stock of the catalog, as the books know it.
type Action struct {
	Terms

	ID          string // the broker's, or ours for a difference of positions
	AssetID     AssetID
	ProcessDate Date
	Revision    int // of the announcement, from 1; 0: there is none
	State       ActionState
	HoldFrom    time.Time // the broker's time; zero: it never holds
	FirstSeen   time.Time
	HeldAt      time.Time // zero: never
	ResumedAt   time.Time // zero: never
	Reason      string    // an operator's
	Note        string    // what happened to it, for people
}

// ActionChange is an action before and after something changed it. Without an id
// before it is new; with a body the announcement has a new revision.
type ActionChange struct {
	Before, After Action
	Body          string
}

// ActionHold is from when an asset is neither ordered nor valued because of a corporate
// action, in the broker's time.
type ActionHold struct{ From time.Time }

// Exists tells whether there is one, now or later.
func (h ActionHold) Exists() bool { return !h.From.IsZero() }

// InForce tells whether it has begun at a moment of the broker's time.
func (h ActionHold) InForce(at time.Time) bool { return h.Exists() && !at.Before(h.From) }

// Object is the action as the operator log names it.
func (a Action) Object() string { return "action " + a.ID }

// Decided is what an operator decides about an action.
func (a Action) Decided() State { return State{{"terms", a.text()}, {"state", a.State.String()}} }
