package rewards_test

import (
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	check(t, err)
	return at.UTC()
}

// interface-additions.md, section 7: from 20:00 New York of the session before the
// ex-date. The sessions are the broker's: holidays and weekends have none.
func TestHoldFrom(t *testing.T) {
	t.Parallel()
	days := func(list ...rewards.Date) []rewards.Date { return list }
	for _, c := range []struct {
		name     string
		ex       rewards.Date
		sessions []rewards.Date
		want     string
	}{
		{"mid-week, standard time", "2026-12-02", days("2026-11-30", "2026-12-01", "2026-12-02"), "2026-12-01T20:00:00-05:00"},
		{"mid-week, summer time", "2026-07-01", days("2026-06-29", "2026-06-30", "2026-07-01"), "2026-06-30T20:00:00-04:00"},
		{"a Monday: Friday's evening", "2026-12-07", days("2026-12-03", "2026-12-04", "2026-12-07"), "2026-12-04T20:00:00-05:00"},
		{"after a holiday on Friday", "2026-04-06", days("2026-04-01", "2026-04-02", "2026-04-06"), "2026-04-02T20:00:00-04:00"},
		{"a Monday after clocks went forward", "2026-03-09", days("2026-03-05", "2026-03-06", "2026-03-09"), "2026-03-06T20:00:00-05:00"},
		{"a Monday after clocks went back", "2026-11-02", days("2026-10-29", "2026-10-30", "2026-11-02"), "2026-10-30T20:00:00-04:00"},
		{"after a half day", "2026-11-30", days("2026-11-25", "2026-11-27", "2026-11-30"), "2026-11-27T20:00:00-05:00"},
		{"a day without a session", "2026-12-05", days("2026-12-03", "2026-12-04", "2026-12-07"), "2026-12-04T20:00:00-05:00"},
		{"the list ends before", "2026-12-05", days("2026-12-02", "2026-12-03"), "2026-12-03T20:00:00-05:00"},
		{"the list ends weeks before", "2027-02-01", days("2026-12-30", "2026-12-31"), "2027-01-28T20:00:00-05:00"},
		{"a market that was closed for a week", "2001-09-17", days("2001-09-07", "2001-09-10", "2001-09-17"), "2001-09-10T20:00:00-04:00"},
		{"no known session", "2026-12-07", nil, "2026-12-03T20:00:00-05:00"},
		{"no known session before", "2026-12-07", days("2026-12-07", "2026-12-08"), "2026-12-03T20:00:00-05:00"},
		{"invalid date", "soon", days("2026-12-07"), "1970-01-01T00:00:00.000001Z"},
	} {
		if got := rewards.HoldFrom(c.ex, c.sessions); !got.Equal(moment(t, c.want)) {
			t.Errorf("%s: held from %s, want %s", c.name, got, c.want)
		}
	}
}

// While the session before the ex-date is not known a stock is held early, but its prices stay in the old units until the
// evening before. Then the sessions correct the hold too.
func TestBoundaryWithoutSessions(t *testing.T) {
	t.Parallel()
	n := rewards.Announcement{ID: "it", Terms: rewards.Terms{
		Type: rewards.ActionReverseSplit, Symbol: "AAPL", OldRate: "3", NewRate: "1", ExDate: "2026-12-07",
	}}
	o := rewards.Observation{Now: moment(t, "2026-12-04T01:00:00-05:00")}
	evening := moment(t, "2026-12-04T20:00:00-05:00")
	for _, sessions := range [][]rewards.Date{nil, {"2026-12-07"}, {"2026-11-20"}, {"2026-12-04", "2026-12-07"}} {
		o.Sessions = sessions
		a := o.NewAction(n, 1, true)
		early := moment(t, "2026-12-03T20:00:00-05:00")
		if len(sessions) == 2 {
			early = evening
		}
		if !a.Boundary.Equal(evening) || !a.HoldFrom.Equal(early) {
			t.Errorf("with sessions %v: in new units from %s, held from %s", sessions, a.Boundary, a.HoldFrom)
		}
		o.Sessions = []rewards.Date{"2026-12-04", "2026-12-07"}
		if a = o.Revise(a, n, false); !a.HoldFrom.Equal(evening) {
			t.Errorf("with sessions %v, then all: held from %s", sessions, a.HoldFrom)
		}
	}
}

