package rewards

import (
	"bytes"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"stockrewards/internal/money"
)

// Budget limits the dollars that clients of an app award in a period of UTC (additions, section 3).
type Budget struct {
	ID      BudgetID
	AppID   AppID
	Name    string // unique in the app
	Per     BudgetPer
	Period  BudgetPeriod
	Limit   money.USD
	State   BudgetState
	Since   RewardID // the counters have no reward before it
	Reached RewardID // rewards up to here are counted
	Cut     RewardID // rewards after it were counted when they were recorded
}

// BudgetID identifies a budget in the store. An id is never used while counters of another budget
// have it.
type BudgetID int64

// BudgetPer says whose awards a budget adds up.
type BudgetPer int

// What a budget is for.
const (
	PerApp BudgetPer = iota + 1
	PerUser
)

// String returns the name that commands and clients see.
func (p BudgetPer) String() string { return nameOf(int(p), "app", "user") }

// BudgetPeriod is how long a budget adds up.
type BudgetPeriod int

// The periods.
const (
	PeriodDay BudgetPeriod = iota + 1
	PeriodMonth
	PeriodTotal // without an end
)

// String returns the name that commands and clients see.
func (p BudgetPeriod) String() string { return nameOf(int(p), "day", "month", "total") }

// BudgetState is the state of a budget.
type BudgetState int

// The states of a budget.
const (
	BudgetCounting BudgetState = iota + 1 // the past is being counted; not in force
	BudgetActive                          // in force
	BudgetRemoved                         // its counters are being deleted
)

// String returns the name that commands print.
func (s BudgetState) String() string { return nameOf(int(s), "counting", "in force", "removed") }

func nameOf(n int, names ...string) string {
	if n < 1 || n > len(names) {
		return "unknown"
	}
	return names[n-1]
}

// ParseBudgetPer returns what a budget of that name is for; 0 for another name.
func ParseBudgetPer(text string) BudgetPer {
	for p := PerApp; p <= PerUser; p++ {
		if p.String() == text {
			return p
		}
	}
	return 0
}

// ParseBudgetPeriod returns the period of that name; 0 for another name.
func ParseBudgetPeriod(text string) BudgetPeriod {
	for p := PeriodDay; p <= PeriodTotal; p++ {
		if p.String() == text {
			return p
		}
	}
	return 0
}

// Start returns when the period that has t began; the zero time for PeriodTotal.
func (p BudgetPeriod) Start(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	switch p {
	case PeriodDay:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	case PeriodMonth:
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	default:
		return time.Time{}
	}
}

// End returns when the period that has t ends; the zero time for PeriodTotal.
func (p BudgetPeriod) End(t time.Time) time.Time {
	switch p {
	case PeriodDay:
		return p.Start(t).AddDate(0, 0, 1)
	case PeriodMonth:
		return p.Start(t).AddDate(0, 1, 0)
	default:
		return time.Time{}
	}
}

// The limits of budgets.
const (
	MaxBudgets       = 64 // of an app
	MaxBudgetName    = 64 // characters
	maxBudgetDollars = 1_000_000_000_000
)

// Check fails when an operator's budget cannot be stored.
func (b Budget) Check() error {
	if n := utf8.RuneCountInString(b.Name); n < 1 || n > MaxBudgetName {
		return fmt.Errorf("the name of a budget must have 1 to %d characters", MaxBudgetName)
	}
	if err := CheckName(b.Name); err != nil {
		return fmt.Errorf("the name of a budget %w", err)
	}
	if b.Limit < 0 || b.Limit > maxBudgetDollars*money.Dollar {
		return fmt.Errorf("the limit of a budget must be 0 to %d dollars", maxBudgetDollars)
	}
	return nil
}

// Scope says how many dollars the budget allows, for whom and for how long.
func (b Budget) Scope() string {
	if b.Period == PeriodTotal {
		return b.Limit.String() + " dollars per " + b.Per.String() + " in total"
	}
	return b.Limit.String() + " dollars per " + b.Per.String() + " and " + b.Period.String()
}

