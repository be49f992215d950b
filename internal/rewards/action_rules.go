package rewards

import (
	"fmt"
	"slices"
	"strings"
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
// calendar. While that session is not known the hold begins four days before. An invalid ex-date
// holds at once.
func HoldFrom(ex Date, sessions []Date) time.Time {
	if !ex.Valid() {
		return alwaysHeld()
	}
	last, known := lastSession(ex, sessions)
	if !known {
		last = ex.Plus(-unknownSessions)
	}
	return last.evening()
}

// lastSession returns the last session before the ex-date, and whether it is that: a calendar may begin too late, or
// end weeks too early.
func lastSession(ex Date, sessions []Date) (last Date, known bool) {
	i, _ := slices.BinarySearch(sessions, ex)
	if i == 0 {
		return "", false
	}
	last = sessions[i-1]
	return last, i < len(sessions) || last >= ex.Plus(-unknownSessions)
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
// store wrong, and the action has no effect.
func (s Observation) NewAction(n Announcement, asset AssetID, exposed bool) Action {
	a := Action{
		Terms: n.Terms, ID: n.ID, AssetID: asset, ProcessDate: n.ProcessDate, Revision: 1,
		State: ActionAnnounced, FirstSeen: s.SeenAt,
	}
	if a.over(s.Now) && (!exposed || !a.Type.Holds() && !a.Type.Pays()) {
		a.State = ActionPassed
		return a
	}
	s.begin(&a)
	return s.Tick(a)
}

// begin sets when the terms begin to count. While the session before the ex-date is not known the hold is early, but
// the boundary is not: trades would count as in the new units. On a holiday nothing is traded, so the weekday will do.
func (s Observation) begin(a *Action) {
	a.Boundary, a.HoldFrom = HoldFrom(a.ExDate, s.Sessions), time.Time{}
	if a.Type.Holds() {
		a.HoldFrom = a.Boundary
	}
	if _, known := lastSession(a.ExDate, s.Sessions); a.ExDate.Valid() && !known {
		a.Boundary = a.ExDate.previousWeekday().evening()
	}
}

// Due reports whether the new units have begun at the broker's time now.
func (a Action) Due(now time.Time) bool { return !a.Boundary.IsZero() && !now.Before(a.Boundary) }

// Tick holds an action that is due and has no rule, and ends one that is over and changes
// nothing.
func (s Observation) Tick(a Action) Action {
	switch _, err := a.UnitRatio(); {
	case a.State != ActionAnnounced || !a.Due(s.Now):
	case err != nil && a.Type.Holds():
		return s.Hold(a, err.Error())
	case err != nil && a.over(s.Now):
		a.State = ActionPassed
	}
	return a
}

// Hold returns the action after it became a person's to decide.
func (s Observation) Hold(a Action, note string) Action {
	a.State, a.HeldAt, a.Note, a.WaitsFor, a.ApprovedAt = ActionHeld, s.SeenAt, note, "", time.Time{}
	if a.Type.Holds() && a.HoldFrom.IsZero() {
		a.HoldFrom = a.Boundary
	}
	return a
}

// Await returns the action after it was found to wait for something, such as the end of an order.
// It resumes by itself.
func (s Observation) Await(a Action, what, note string) Action {
	if a.State != ActionHeld || a.WaitsFor != what {
		a.State, a.HeldAt, a.WaitsFor, a.Note = ActionHeld, s.SeenAt, what, note
	}
	return a
}

// Resume returns the action after what it waited for has come.
func (s Observation) Resume(a Action) Action {
	if a.State == ActionHeld && a.WaitsFor != "" {
		a.State, a.WaitsFor, a.Note = ActionAnnounced, "", ""
	}
	return a
}

// Applied returns the action after it was applied.
func (s Observation) Applied(a Action) Action {
	a.State, a.AppliedAt, a.WaitsFor = ActionApplied, s.SeenAt, ""
	a.Note = ""
	if !a.ApprovedAt.IsZero() { // it may have waited since, with another note
		a.Note = noteApproved + a.Reason
	}
	return a
}

// Revoked returns an applied action after the broker corrected or canceled one of its bookings.
func (a Action) Revoked(n Activity) Action {
	if a.State == ActionSwept && (a.Note == "" || strings.HasPrefix(a.Note, noteApproved)) {
		a.Note = noteRebooked + n.ID
	}
	return a
}

// noteRebooked begins the note of an applied action of which the broker has changed a booking.
const noteRebooked = "the broker has changed its booking by the activity "

// Explained returns a doubtful position's action after an announcement explained it.
func (s Observation) Explained(a, by Action) Action {
	a.State, a.HoldFrom, a.Note = ActionWithdrawn, time.Time{}, "explained by the action "+by.ID
	return a
}

// Agreed returns a doubtful position's action after the broker's position agreed with the store again, as it does when
// a bust, which changed the position first, is booked.
func (s Observation) Agreed(a Action) Action {
	a.State, a.HoldFrom, a.Note = ActionWithdrawn, time.Time{}, "the broker's position agrees with the store again"
	return a
}

// Revise returns the action after it was announced again; newBody reports whether the
// announcement has changed. Before it is due the action takes the new terms. From then on a
// person decides; what was applied stays applied. An action that was withdrawn counts from now on:
// it has a new revision even if the announcement is the same.
func (s Observation) Revise(a Action, n Announcement, newBody bool) Action {
	if newBody || a.State == ActionWithdrawn {
		a.Revision++
	}
	a.ProcessDate = n.ProcessDate
	same := a.Terms == n.Terms
	switch {
	case same && a.State != ActionWithdrawn:
		if a.State == ActionAnnounced && len(s.Sessions) > 0 && !a.Due(s.Now) || a.Boundary.IsZero() {
			s.begin(&a)
		}
	case a.State == ActionWithdrawn:
		a.Terms, a.State, a.Note = n.Terms, ActionAnnounced, "announced again after it was withdrawn"
		a.ApprovedAt = time.Time{}
		s.begin(&a)
	case a.State == ActionAnnounced && !a.Due(s.Now):
		a.Note = "revised: it was " + a.String()
		a.Terms, a.ApprovedAt = n.Terms, time.Time{} // what was approved had other terms
		s.begin(&a)
	case a.State == ActionAnnounced, a.State == ActionIgnored, a.State == ActionHeld:
		if newBody || a.State == ActionAnnounced {
			was := a.String()
			a.Terms = n.Terms
			a = s.Hold(a, "revised after it was due: it was "+was)
		}
	case newBody: // applied or undone
		a.Note = noteRevised + ", to " + n.String()
	}
	if s.moved(a) {
		s.begin(&a)
	}
	return s.Tick(a)
}

// moved reports whether a cash dividend has the boundary of another ex-date: who holds the stock at that of the new one
// is entitled, also if it was due already.
func (s Observation) moved(a Action) bool {
	open := a.State == ActionAnnounced || a.State == ActionHeld
	_, known := lastSession(a.ExDate, s.Sessions)
	return a.Type == ActionCashDividend && open && known && !a.Boundary.Equal(HoldFrom(a.ExDate, s.Sessions))
}

// noteRevised begins the note of an action that the broker revised too late.
const noteRevised = "revised after it was applied"

// Withdraw returns the action after the broker stopped listing it.
func (s Observation) Withdraw(a Action) Action {
	switch {
	case a.State == ActionAnnounced && !a.Due(s.Now):
		a.State, a.HoldFrom, a.Note = ActionWithdrawn, time.Time{}, "withdrawn by the broker in time"
		a.ApprovedAt = time.Time{}
	case a.State == ActionAnnounced && !a.ApprovedAt.IsZero(): // an operator knows better
	case a.State == ActionAnnounced || a.State == ActionHeld && a.WaitsFor != "":
		a = s.Hold(a, "withdrawn by the broker after it was due")
	case a.State == ActionHeld && a.Note != "":
		a.Note = "withdrawn by the broker after it was due"
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

// Ignore returns the action after an operator decided that it has no effect. It fails with
// CodeConflict when it has had one, or is over.
func (a Action) Ignore(reason string, now time.Time) (Action, error) {
	if a.State != ActionHeld && a.State != ActionAnnounced {
		return a, a.refuse("ignore")
	}
	a.State, a.Reason, a.DecidedAt, a.HoldFrom, a.WaitsFor = ActionIgnored, reason, now, time.Time{}, ""
	a.ApprovedAt = time.Time{}
	a.Note = "ignored: " + reason
	return a, nil
}

// Approve returns the action after an operator decided to apply it. It fails with CodeConflict
// when it was applied, or cannot be.
func (a Action) Approve(reason string, now time.Time) (Action, error) {
	switch a.State {
	case ActionHeld, ActionAnnounced, ActionIgnored, ActionWithdrawn, ActionUndone, ActionPassed:
	default:
		return a, a.refuse("apply")
	}
	if _, err := a.UnitRatio(); err != nil {
		return a, &Error{Code: CodeConflict, Message: "cannot apply the action: " + err.Error()}
	}
	a.State, a.Reason, a.ApprovedAt, a.WaitsFor = ActionAnnounced, reason, now, ""
	a.Note = noteApproved + reason
	if a.Type.Holds() && a.HoldFrom.IsZero() {
		a.HoldFrom = a.Boundary
	}
	return a, nil
}

// Approved reports whether an operator's decision to apply the action is in force, or was followed. A store of an
// earlier version may have the time of one that is not.
func (a Action) Approved() bool {
	switch a.State {
	case ActionIgnored, ActionWithdrawn, ActionPassed:
		return false
	case ActionHeld:
		return !a.ApprovedAt.IsZero() && a.WaitsFor != ""
	default:
		return !a.ApprovedAt.IsZero()
	}
}

// NotApproved fails with CodeConflict while an operator's decision to apply the action waits to be carried out.
func (a Action) NotApproved() error {
	if !a.Approved() || a.State != ActionAnnounced && a.State != ActionHeld {
		return nil
	}
	return a.decidedOtherwise("ignore", "apply", a.ApprovedAt)
}

// NotIgnored fails with CodeConflict while an operator's decision to ignore the action is in force.
func (a Action) NotIgnored() error {
	if a.State != ActionIgnored {
		return nil
	}
	return a.decidedOtherwise("apply", "ignore", a.DecidedAt)
}

func (a Action) decidedOtherwise(verb, decided string, at time.Time) error {
	return &Error{Code: CodeConflict, Message: fmt.Sprintf(
		"cannot %s the action: an operator decided at %s to %s it (%s); look at `stockrewards action show %s`, and "+
			"add --revoke if that decision is wrong",
		verb, at.UTC().Format(time.RFC3339), decided, a.Reason, a.ID)}
}

// noteApproved begins the note of an action that an operator applies.
const noteApproved = "applied by an operator: "

// Undo returns the action after an operator took it back. It fails with CodeConflict when it is
// not applied, and for a cash dividend, which changed no holding.
func (a Action) Undo(reason string) (Action, error) {
	switch {
	case a.State != ActionSwept:
		return a, a.refuse("undo")
	case a.Type == ActionCashDividend:
		return a, &Error{Code: CodeConflict, Message: "cannot undo a cash dividend: it changed no holding, and its " +
			"cash is shared"}
	}
	a.State, a.Reason, a.ApprovedAt = ActionUndoing, reason, time.Time{}
	a.Note = "undone: " + reason
	return a, nil
}

func (a Action) refuse(verb string) error {
	return &Error{Code: CodeConflict, Message: "cannot " + verb + " the action: it is " + a.State.String()}
}

// HoldOf returns from when an asset is not ordered because of its actions, and the units that are
// pending, from the first of their boundaries on. They have no ratio when no action holds the asset, when several do,
// or when an operator must decide. A hold that has begun is in force even if the clock is set back: it starts at the
// first microsecond.
func HoldOf(actions []Action) (h ActionHold) {
	ratios := 0
	for _, a := range actions {
		if a.State != ActionAnnounced && a.State != ActionHeld || a.HoldFrom.IsZero() {
			continue
		}
		from := a.HoldFrom
		if a.State == ActionHeld {
			from = alwaysHeld()
		}
		if !h.Exists() || from.Before(h.From) {
			h.From = from
		}
		units := Units{From: a.Boundary, Ratio: a.priceRatio()}
		if a.State == ActionHeld && a.WaitsFor == "" {
			units.Ratio = Ratio{}
		}
		if ratios == 0 || h.Units.From.IsZero() || !a.Boundary.IsZero() && a.Boundary.Before(h.Units.From) {
			h.Units = units
		}
		ratios++
	}
	if ratios != 1 {
		h.Units.Ratio = Ratio{}
	}
	return h
}

// priceRatio is the ratio by which the action changes the price of a share; the zero value
// without one, as for a spin-off.
func (t Terms) priceRatio() Ratio {
	r, err := t.UnitRatio()
	if err != nil || r.New == 0 || t.Type == ActionSpinOff {
		return Ratio{}
	}
	return r
}