func TestLastEvening(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"2026-12-02T09:30:00-05:00": "2026-12-01T20:00:00-05:00",
		"2026-12-02T19:59:59-05:00": "2026-12-01T20:00:00-05:00",
		"2026-12-02T20:00:00-05:00": "2026-12-02T20:00:00-05:00",
		"2026-12-07T09:30:00-05:00": "2026-12-06T20:00:00-05:00",
		"2026-11-01T19:00:00-05:00": "2026-10-31T20:00:00-04:00",
	} {
		if got := rewards.LastEvening(moment(t, at)); !got.Equal(moment(t, want)) {
			t.Errorf("at %s: %s, want %s", at, got, want)
		}
	}
}

func TestTypesThatHold(t *testing.T) {
	t.Parallel()
	for kind, want := range map[rewards.ActionType]bool{
		"forward_split": true, "reverse_split": true, "unit_split": true, "stock_dividend": true, "spin_off": true,
		"cash_merger": true, "stock_merger": true, "stock_and_cash_merger": true, "name_change": true,
		"worthless_removal": true, "redemption": true, "reorganization": true, "an unknown type": true,
		"cash_dividend": false, "rights_distribution": false, "partial_call": false,
	} {
		if got := kind.Holds(); got != want {
			t.Errorf("%s holds: %t, want %t", kind, got, want)
		}
	}
}

// stages are moments of a split's life, by the broker's clock: before it is due, and due.
func stages(t *testing.T) (early, due rewards.Observation) {
	t.Helper()
	sessions := []rewards.Date{"2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04", "2026-12-07"}
	at := func(text string) rewards.Observation {
		now := moment(t, text)
		return rewards.Observation{Now: now, SeenAt: now, Sessions: sessions}
	}
	return at("2026-12-01T12:00:00-05:00"), at("2026-12-02T20:00:00-05:00")
}

func fourToOne() rewards.Announcement {
	return rewards.Announcement{ID: "a", ProcessDate: "2026-12-03", Terms: rewards.Terms{
		Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4", ExDate: "2026-12-03",
	}}
}

// Before it is due an action takes new terms; afterwards a person decides.
func TestActionStates(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	split := fourToOne()
	later, wider, unknown := split, split, split
	later.ExDate, wider.NewRate, unknown.Type = "2026-12-07", "5", "unit_split"
	over := early
	over.Now = moment(t, "2026-12-20T12:00:00Z")
	announced := early.NewAction(split, 7, true)
	waiting := due.Await(announced, "order", "the order must end first")
	held := due.Hold(announced, "another ratio")
	ignored, err := held.Ignore("checked", due.Now)
	check(t, err)
	applied := due.Applied(announced)
	withdrawn := early.Withdraw(announced)
	const evening, friday = "2026-12-02T20:00:00-05:00", "2026-12-04T20:00:00-05:00"
	for _, c := range []struct {
		name  string
		got   rewards.Action
		state rewards.ActionState
		from  string // "": never
		note  bool
	}{
		{"announced", announced, rewards.ActionAnnounced, evening, false},
		{"due", due.Tick(announced), rewards.ActionAnnounced, evening, false},
		{"unknown", early.NewAction(unknown, 7, true), rewards.ActionAnnounced, evening, false},
		{"unknown and due", due.Tick(early.NewAction(unknown, 7, true)), rewards.ActionHeld, evening, true},
		{"first seen after the ex-date, with shares", over.NewAction(split, 7, true), rewards.ActionAnnounced, evening, false},
		{"first seen after the ex-date, without shares", over.NewAction(split, 7, false), rewards.ActionPassed, "", false},
		{"first seen when due, without shares", due.NewAction(split, 7, false), rewards.ActionAnnounced, evening, false},
		{"listed again", early.Revise(announced, split, false), rewards.ActionAnnounced, evening, false},
		{"revised before", early.Revise(announced, later, true), rewards.ActionAnnounced, friday, true},
		{"revised when due", due.Revise(announced, later, true), rewards.ActionHeld, evening, true},
		{"withdrawn before", withdrawn, rewards.ActionWithdrawn, "", true},
		{"withdrawn when due", due.Withdraw(announced), rewards.ActionHeld, evening, true},
		{"announced again", early.Revise(withdrawn, split, false), rewards.ActionAnnounced, evening, true},
		{"waits and listed again", due.Revise(waiting, split, false), rewards.ActionHeld, evening, true},
		{"waits, then resumes", due.Resume(waiting), rewards.ActionAnnounced, evening, false},
		{"waits and withdrawn", due.Resume(due.Withdraw(waiting)), rewards.ActionHeld, evening, true},
		{"waits, then other terms", due.Resume(due.Revise(waiting, wider, true)), rewards.ActionHeld, evening, true},
		{"held does not resume", due.Resume(held), rewards.ActionHeld, evening, true},
		{"ignored", ignored, rewards.ActionIgnored, "", true},
		{"ignored and listed again", due.Revise(ignored, split, false), rewards.ActionIgnored, "", true},
		{"ignored and withdrawn", due.Withdraw(ignored), rewards.ActionIgnored, "", true},
		{"ignored, then other terms", due.Revise(ignored, wider, true), rewards.ActionHeld, evening, true},
		{"applied", applied, rewards.ActionApplied, evening, false},
		{"applied and listed again", due.Revise(applied, split, false), rewards.ActionApplied, evening, false},
		{"applied, then other terms", due.Revise(applied, wider, true), rewards.ActionApplied, evening, true},
		{"applied and withdrawn", due.Withdraw(applied), rewards.ActionApplied, evening, false},
	} {
		if c.got.State != c.state || (c.got.Note != "") != c.note {
			t.Errorf("%s: %s %q, want %s", c.name, c.got.State, c.got.Note, c.state)
		}
		if c.from == "" && !c.got.HoldFrom.IsZero() || c.from != "" && !c.got.HoldFrom.Equal(moment(t, c.from)) {
			t.Errorf("%s: held from %s, want %s", c.name, c.got.HoldFrom, c.from)
		}
	}
	if got := due.Revise(applied, wider, true); got.NewRate != "4" {
		t.Errorf("terms that were applied became %s", got)
	}
	for _, newBody := range []bool{false, true} { // it was not held until now, so this reading must be stored
		if got := early.Revise(withdrawn, split, newBody); got.Revision != withdrawn.Revision+1 {
			t.Errorf("announced again: revision %d after %d, want the next one", got.Revision, withdrawn.Revision)
		}
	}
}