// ErrTooManyBudgets reports that an app has MaxBudgets.
var ErrTooManyBudgets = errors.New("the app has the most budgets that it can have: remove one first")

// Counts reports whether the budget adds up the same as other, so that only the limits differ.
func (b Budget) Counts(other Budget) bool { return b.Per == other.Per && b.Period == other.Period }

// Begin returns the budget when it begins to count at now. newest is the app's newest reward: a
// process whose clock is behind may still record in that reward's period. Without one there is no past to leave out,
// and now may be the wrong time of an operator's machine.
func (b Budget) Begin(newest RewardID, now time.Time) Budget {
	b.State, b.Cut = BudgetCounting, newest
	if newest.IsZero() {
		return b
	}
	if t := newest.Time(); t.Before(now) {
		now = t
	}
	if start := b.Period.Start(now); !start.IsZero() {
		b.Since = FirstID[Reward](start)
	}
	b.Reached = b.Since
	return b
}

// LaterThan is the time that the ids of new rewards must follow, so that Covers is true for each.
func (b Budget) LaterThan() time.Time {
	if since := b.Since.Time(); since.After(b.Cut.Time()) {
		return since
	}
	return b.Cut.Time()
}

// Covers reports whether the counters have the reward of that id.
func (b Budget) Covers(id RewardID) bool {
	return bytes.Compare(id[:], b.Since[:]) >= 0 &&
		(bytes.Compare(id[:], b.Reached[:]) <= 0 || bytes.Compare(id[:], b.Cut[:]) > 0)
}

// BudgetCounter identifies a sum that a budget keeps.
type BudgetCounter struct {
	Budget BudgetID
	Start  time.Time // of the period; zero for PeriodTotal
	UserID UserID    // zero unless the budget is per user
}

// Counter returns the counter of a reward that was recorded at a time for a user.
func (b Budget) Counter(at time.Time, user UserID) BudgetCounter {
	c := BudgetCounter{Budget: b.ID, Start: b.Period.Start(at)}
	if b.Per == PerUser {
		c.UserID = user
	}
	return c
}

// Object returns the budget's name in the operator log.
func (b Budget) Object() string { return "budget " + b.AppID.String() + " " + b.Name }

// Decided returns the budget for the operator log.
func (b Budget) Decided() State {
	return State{
		{"per", b.Per.String()},
		{"period", b.Period.String()},
		{"limit", b.Limit.String()},
		{"removed", YesNo(b.State == BudgetRemoved)},
	}
}

// Defined returns the budget for the operator log, with whether its past is counted.
func (b Budget) Defined() State { return append(b.Decided(), b.Counted()...) }

// Counted returns whether the past is counted, for the operator log. Otherwise the budget is not in force yet.
func (b Budget) Counted() State { return State{{"counted", YesNo(b.State != BudgetCounting)}} }

// BudgetUse is a budget with what was used of it in the present period.
type BudgetUse struct {
	Budget
	Used     money.USD // zero for PerUser, which has a sum for each user
	ResetsAt time.Time // zero for PeriodTotal
	App      string    // the app's name, in a list of all apps
}

// Alarm returns the alarm of a budget per app that is used up, or of which 80 % are used. A limit of
// zero, which refuses every award, has none.
func (u BudgetUse) Alarm() (a Alarm, raised bool) {
	const fifth = 5
	about := u.AppID.String() + "/" + u.Name
	limit := fmt.Sprintf("the budget %s of %s, %s", u.Name, u.App, u.Scope())
	switch {
	case u.Limit == 0 || u.Used < u.Limit-u.Limit/fifth:
		return Alarm{}, false
	case u.Used < u.Limit:
		return Alarm{Name: AlarmBudgetAlmost + about, Message: "80 % are used of " + limit}, true
	default:
		return Alarm{Name: AlarmBudgetUsed + about, Message: "nothing is left of " + limit + ": awards get 422"}, true
	}
}
