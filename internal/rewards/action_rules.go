package rewards

import (
	"slices"
	"time"
)

const (
	// holdHour is the hour in New York at which a hold begins, on the session before the
	// ex-date: the end of extended trading. Later trades are in the new units.
	holdHour = 20
	// unknownSessions is the number of days before the ex-date at which a hold begins when
	// the sessions are unknown: the market is never closed for longer.
	unknownSessions = 4
)

// HoldFrom returns when the hold for an action with the ex-date ex begins: at 20:00 New York
// of the last session before it. sessions are the market's days, sorted, from the broker's
// calendar. Without a session before ex the hold begins four days before. An invalid ex-date
// holds at once.
func HoldFrom(ex Date, sessions []Date) time.Time {
	if !ex.Valid() {
		return alwaysHeld()
	}
	i, _ := slices.BinarySearch(sessions, ex)
	if i == 0 {
		return ex.Plus(-unknownSessions).evening()
	}
	return sessions[i-1].evening()
}

// alwaysHeld returns a start of a hold that every clock has passed; the zero time means no
// hold.
func alwaysHeld() time.Time { return time.UnixMicro(1).UTC() }

// LastEvening returns the last 20:00 New York not after now. Announcements read before it
// may miss an action that changes units on the next session.
func LastEvening(now time.Time) time.Time {
	day := DateOf(now)
	if evening := day.evening(); !evening.After(now) {
		return evening
	}
	return day.Plus(-1).evening()
}

// over reports whether the ex-date has passed in New York.
func (t Terms) over(now time.Time) bool { return t.ExDate.Valid() && DateOf(now) > t.ExDate }

// Observation is when announcements or positions were read, with the sessions known then.
// Its methods decide what the reading changes.
type Observation struct {
	Now      time.Time // broker's time
	SeenAt   time.Time // our time
	Sessions []Date    // known sessions, sorted
}

// NewAction returns the action for the first announcement of it. exposed reports whether the
// store has or had shares of the stock; if not, an ex-date in the past cannot have made the
// store wrong, and nothing is held.
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

// Tick begins a hold whose time has come, and ends an action that is over and never holds.
func (s Observation) Tick(a Action) Action {
	if a.State != ActionAnnounced {
		return a
	}
	switch {
	case (ActionHold{a.HoldFrom}).InForce(s.Now):
		a.State, a.HeldAt = ActionHeld, s.SeenAt
	case a.HoldFrom.IsZero() && a.over(s.Now):
		a.State = ActionPassed
	}
	return a
}

// Revise returns the action after it was announced again; newBody reports whether the
// announcement has changed. Before the hold begins the action takes the new terms. Once held
// it stays held until an operator resumes it. A resumed action with new terms is held again.
func (s Observation) Revise(a Action, n Announcement, newBody bool) Action {
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
		a.Note = "revised after the hold began: it was " + a.String()
	case ActionWithdrawn:
		a.State, a.HoldFrom, a.Note = ActionAnnounced, s.holdFrom(n.Terms), "announced again after it was withdrawn"
	default:
		a.State, a.HoldFrom, a.Note = ActionAnnounced, s.holdFrom(n.Terms), "revised: it was "+a.String()
	}
	a.Terms = n.Terms
	return s.Tick(a)
}

// Withdraw returns the action after the broker stopped listing it.
func (s Observation) Withdraw(a Action) Action {
	if a.State == ActionAnnounced {
		a.State, a.HoldFrom, a.Note = ActionWithdrawn, time.Time{}, "withdrawn by the broker before the hold began"
	}
	if a.State == ActionHeld {
		a.Note = "withdrawn by the broker after the hold began; it is held until you resume it"
	}
	return a
}

// String returns the terms for people: "forward_split 1:4 of AAPL, ex-date 2026-12-01".
func (t Terms) String() string {
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

// Alarm returns the alarm message for the action; "" for no alarm.
func (a Action) Alarm(now time.Time) string {
	text := a.String()
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

// Resume ends the hold by an operator's decision. It fails with CodeConflict when there is
// no hold, now or later.
func (a Action) Resume(reason string, now time.Time) (Action, error) {
	if a.State != ActionHeld && (a.State != ActionAnnounced || a.HoldFrom.IsZero()) {
		message := "cannot resume the action: it is " + a.State.String() + " and holds nothing"
		return a, &Error{Code: CodeConflict, Message: message}
	}
	a.State, a.Reason, a.ResumedAt = ActionResumed, reason, now
	return a, nil
}