// An action that holds its stock, or needs an operator's eye, has an alarm.
func TestAlarmsOfActions(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	announced := early.NewAction(fourToOne(), 7, true)
	held, applied, withdrawn := due.Hold(announced, "why"), due.Applied(announced), early.Withdraw(announced)
	monday := fourToOne()
	monday.ExDate = "2026-12-07"
	overWeekend := rewards.Observation{Now: early.Now, Sessions: []rewards.Date{"2026-12-04", "2026-12-07"}}.NewAction(monday, 7, true)
	waiting, wider := due.Await(announced, "order", "the order must end first"), fourToOne()
	wider.NewRate = "5"
	morning := moment(t, "2026-12-03T09:00:00-05:00")
	const late = "has not changed the position yet"
	for _, c := range []struct {
		name string
		a    rewards.Action
		now  time.Time
		want string // part of it; "": no alarm
	}{
		{"announced", announced, early.Now, "not ordered from 2026-12-03T01:00:00Z"},
		{"before 09:00", announced, morning.Add(-time.Second), "not ordered from"},
		{"on the Saturday before", overWeekend, moment(t, "2026-12-05T12:00:00-05:00"), "not ordered from"},
		{"on the Monday", overWeekend, moment(t, "2026-12-07T09:00:00-05:00"), late},
		{"at 09:00", announced, morning, late},
		{"held", held, due.Now, "stockrewards action show a`; why"},
		{"waits", waiting, due.Now, "the order must end first"},
		{"withdrawn", withdrawn, early.Now, "withdrawn by the broker in time"},
		{"withdrawn, over", withdrawn, moment(t, "2026-12-04T00:00:00-05:00"), ""},
		{"applied", applied, morning, ""},
		{"applied, then revised", due.Revise(applied, wider, true), morning, "revised after it was applied"},
	} {
		got := c.a.Alarm(c.now)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: alarm %q, want %q", c.name, got, c.want)
		}
	}
}

// A cash dividend never holds its stock; it stays announced until its cash is shared.
func TestADividendNeverHolds(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	n := fourToOne()
	n.Type, n.Rate, n.OldRate, n.NewRate = rewards.ActionCashDividend, "0.25", "", ""
	dividend := early.NewAction(n, 7, true)
	if dividend.State != rewards.ActionAnnounced || !dividend.HoldFrom.IsZero() || dividend.Alarm(due.Now) != "" {
		t.Errorf("a cash dividend: %+v, alarm %q", dividend, dividend.Alarm(due.Now))
	}
	if got := due.Tick(dividend); got != dividend || !got.Due(due.Now) || got.Due(early.Now) {
		t.Errorf("a cash dividend that is due: %+v", got)
	}
	for name, o := range map[string]rewards.Observation{"the calendar is known": early, "unknown": {Now: early.Now}} {
		if got := o.NewAction(n, 7, true).Boundary; !got.Equal(due.Now) {
			t.Errorf("%s: who is entitled is fixed at %s", name, got)
		}
	}
	if hold := rewards.HoldOf([]rewards.Action{dividend}); hold.Exists() {
		t.Errorf("a cash dividend holds: %+v", hold)
	}
	n.Type = rewards.ActionRights
	rights := early.NewAction(n, 7, true)
	late := due
	late.Now = moment(t, "2026-12-04T00:00:00-05:00")
	if over := late.Tick(rights); due.Tick(rights).State != rewards.ActionAnnounced || over.State != rewards.ActionPassed {
		t.Errorf("rights after their ex-date are %s", over.State)
	}
}

