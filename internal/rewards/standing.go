package rewards

import (
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// Standing is what the broker and the store have of the stocks of a due action.
type Standing struct {
	Now       time.Time // broker's
	Source    Stake
	Target    Stake  // of the stock that the action gives
	LiveOrder string // client order id of an order of one of the stocks that has not ended; "": none
	Twin      string // id of another action with the same terms within ten days; "": none
	Review    bool   // every action waits for a person
	Renaming  bool   // the broker has not changed the symbol of the position yet
	Undo      Switch // of the action itself, if it can be taken back; Number 0: none
	Overtook  string // what to do about a later action that was applied already; "": nothing
	InCash    bool   // the broker has booked the shares that the action gives, and paid all of them in cash
	Fraction  bool   // the broker has booked the shares that the action gives, and paid their fraction in cash

	// Split is set when another action of the day was applied that changed the units of the stock. The broker may have
	// paid in cash for the fraction that it left, and the positions did not show that.
	Split bool

	// Others is what other actions of the same day or later do to these stocks, as far as they are due. After an
	// outage, a jump of the clock, or when a stock has two on one day, the broker's positions show several.
	Others []Impact
}

// Stake is all shares of a stock: the users' and the house's.
type Stake struct {
	Booked   money.Shares // in the store
	Owed     money.Shares // by the house to users, who have these beside the booked ones
	Theirs   money.Shares // at the broker
	Accepted money.Shares // difference that an operator has accepted
	Shared   bool         // another open action changes these shares too, and the position may show it
	Undone   bool         // an action that changes them was undone, and the position has not agreed since
}

// Judgment says what to do with a due action.
type Judgment int

// The judgments.
const (
	JudgeWait   Judgment = iota // the broker has not changed the position yet
	JudgeApply                  // announcement and position agree, or an operator decided
	JudgeHold                   // a person must decide
	JudgeAwait                  // an order must end first
	JudgeDiffer                 // the position is neither the old one nor the new one
)

// happens is how long after its boundary an action happens: 02:30 New York on the next day.
const happens = 6*time.Hour + 30*time.Minute

// comes is how long after its boundary the shares that an action gives have come: 08:00 New York on the next day.
const comes = 12 * time.Hour

// lacksTarget reports whether the broker has added nothing of the less than one share that the action gives. It may add
// it some seconds after it removed the other stock, or pay for it in cash.
func (s Standing) lacksTarget(a Action, target money.Shares) bool {
	nothing := target > s.Target.Booked+1 && s.Target.Theirs <= s.Target.Booked
	return nothing && !s.InCash && s.Now.Sub(a.Boundary) < comes
}

// Judge decides about a due action whose conversion is c, and says why. An operator's approval
// needs no evidence, but every order must have ended.
func (a Action) Judge(c Conversion, s Standing) (Judgment, string) {
	switch {
	case !a.Due(s.Now):
		return JudgeWait, ""
	case s.LiveOrder != "":
		return JudgeAwait, s.LiveOrder
	case !a.ApprovedAt.IsZero() && s.Overtook != "": // meanwhile
		return JudgeHold, s.Overtook
	case !a.ApprovedAt.IsZero():
		return JudgeApply, ""
	case s.Review:
		return JudgeHold, "every action waits for an operator (--corporate-actions review)"
	case s.Twin != "":
		return JudgeHold, Repeats(s.Twin)
	case s.Source.Accepted != 0 || s.Target.Accepted != 0:
		return JudgeHold, "an operator has accepted a difference to the broker's position"
	}
	source, target, err := a.after(c, s)
	if err != nil {
		return JudgeHold, err.Error()
	}
	switch {
	case s.Renaming && (!s.Vanished() || source >= money.Share): // else it may have paid all in cash
		return JudgeWait, ""
	case source == s.Source.Booked && target == s.Target.Booked: // the position cannot show it
		if s.unchanged() && s.Now.Sub(a.Boundary) >= happens || !s.unchanged() && a.chained(c, s) {
			return JudgeApply, ""
		}
	case s.InCash && s.near(source, target):
		return JudgeApply, ""
	case s.unchanged() && !a.chained(c, s):
	case s.near(source, target) && s.lacksTarget(a, target):
		return JudgeWait, ""
	case s.near(source, target), a.chained(c, s):
		return JudgeApply, ""
	}
	if s.unchanged() {
		return JudgeWait, ""
	}
	return JudgeDiffer, a.differs(s, source, target)
}

// PausesTarget reports whether the stock that an action gives is not ordered for a while, so that the orders under way
// end and the action can be applied. Of a popular stock one may always be under way. Nothing is paused before the
// broker acts or an operator decides. Only the target's position shows a spin-off, and an order changes that, too.
func (a Action) PausesTarget(s Standing) bool {
	acts := s.Source.changed() || a.Type == ActionSpinOff && s.Target.changed()
	return a.Due(s.Now) && (acts || !a.ApprovedAt.IsZero())
}

// Vanished reports whether the broker has no share of the stock any more.
func (s Standing) Vanished() bool { return s.Source.vanished() }

// vanished is Standing.Vanished for one of its stocks.
func (k Stake) vanished() bool { return k.Booked > 0 && k.Theirs == 0 }

// unchanged reports whether the broker's positions are those of the store.
func (s Standing) unchanged() bool {
	return !s.Source.changed() && !s.Target.changed()
}

// Evident reports whether the broker's positions are exactly what the action makes of the booked ones, with shares left
// of its stock: then no order is missing in them. An empty position, or one without its fraction, shows nothing.
func (a Action) Evident(c Conversion, s Standing) bool {
	source, target, err := a.after(c, s)
	return err == nil && source > 0 && sameRounded(s.Source.Theirs, source) && sameRounded(s.Target.Theirs, target)
}

// after is what the broker's positions become.
func (a Action) after(c Conversion, s Standing) (source, target money.Shares, err error) {
	return a.impact(c).on(s.Source.Booked, s.Target.Booked, false)
}

// near reports whether the broker's position is the expected one within its rounding: a
// billionth, or a fraction that it paid in cash or rounded up to a whole share.
func near(theirs, expected money.Shares) bool {
	down := expected - expected%money.Share
	up := down + money.Share
	return theirs >= expected-1 && theirs <= expected+1 || theirs == down || theirs == up && down != expected
}

// notePosition begins the note of an action whose position fits neither before nor after.
const notePosition = "the broker's position differs from what the action announces"

// Differs reports whether the action is held for that.
func (a Action) Differs() bool {
	return a.State == ActionHeld && a.WaitsFor == "" && strings.HasPrefix(a.Note, notePosition)
}

func (a Action) differs(s Standing, source, target money.Shares) string {
	text := fmt.Sprintf(notePosition+": the broker has %s shares of %s, expected are %s (or %s before the action)",
		s.Source.Theirs, a.Symbol, source, s.Source.Booked)
	if a.Type.Gives() {
		text += fmt.Sprintf("; of %s it has %s, expected are %s", a.NewSymbol, s.Target.Theirs, target)
	}
	if s.Overtook != "" {
		text += "; " + s.Overtook
	}
	return text
}

// Begin returns the switch that applies the action. When it was undone, that is taken back, unless it has another ratio
// now, or the positions are what it makes of all that is booked now. It is due, so what was bought since is in its
// units, if it happened. Begin fails with money.ErrOverflow.
func (a Action) Begin(c Conversion, s Standing) (w Switch, err error) {
	w = Switch{Conversion: c, ActionID: a.ID, AssetID: a.AssetID}
	if s.Undo.Number > 0 && s.Undo.Reverted.alike(c) && (s.Source.Undone || s.Target.Undone || !a.explains(c, s)) {
		w = s.Undo.Redo(c)
	}
	w.Booked, w.TargetBooked = s.Source.Booked, s.Target.Booked
	part := a.chained(c, s) || a.leavesRest(w, s) || a.rounds(c, s) // the next one explains the rest
	rest := part || s.Target.Undone                                 // so does one that was undone and may come next
	paid := s.InCash || s.Fraction
	whole := rest && paid || part && a.paysFractions(c, s)
	source, target, err := a.expected(w, s, whole)
	if err != nil {
		return w, err
	}
	w.Position, w.TargetPosition = a.positions(source, target, part, s)
	if !part && !s.Source.Undone { // else the difference is not accepted
		w.Ahead = s.Source.Theirs - w.Position
	}
	if !part && !s.Target.Undone {
		w.TargetAhead = s.Target.Theirs - w.TargetPosition
	}
	return w, nil
}

// expected returns what is booked after the switch w, as the action says it. The broker may pay for fractions in cash:
// then whole is true.
func (a Action) expected(w Switch, s Standing, whole bool) (source, target money.Shares, err error) {
	if w.Undoes != 0 {
		source, target = s.beforeUndo()
		return source, target, nil
	}
	return a.impact(w.Conversion).on(s.Source.Booked, s.Target.Booked, whole)
}

// FractionUnknown reports whether what the action books of the stock that it gives depends on whether the broker pays
// in cash for fractions. The positions show others of that stock too; the broker's activities show whether it does.
func (a Action) FractionUnknown(c Conversion, s Standing) bool {
	given, err := c.Give.Of(s.Source.Booked)
	return a.Type.Gives() && err == nil && given%money.Share > 1 && s.Target.Shared && !s.InCash && !s.Fraction
}

// changed reports whether the broker's position is not the store's.
func (k Stake) changed() bool { return k.Theirs != k.Booked }

// Shared reports whether other open actions change the stocks too.
func (s Standing) Shared() bool { return s.Source.Shared || s.Target.Shared }

// leavesRest reports whether an operator applies the action while another one of its stocks is open, and the broker's
// positions are not what this one makes alone. Then it books what its terms say, and no more. The positions may show
// the other one, too, or both together nothing. The last of them books what nothing explains.
func (a Action) leavesRest(w Switch, s Standing) bool {
	source, target, err := a.expected(w, s, false)
	exact := err == nil && s.fit(source, target) == fitExact
	return !a.ApprovedAt.IsZero() && s.Shared() && !exact
}

// rounds reports whether the broker's positions are rounded ones of the action, while another one is open that may
// explain the difference.
func (a Action) rounds(c Conversion, s Standing) bool {
	source, target, err := a.after(c, s)
	rounded := err == nil && s.fit(source, target) == fitRounded
	return rounded && (len(s.Others) > 0 || s.Shared()) && !s.unchanged()
}

// Apart reports whether the broker's positions are neither the booked ones nor what the action makes of them.
func (a Action) Apart(c Conversion, s Standing) bool {
	return !s.unchanged() && !s.InCash && !a.explains(c, s) && !a.chained(c, s)
}

// explains reports whether the broker's positions are what the action makes of what is booked now.
func (a Action) explains(c Conversion, s Standing) bool {
	source, target, err := a.after(c, s)
	return err == nil && s.near(source, target)
}

// near reports whether the broker's positions are the expected ones within their rounding. The broker may round only
// the shares that it adds to the target.
func (s Standing) near(source, target money.Shares) bool {
	added := target - s.Target.Booked
	return near(s.Source.Theirs, source) &&
		(near(s.Target.Theirs, target) || added > 0 && near(s.Target.Theirs-s.Target.Booked, added))
}

// beforeUndo returns what is booked when the undo of the action is taken back.
func (s Standing) beforeUndo() (source, target money.Shares) {
	return s.Source.Booked + s.Undo.Booked - s.Undo.Position + s.Undo.Recounted,
		s.Target.Booked + s.Undo.TargetBooked - s.Undo.TargetPosition
}

// positions returns what the store books as the broker's positions: what the broker has, or what is expected when an
// operator applies the action before the broker did. What others explain stays for them: of a stock that another open
// action changes, if the positions show only a part of what is due, and of one whose undone actions may come next.
func (a Action) positions(source, target money.Shares, part bool, s Standing) (money.Shares, money.Shares) {
	again := !a.AppliedAt.IsZero() && !s.InCash // the broker may have paid for its fraction in cash
	moved := !s.unchanged() || s.InCash
	switch k := s.Source; {
	case part && k.Shared:
	case k.Undone || again && !k.changed():
		source = k.settled(0, source)
	case part && k.changed(), !part && moved:
		source = k.Theirs
	}
	switch k := s.Target; {
	case part && k.Shared:
	case k.Undone || again && !k.changed():
		target = k.settled(k.Booked, target)
	case part && (k.changed() || moved && near(k.Theirs-k.Booked, target-k.Booked)), !part && moved:
		target = k.Theirs
	}
	return source, target
}

// settled returns the broker's position if it is the expected one, also without the fraction of what was added;
// otherwise the expected one.
func (k Stake) settled(before, expected money.Shares) money.Shares {
	added := expected - before
	down := before + added - added%money.Share
	if sameRounded(k.Theirs, expected) || k.Theirs == down || k.Theirs == expected-expected%money.Share {
		return k.Theirs
	}
	return expected
}

// twinDays is within how many days the same terms count as a repetition; dividendDays is that for cash dividends,
// because a stock may pay the same every week.
const (
	twinDays     = 10
	dividendDays = 5
)

// Repeats is why an action that repeats the one with the id is held.
func Repeats(id string) string { return noteRepeats + id }

// noteRepeats begins the note of an action that repeats another one.
const noteRepeats = "it repeats the action "

// TwinOf reports whether a repeats another action of the same stock: the same type and rates
// within twinDays or dividendDays, and b came first.
func (a Action) TwinOf(b Action) bool {
	if a.ID == b.ID || a.AssetID != b.AssetID || a.Type != b.Type || a.Rate != b.Rate || a.NewSymbol != b.NewSymbol {
		return false
	}
	if b.State == ActionWithdrawn || b.State == ActionIgnored || b.State == ActionPassed || b.State == ActionUndone {
		return false
	}
	within := twinDays
	if a.Type == ActionCashDividend {
		within = dividendDays
	}
	if !sameRatio(a.Terms, b.Terms) || a.ExDate < b.ExDate || a.ExDate > b.ExDate.Plus(within) {
		return false
	}
	return b.ExDate < a.ExDate || b.FirstSeen.Before(a.FirstSeen) || b.FirstSeen.Equal(a.FirstSeen) && b.ID < a.ID
}

func sameRatio(a, b Terms) bool {
	one, errOne := a.Ratio()
	other, errOther := b.Ratio()
	return (errOne != nil && errOther != nil) || one == other
}
