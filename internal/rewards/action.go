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

// previousWeekday returns the last day before that is no Saturday or Sunday.
func (d Date) previousWeekday() Date {
	for before := d.Plus(-1); ; before = before.Plus(-1) {
		t, err := time.Parse(time.DateOnly, string(before))
		if err != nil || t.Weekday() != time.Saturday && t.Weekday() != time.Sunday {
			return before
		}
	}
}

// Open returns the beginning of regular trading on the day; the zero time for an invalid date.
func (d Date) Open() time.Time {
	const beforeEvening = 10*time.Hour + 30*time.Minute // 09:30
	evening := d.evening()
	if evening.IsZero() {
		return evening
	}
	return evening.Add(-beforeEvening)
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
	ActionForwardSplit  ActionType = "forward_split"
	ActionReverseSplit  ActionType = "reverse_split"
	ActionStockDividend ActionType = "stock_dividend"
	ActionCashDividend  ActionType = "cash_dividend"
	ActionNameChange    ActionType = "name_change"
	ActionSpinOff       ActionType = "spin_off"
	ActionStockMerger   ActionType = "stock_merger"
	ActionCashMerger    ActionType = "cash_merger"
	ActionMixedMerger   ActionType = "stock_and_cash_merger"
	ActionWorthless     ActionType = "worthless_removal"
	ActionRights        ActionType = "rights_distribution"
	ActionPartialCall   ActionType = "partial_call"

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
	ActionAnnounced ActionState = iota + 1 // no effect yet, except that its stock may wait
	ActionHeld                             // an operator must decide, or an order must end first
	ActionIgnored                          // an operator decided that it has no effect
	ActionWithdrawn                        // the broker withdrew it in time
	ActionPassed                           // over when it became known: nobody had shares, or it was applied already
	ActionApplied                          // its stock has changed; a sweep brings holdings up to date
	ActionSwept                            // every holding is up to date
	ActionUndone                           // an operator took it back
	ActionUndoing                          // an operator took it back; a sweep brings holdings up to date
)

// actionStates returns the names of the states, in their order.
func actionStates() []string {
	return []string{
		"announced", "held", "ignored", "withdrawn", "passed", "applied", "swept", "undone", "undoing",
	}
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
	Boundary    time.Time // broker's time: trades from then on are in the new units; zero: unknown
	HoldFrom    time.Time // broker's time; zero: it never holds
	FirstSeen   time.Time
	HeldAt      time.Time // zero: never
	DecidedAt   time.Time // when an operator ignored it; zero: never
	ApprovedAt  time.Time // when an operator decided to apply it; zero: never
	Reason      string    // an operator's
	Note        string    // what changed last, or why it is held
	WaitsFor    string    // client order id of an order that must end first, or what else must come; "": nothing
	AppliedAt   time.Time // zero: never
}

// Shown returns the state as clients see it: "announced", "held", "applied", "withdrawn" or
// "undone" (additions, section 7).
func (s ActionState) Shown() string {
	switch s {
	case ActionApplied, ActionSwept:
		return "applied"
	case ActionUndone, ActionUndoing:
		return "undone"
	case ActionIgnored, ActionWithdrawn, ActionPassed:
		return "withdrawn"
	default:
		return s.String()
	}
}

// ActionChange is an action before and after a change. It is new if Before has no id; it has
// a new revision if Body is not empty.
type ActionChange struct {
	Before, After Action
	Body          string
}

// ActionHold is the broker's time from which an asset is not ordered because of a corporate
// action. The zero value is no hold.
type ActionHold struct {
	From  time.Time
	Units Units // that are pending: of trades from Units.From on
}

// Units are what one share of a stock is since a moment of the broker's time.
type Units struct {
	From  time.Time // zero: since ever, or unknown
	Ratio Ratio     // to the units before, of all changes at From; the zero value without one
}

// Exists reports whether there is a hold, now or later.
func (h ActionHold) Exists() bool { return !h.From.IsZero() }

// Dated reports whether the hold has a beginning. Otherwise the stock was held at once, as when its position is in
// doubt.
func (h ActionHold) Dated() bool { return h.Exists() && h.From.After(alwaysHeld()) }

// InForce reports whether the hold has begun at the broker's time at.
func (h ActionHold) InForce(at time.Time) bool { return h.Exists() && !at.Before(h.From) }

// Object returns the action's name in the operator log.
func (a Action) Object() string { return "action " + a.ID }

// Decided returns the action for the operator log.
func (a Action) Decided() State {
	return State{
		{"terms", a.String()}, {"state", a.State.String()}, {"approved", YesNo(!a.ApprovedAt.IsZero())},
	}
}