// The stock waits for the earliest of its actions. Its pending units are known only while one
// action is pending and no person must decide.
func TestHoldOf(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	one := early.NewAction(fourToOne(), 7, true)
	n := fourToOne()
	n.ExDate = "2026-12-07"
	other := early.NewAction(n, 7, true)
	n.Type, n.NewSymbol = rewards.ActionSpinOff, "SPUN"
	spinOff := early.NewAction(n, 7, true)
	waiting := due.Await(one, "order", "an order")
	ratio := rewards.Ratio{Old: 1, New: 4}
	for _, c := range []struct {
		name  string
		list  []rewards.Action
		from  time.Time
		ratio rewards.Ratio
	}{
		{"nothing", nil, time.Time{}, rewards.Ratio{}},
		{"one", []rewards.Action{one}, one.HoldFrom, ratio},
		{"two", []rewards.Action{other, one}, one.HoldFrom, rewards.Ratio{}},
		{"waits", []rewards.Action{waiting}, time.UnixMicro(1).UTC(), ratio},
		{"held", []rewards.Action{due.Hold(one, "another ratio")}, time.UnixMicro(1).UTC(), rewards.Ratio{}},
		{"applied", []rewards.Action{due.Applied(one)}, time.Time{}, rewards.Ratio{}},
		{"spin-off", []rewards.Action{spinOff}, spinOff.HoldFrom, rewards.Ratio{}},
	} {
		got := rewards.HoldOf(c.list)
		if !got.From.Equal(c.from) || got.Units.Ratio != c.ratio {
			t.Errorf("%s: %+v, want from %s, %+v", c.name, got, c.from, c.ratio)
		}
		if got.Exists() && len(c.list) == 1 && !got.Units.From.Equal(c.list[0].Boundary) {
			t.Errorf("%s: units from %s, want %s", c.name, got.Units.From, c.list[0].Boundary)
		}
	}
}

// Additions, section 7: a second action of the same terms within ten days.
func TestTwins(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	first := early.NewAction(fourToOne(), 7, true)
	same := func(change func(*rewards.Action)) rewards.Action {
		b := first
		b.ID, b.FirstSeen = "b", due.Now
		change(&b)
		return b
	}
	for name, c := range map[string]struct {
		a    rewards.Action
		want bool
	}{
		"the same day":        {same(func(*rewards.Action) {}), true},
		"ten days later":      {same(func(a *rewards.Action) { a.ExDate = "2026-12-13" }), true},
		"eleven days later":   {same(func(a *rewards.Action) { a.ExDate = "2026-12-14" }), false},
		"an equal ratio":      {same(func(a *rewards.Action) { a.OldRate, a.NewRate = "2.5", "10" }), true},
		"another ratio":       {same(func(a *rewards.Action) { a.NewRate = "5" }), false},
		"another stock":       {same(func(a *rewards.Action) { a.AssetID = 8 }), false},
		"another type":        {same(func(a *rewards.Action) { a.Type = "reverse_split" }), false},
		"another new stock":   {same(func(a *rewards.Action) { a.NewSymbol = "APL" }), false},
		"the action itself":   {same(func(a *rewards.Action) { a.ID = "a" }), false},
		"seen at the instant": {same(func(a *rewards.Action) { a.FirstSeen = early.Now }), true},
	} {
		if got := c.a.TwinOf(first); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
		if c.want && first.TwinOf(c.a) {
			t.Errorf("%s: the first is a twin of the second", name)
		}
	}
	second := same(func(*rewards.Action) {})
	for state := rewards.ActionAnnounced; state <= rewards.ActionUndoing; state++ {
		first.State = state
		over := state == rewards.ActionWithdrawn || state == rewards.ActionIgnored || state == rewards.ActionPassed ||
			state == rewards.ActionUndone
		if second.TwinOf(first) == over {
			t.Errorf("a twin of an action that is %s: %t", state, !over)
		}
	}
}
