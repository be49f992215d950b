package rewards_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
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
		{"no known session", "2026-12-07", nil, "2026-12-03T20:00:00-05:00"},
		{"no known session before", "2026-12-07", days("2026-12-07", "2026-12-08"), "2026-12-03T20:00:00-05:00"},
		{"invalid date", "soon", days("2026-12-07"), "1970-01-01T00:00:00.000001Z"},
	} {
		if got := rewards.HoldFrom(c.ex, c.sessions); !got.Equal(moment(t, c.want)) {
			t.Errorf("%s: held from %s, want %s", c.name, got, c.want)
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

// Before the hold begins an action takes new terms; afterwards only an operator ends it.
func TestActionStates(t *testing.T) {
	t.Parallel()
	sessions := []rewards.Date{"2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04", "2026-12-07"}
	at := func(text string) rewards.Observation {
		now := moment(t, text)
		return rewards.Observation{Now: now, SeenAt: now, Sessions: sessions}
	}
	early, begun := at("2026-12-01T12:00:00-05:00"), at("2026-12-02T20:00:00-05:00")
	split := rewards.Announcement{ID: "a", ProcessDate: "2026-12-03", Terms: rewards.Terms{
		Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4", ExDate: "2026-12-03",
	}}
	later, wider := split, split
	later.ExDate = "2026-12-07"
	wider.NewRate = "5"
	announced := early.NewAction(split, 7, true)
	held := begun.Tick(announced)
	resumed, err := held.Resume("checked", begun.Now)
	check(t, err)
	withdrawn := early.Withdraw(announced)
	evening, friday := "2026-12-02T20:00:00-05:00", "2026-12-04T20:00:00-05:00"
	for _, c := range []struct {
		name  string
		got   rewards.Action
		state rewards.ActionState
		from  string // "": never
		note  bool
	}{
		{"announced", announced, rewards.ActionAnnounced, evening, false},
		{"a second before", at("2026-12-02T19:59:59-05:00").Tick(announced), rewards.ActionAnnounced, evening, false},
		{"the hold begins", held, rewards.ActionHeld, evening, false},
		{"first seen after the ex-date, with shares", at("2026-12-20T12:00:00Z").NewAction(split, 7, true), rewards.ActionHeld, evening, false},
		{"first seen after the ex-date, without shares", at("2026-12-20T12:00:00Z").NewAction(split, 7, false), rewards.ActionPassed, "", false},
		{"first seen on the ex-date, without shares", at("2026-12-03T12:00:00-05:00").NewAction(split, 7, false), rewards.ActionHeld, evening, false},
		{"listed again", early.Revise(announced, split, false), rewards.ActionAnnounced, evening, false},
		{"revised before", early.Revise(announced, later, true), rewards.ActionAnnounced, friday, true},
		{"revised after it began", begun.Revise(held, later, true), rewards.ActionHeld, evening, true},
		{"withdrawn before", withdrawn, rewards.ActionWithdrawn, "", true},
		{"withdrawn after it began", begun.Withdraw(held), rewards.ActionHeld, evening, true},
		{"announced again", early.Revise(withdrawn, split, false), rewards.ActionAnnounced, evening, true},
		{"resumed and listed again", begun.Revise(resumed, split, false), rewards.ActionResumed, evening, false},
		{"resumed and withdrawn", begun.Withdraw(resumed), rewards.ActionResumed, evening, false},
		{"resumed, then other terms", begun.Revise(resumed, wider, true), rewards.ActionHeld, evening, true},
	} {
		if c.got.State != c.state || (c.got.Note != "") != c.note {
			t.Errorf("%s: %s %q, want %s", c.name, c.got.State, c.got.Note, c.state)
		}
		if c.from == "" && !c.got.HoldFrom.IsZero() || c.from != "" && !c.got.HoldFrom.Equal(moment(t, c.from)) {
			t.Errorf("%s: held from %s, want %s", c.name, c.got.HoldFrom, c.from)
		}
	}
	for name, a := range map[string]rewards.Action{"withdrawn": withdrawn, "passed": {State: rewards.ActionPassed}} {
		if _, err := a.Resume("x", begun.Now); rewards.CodeOf(err) != rewards.CodeConflict {
			t.Errorf("resuming an action that is %s: %v", name, err)
		}
	}
	dividend := early.NewAction(rewards.Announcement{ID: "d", Terms: rewards.Terms{
		Type: rewards.ActionCashDividend, Symbol: "AAPL", Rate: "0.25", ExDate: "2026-12-03",
	}}, 7, true)
	if dividend.State != rewards.ActionAnnounced || !dividend.HoldFrom.IsZero() || dividend.Alarm(early.Now) != "" {
		t.Errorf("a cash dividend: %+v, alarm %q", dividend, dividend.Alarm(early.Now))
	}
	if over := at("2026-12-04T00:00:00-05:00").Tick(dividend); over.State != rewards.ActionPassed {
		t.Errorf("a dividend after its ex-date is %s", over.State)
	}
	for _, a := range []rewards.Action{announced, held, withdrawn} {
		if a.Alarm(early.Now) == "" {
			t.Errorf("no alarm for an action that is %s", a.State)
		}
	}
}

func TestSplitRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ours, theirs string
		want         rewards.Ratio
	}{
		{"10.123456789", "40.493827156", rewards.Ratio{Old: 1, New: 4}},
		{"10.123456789", "40.493827155", rewards.Ratio{Old: 1, New: 4}}, // a billionth off
		{"10.123456789", "40.493827153", rewards.Ratio{}},
		{"10.000000001", "3.333333333", rewards.Ratio{Old: 3, New: 1}},
		{"7.7", "0.077", rewards.Ratio{Old: 100, New: 1}},
		{"7.7", "0.0385", rewards.Ratio{}}, // 200:1
		{"10.123456789", "15.185185183", rewards.Ratio{Old: 2, New: 3}},
		{"10.123456789", "10.123456789", rewards.Ratio{}},
		{"10.123456789", "11.5", rewards.Ratio{}},
		{"0.000000002", "0.000000004", rewards.Ratio{}}, // too small
		{"10.123456789", "0", rewards.Ratio{}},
		{"0", "5", rewards.Ratio{}},
		{"1", "-1", rewards.Ratio{}},
	} {
		ours, err := money.ParseShares(c.ours)
		check(t, err)
		theirs, err := money.ParseShares(c.theirs)
		check(t, err)
		got, found := rewards.SplitRatio(ours, theirs)
		if diff := cmp.Diff(c.want, got); diff != "" || found != (c.want != rewards.Ratio{}) {
			t.Errorf("%s and %s (-want +got):\n%s", c.ours, c.theirs, diff)
		}
	}
	accepted := rewards.BookedPosition{Quantity: 10 * money.Share, Accepted: 10 * money.Share}
	if _, suspect := accepted.Suspect(20 * money.Share); suspect {
		t.Error("a difference that an operator accepted is suspected")
	}
	if _, suspect := accepted.Suspect(40 * money.Share); !suspect {
		t.Error("another difference than the accepted one is not suspected")
	}
}
