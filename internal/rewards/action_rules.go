package rewards

import (
	"slices"
	"time"
)

const (
	// holdHour is when the hold begins on the session before the ex-date, in New York:
	// the end of extended trading. A later trade is of the new units.
	holdHour = 20
	// unknownSessions is how many days before the ex-date a hold begins when the
	// sessions are not known: the market is never closed for longer.
	unknownSessions = 4
)

// HoldFrom is when a stock is held because of an action: 20:00 New York of the last
// session before its ex-date. sessions are the market's days in order, from the
// broker's calendar; without one before the ex-date it is the cautious 20:00 four days
// before. An unreadable ex-date holds from the first moment on.
func HoldFrom(ex Date, sessions []Date) time.Time {
	if !ex.Valid() {
		return alreadyHeld()
	}
	i, _ := slices.BinarySearch(sessions, ex)
	if i == 0 {
		return ex.Plus(-unknownSessions).evening()
	}
	return sessions[i-1].evening()
}

// alreadyHeld is a beginning that every clock has passed.
func alreadyHeld() time.Time { return time.UnixMicro(1).UTC() }

// LastEvening is the last 20:00 New York until a moment: announcements that were read
// before it may not show what changes units on the next session.
func LastEvening(now time.Time) time.Time {
	day := DateOf(now)
	if evening := day.evening(); !evening.After(now) {
		return evening
	}
	return day.Plus(-1).evening()
}

// over tells whether the ex-date has passed in New York.
func (t Terms) over(now time.Time) bool { return t.ExDate.Valid() && DateOf(now) > t.ExDate }

// Observation is a complete reading of the announcements at a moment of the broker's time.
type Observation struct {
	Now      time.Time // the broker's
	SeenAt   time.Time // ours
	Sessions []Date    // as far as known, in order
}

// NewAction is what an announcement makes of a stock for the first time. When the
// ex-date is over and the books never had a share of the stock (exposed), there is
// nothing that it could have falsified.
func (s Observation) NewAction(n Announcement, asset AssetID, exposed bool) Action {
	a := Action{
		Terms: n.Terms, ID: n.ID, AssetID: asset, ProcessDate: n.ProcessDate, Revision: 1,
		State: ActionAnnounced, FirstSeen: s.SeenAt,
	}
	if a.over(s.Now) && (!exposed || !a.Type.Holds()) {
		a.State = ActionPassed
		return a
	}
	a.HoldFrom = s.holdFrom(n.Terms)
	return s.Tick(a)
}

func (s Observation) holdFrom(t Terms) time.Time {
	if !t.Type.Holds() {
		return time.Time{}
	}
	return HoldFrom(t.ExDate, s.Sessions)
}

// Tick begins the hold when its time has come, and ends the life of an action that
// never holds.
func (s Observation) Tick(a Action) Action {
	switch {
	case a.State != ActionAnnounced:
	case (ActionHold{a.HoldFrom}).InForce(s.Now):
		a.State, a.HeldAt = ActionHeld, s.SeenAt
	case a.HoldFrom.IsZero() && a.over(s.Now):
		a.State = ActionPassed
	}
	return a
}

// Follow is what an announcement makes of an action that is known. Before the hold
// begins it follows the announcement; after that it stays held until an operator
// resumes it. Other terms than an operator resumed are held again.
func (s Observation) Follow(a Action, n Announcement, newBody bool) Action {
	if newBody {
		a.Revision++
	}
	a.ProcessDate = n.ProcessDate
	if a.Terms == n.Terms && a.State != ActionWithdrawn {
		if a.State == ActionAnnounced && len(s.Sessions) > 0 {
			a.HoldFrom = s.holdFrom(n.Terms)
		}
		return s.Tick(a)
	}
	switch a.State {
	case ActionHeld:
		a.Note = "revised after the hold began: it was " + a.text()
	case ActionWithdrawn:
		a.State, a.HoldFrom, a.Note = ActionAnnounced, s.holdFrom(n.Terms), "announced again after it was withdrawn"
	case ActionAnnounced, ActionResumed, ActionPassed:
		a.State, a.HoldFrom, a.Note = ActionAnnounced, s.holdFrom(n.Terms), "revised: it was "+a.text()
	}
	a.Terms = n.Terms
	return s.Tick(a)
}

// Missed is what it makes of an action that the broker does not list any more.
func (s Observation) Missed(a Action) Action {
	switch a.State {
	case ActionAnnounced:
		a.State, a.HoldFrom, a.Note = ActionWithdrawn, time.Time{}, "withdrawn by the broker before the hold began"
	case ActionHeld:
		a.Note = "withdrawn by the broker after the hold began; it is held until you resume it"
	case ActionResumed, ActionWithdrawn, ActionPassed:
	}
	return a
}

// text is what the terms say, for people: "forward_split 1:4 of AAPL, ex-date 2026-12-01".
func (t Terms) text() string {
	text := string(t.Type)
	switch {
	case t.OldRate != "" && t.NewRate != "":
		text += " " + t.OldRate + ":" + t.NewRate
	case t.Rate != "":
		text += " of " + t.Rate
	}
	text += " of " + t.Symbol
	if t.NewSymbol != "" {
		text += " to " + t.NewSymbol
	}
	return text + ", ex-date " + string(t.ExDate)
}

// String is what the terms say, for people.
func (t Terms) String() string { return t.text() }

// Alarm is what an operator should know about the action; "" when nothing.
func (a Action) Alarm(now time.Time) string {
	text := a.text()
	switch {
	case a.State == ActionHeld:
		text += ": the stock is neither ordered nor valued; see `stockrewards action show " + a.ID + "`"
	case a.State == ActionAnnounced && !a.HoldFrom.IsZero():
		text += ": the stock is neither ordered nor valued from " + a.HoldFrom.Format(time.RFC3339)
	case a.State == ActionWithdrawn && a.Type.Holds() && !a.over(now):
	default:
		return ""
	}
	if a.Note != "" {
		text += "; " + a.Note
	}
	return text
}

// Resume ends the hold at an operator's word. It fails with CodeConflict when the
// action holds nothing.
func (a Action) Resume(reason string, now time.Time) (Action, error) {
	if a.State != ActionHeld && (a.State != ActionAnnounced || a.HoldFrom.IsZero()) {
		return a, &Error{Code: CodeConflict, Message: "the action is " + a.State.String() + " and holds nothing"}
	}
	a.State, a.Reason, a.ResumedAt = ActionResumed, reason, now
	return a, nil
}
