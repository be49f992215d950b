package rewards_test

import (
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// judged returns the judgment about an action at its boundary plus later.
func judged(
	t *testing.T, a rewards.Action, later time.Duration, s rewards.Standing,
) (rewards.Judgment, string) {
	t.Helper()
	c, err := a.Conversion(8, rewards.Whole())
	check(t, err)
	s.Now = a.Boundary.Add(later)
	return a.Judge(c, s)
}

// stake reads what the store has booked, and what the broker has.
func stake(t *testing.T, booked, theirs string) rewards.Stake {
	t.Helper()
	return rewards.Stake{Booked: shares(t, booked), Theirs: shares(t, theirs)}
}

// Announcement and position agree: apply. A position that fits neither before nor after: an operator.
func TestJudgmentsOfPositions(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	for _, c := range []struct {
		name           string
		old, new       string
		booked, theirs string
		want           rewards.Judgment
	}{
		{"not yet", "1", "4", "10.5", "10.5", rewards.JudgeWait},
		{"not yet, as if its fraction was paid in cash", "2", "3", "1", "1", rewards.JudgeWait},
		{"changed", "1", "4", "10.5", "42", rewards.JudgeApply},
		{"a billionth less", "2", "3", "10.123456789", "15.185185182", rewards.JudgeApply},
		{"a billionth more", "2", "3", "10.123456789", "15.185185184", rewards.JudgeApply},
		{"two billionths more", "2", "3", "10.123456789", "15.185185185", rewards.JudgeDiffer},
		{"cash in lieu", "4", "1", "10", "2", rewards.JudgeApply},
		{"rounded up", "4", "1", "10", "3", rewards.JudgeApply},
		{"one too many", "4", "1", "12", "4", rewards.JudgeDiffer},
		{"another ratio", "1", "4", "10.5", "84", rewards.JudgeDiffer},
		{"the wrong direction", "4", "1", "10", "40", rewards.JudgeDiffer},
		{"a part", "1", "4", "10.5", "20", rewards.JudgeDiffer},
		{"all gone", "1", "4", "10.5", "0", rewards.JudgeDiffer},
		{"nothing to change", "1", "4", "0", "0", rewards.JudgeWait},
		{"shares from nowhere", "1", "4", "0", "4", rewards.JudgeDiffer},
	} {
		n := fourToOne()
		if n.OldRate, n.NewRate = c.old, c.new; c.new == "1" {
			n.Type = rewards.ActionReverseSplit
		}
		a := early.NewAction(n, 7, true)
		s := rewards.Standing{Source: stake(t, c.booked, c.theirs)}
		got, note := judged(t, a, time.Hour, s)
		if got != c.want || (note != "") != (c.want == rewards.JudgeDiffer) {
			t.Errorf("%s: %d %q, want %d", c.name, got, note, c.want)
		}
		if got == rewards.JudgeDiffer && !strings.Contains(note, c.theirs+" shares of AAPL") {
			t.Errorf("%s: the note is %q", c.name, note)
		}
		if got, _ := judged(t, a, -time.Second, s); got != rewards.JudgeWait {
			t.Errorf("%s, before it is due: %d", c.name, got)
		}
	}
}

// Whatever the position: what stops an action, and in which order.
func TestJudgmentsThatComeFirst(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	a := early.NewAction(fourToOne(), 7, true)
	approved, err := due.Hold(a, "why").Approve("the broker's letter", due.Now)
	check(t, err)
	agrees, differs := stake(t, "10", "40"), stake(t, "10", "80")
	accepted := agrees
	accepted.Accepted = money.Share
	for _, c := range []struct {
		name string
		a    rewards.Action
		s    rewards.Standing
		want rewards.Judgment
		note string // part of it
	}{
		{"agrees", a, rewards.Standing{Source: agrees}, rewards.JudgeApply, ""},
		{"an order is open", a, rewards.Standing{Source: agrees, LiveOrder: "sr-1"}, rewards.JudgeAwait, "sr-1"},
		{"review", a, rewards.Standing{Source: agrees, Review: true}, rewards.JudgeHold, "review"},
		{"a twin", a, rewards.Standing{Source: agrees, Twin: "other"}, rewards.JudgeHold, "other"},
		{"an accepted difference", a, rewards.Standing{Source: accepted}, rewards.JudgeHold, "accepted a difference"},
		{"a renaming", a, rewards.Standing{Source: agrees, Renaming: true}, rewards.JudgeWait, ""},
		{"approved", approved, rewards.Standing{Source: differs, Review: true, Twin: "other"}, rewards.JudgeApply, ""},
		{"approved, an order is open", approved, rewards.Standing{Source: agrees, LiveOrder: "sr-1"}, rewards.JudgeAwait, "sr-1"},
		{"too many shares", a, rewards.Standing{Source: stake(t, "9000000000", "9000000000")}, rewards.JudgeHold, "too large"},
	} {
		got, note := judged(t, c.a, time.Hour, c.s)
		if got != c.want || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s: %d %q, want %d %q", c.name, got, note, c.want, c.note)
		}
	}
}

// Actions of two stocks need both positions; those that no position shows are applied at 02:30.
func TestJudgmentsOfOtherTypes(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	const night, morning = 6*time.Hour + 29*time.Minute, 6*time.Hour + 30*time.Minute
	for _, c := range []struct {
		name           string
		kind           rewards.ActionType
		source, target rewards.Stake
		later          time.Duration
		want           rewards.Judgment
	}{
		{"a rename, in the night", "name_change", stake(t, "10", "10"), rewards.Stake{}, night, rewards.JudgeWait},
		{"a rename", "name_change", stake(t, "10", "10"), rewards.Stake{}, morning, rewards.JudgeApply},
		{"a rename, other shares", "name_change", stake(t, "10", "11"), rewards.Stake{}, morning, rewards.JudgeDiffer},
		{"nobody has shares", "worthless_removal", stake(t, "0", "0"), rewards.Stake{}, morning, rewards.JudgeApply},
		{"worthless, still there", "worthless_removal", stake(t, "10", "10"), rewards.Stake{}, morning, rewards.JudgeWait},
		{"worthless", "worthless_removal", stake(t, "10", "0"), rewards.Stake{}, time.Hour, rewards.JudgeApply},
		{"spun off", "spin_off", stake(t, "10", "10"), stake(t, "3", "8"), time.Hour, rewards.JudgeApply},
		{"spun off, not yet", "spin_off", stake(t, "10", "10"), stake(t, "3", "3"), morning, rewards.JudgeWait},
		{"spun off, too few", "spin_off", stake(t, "10", "10"), stake(t, "3", "6"), morning, rewards.JudgeDiffer},
		{"merged", "stock_merger", stake(t, "10", "0"), stake(t, "0", "5"), time.Hour, rewards.JudgeApply},
		{"merged, only gone", "stock_merger", stake(t, "10", "0"), stake(t, "0", "0"), time.Hour, rewards.JudgeDiffer},
		{"merged, both there", "stock_merger", stake(t, "10", "10"), stake(t, "0", "5"), time.Hour, rewards.JudgeDiffer},
		{"merged with cash", "stock_and_cash_merger", stake(t, "10", "0"), stake(t, "0", "5"), time.Hour, rewards.JudgeApply},
		{"merged for cash", "cash_merger", stake(t, "10", "0"), rewards.Stake{}, time.Hour, rewards.JudgeApply},
	} {
		n := fourToOne()
		n.Type, n.NewSymbol, n.OldRate, n.NewRate = c.kind, "KO", "2", "1"
		a := early.NewAction(n, 7, true)
		if got, note := judged(t, a, c.later, rewards.Standing{Source: c.source, Target: c.target}); got != c.want {
			t.Errorf("%s: %d %q, want %d", c.name, got, note, c.want)
		}
	}
}

// The broker's position shows a rename and what a merger of that day gave. The rename is applied, and books only itself.
func TestARenameBesideAMerger(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	stock := rewards.Asset{ID: 7, Symbol: "AAPL"}
	rename, merger := fourToOne(), fourToOne()
	rename.Type, rename.NewSymbol = rewards.ActionNameChange, "APL"
	merger.ID, merger.Type, merger.Symbol, merger.NewSymbol = "merger", rewards.ActionStockMerger, "KO", stock.Symbol
	merger.OldRate, merger.NewRate = "2", "1"
	a := early.NewAction(rename, stock.ID, true)
	e, changes, err := a.ImpactOf(early.NewAction(merger, 8, true), stock.Named(""), rewards.NamedStock{}, rewards.Stake{Booked: 8 * money.Share})
	check(t, err)
	if !changes {
		t.Fatal("the merger changes nothing")
	}
	for theirs, want := range map[string]rewards.Judgment{
		"14": rewards.JudgeApply, "15": rewards.JudgeDiffer, "10": rewards.JudgeWait,
	} {
		s := rewards.Standing{Source: stake(t, "10", theirs), Others: []rewards.Impact{e}}
		s.Source.Shared = true
		if got, note := judged(t, a, time.Hour, s); got != want {
			t.Errorf("with %s shares: %d %q, want %d", theirs, got, note, want)
		}
		c, err := a.Conversion(0, rewards.Fraction{})
		check(t, err)
		if w, err := a.Begin(c, s); err != nil || theirs == "14" && w.Position != 10*money.Share {
			t.Errorf("with %s shares it books %s, %v", theirs, w.Position, err)
		}
	}
}

// The store books what the broker has; before the broker acted, what is expected.
func TestBookedPositionsAfterAnAction(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	n := fourToOne()
	n.Type, n.NewSymbol, n.OldRate, n.NewRate = rewards.ActionStockMerger, "KO", "2", "1"
	a := early.NewAction(n, 7, true)
	c, err := a.Conversion(8, rewards.Whole())
	check(t, err)
	for _, x := range []struct{ source, target rewards.Stake }{
		{stake(t, "10", "10"), stake(t, "3", "3")},
		{stake(t, "10", "0"), stake(t, "3", "8")},
	} {
		w, err := a.Begin(c, rewards.Standing{Source: x.source, Target: x.target})
		if err != nil || w.Position != 0 || w.TargetPosition != 8*money.Share {
			t.Errorf("%+v: %s and %s, %v; want 0 and 8", x, w.Position, w.TargetPosition, err)
		}
	}
	w, err := a.Begin(c, rewards.Standing{Source: stake(t, "10", "1"), Target: stake(t, "3", "7")})
	if err != nil || w.Position != money.Share || w.TargetPosition != 7*money.Share {
		t.Errorf("against the terms: %s and %s, %v; want what the broker has", w.Position, w.TargetPosition, err)
	}
}

// The broker paid in cash for the fraction of what a spin-off gave, and gave more by a dividend after it. Both were undone.
// The spin-off, applied again, leaves the rest to the dividend, although the position is also its rounded one.
func TestASpinOffBeforeAnUndoneDividend(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	n := fourToOne()
	n.Type, n.NewSymbol, n.OldRate, n.NewRate = rewards.ActionSpinOff, "KO", "5", "1"
	a := early.NewAction(n, 7, true)
	c, err := a.Conversion(8, rewards.Whole())
	check(t, err)
	s := rewards.Standing{Source: stake(t, "9.285567222", "9.285567222"), Target: undone(stake(t, "5.927682276", "7"))}
	for fraction, want := range map[bool]string{true: "6.927682276", false: "7"} {
		s.Fraction = fraction
		if w, err := a.Begin(c, s); err != nil || w.TargetPosition.String() != want {
			t.Errorf("fraction in cash %t: %s shares, %v; want %s", fraction, w.TargetPosition, err, want)
		}
	}
}

// undone is a stake whose position is in doubt since an undo.
func undone(k rewards.Stake) rewards.Stake {
	k.Undone = true
	return k
}

// While the position contradicts the undo of a split, applying it again takes the undo back; else it is applied to all.
func TestBegin(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	a := early.NewAction(fourToOne(), 7, true)
	c, err := a.Conversion(0, rewards.Fraction{})
	check(t, err)
	undo := rewards.Switch{
		Number: 2, AssetID: 7, Undoes: 1, Booked: 43 * money.Share, Position: 13 * money.Share, Reverted: c,
	}
	other := undo
	other.Reverted.Keep = rewards.Ratio{Old: 1, New: 3}
	n := fourToOne()
	n.Type, n.NewSymbol, n.OldRate, n.NewRate = rewards.ActionSpinOff, "KO", "1", "1"
	spin, err := early.NewAction(n, 7, true).Conversion(8, rewards.Whole())
	check(t, err)
	spun := rewards.Switch{Number: 2, AssetID: 7, Undoes: 1, TargetBooked: 10 * money.Share, Reverted: spin}
	at := rewards.Standing{Undo: spun, Source: stake(t, "13", "13"), Target: stake(t, "0", "10")}
	if w, err := early.NewAction(n, 7, true).Begin(spin, at); err != nil || w.Undoes != 2 || w.TargetPosition != 10*money.Share {
		t.Errorf("a spin-off: %s shares of the new stock, takes %d back, %v", w.TargetPosition, w.Undoes, err)
	}
	for _, x := range []struct {
		name   string
		at     rewards.Standing
		source string
		undoes int64
	}{
		{"the undo was wrong", rewards.Standing{Undo: undo, Source: undone(stake(t, "13", "43"))}, "43", 2},
		{"so was another one", rewards.Standing{Undo: undo, Source: undone(stake(t, "13", "86"))}, "43", 2},
		{"the undo was right", rewards.Standing{Undo: undo, Source: stake(t, "13", "52")}, "52", 0},
		{"the broker is late", rewards.Standing{Undo: undo, Source: stake(t, "13", "13")}, "43", 2},
		{"it had another ratio", rewards.Standing{Undo: other, Source: undone(stake(t, "13", "52"))}, "52", 0},
		{"others were applied since", rewards.Standing{Source: undone(stake(t, "13", "43"))}, "52", 0},
	} {
		w, err := a.Begin(c, x.at)
		if err != nil || w.Undoes != x.undoes || w.Position.String() != x.source || w.Keep != c.Keep {
			t.Errorf("%s: %s shares, takes %d back, %v; want %s, %d", x.name, w.Position, w.Undoes, err, x.source, x.undoes)
		}
	}
}

// The stock that a merger gives is paused once the broker has taken its own away, or an operator has decided; a spin-off
// shows only in the stock that it gives.
func TestWhatAnActionPauses(t *testing.T) {
	t.Parallel()
	before, gone, bought := stake(t, "10", "10"), stake(t, "10", "0"), stake(t, "3", "4")
	for _, c := range []struct {
		kind     rewards.ActionType
		source   rewards.Stake
		approved bool
		late     time.Duration
		want     bool
	}{
		{rewards.ActionStockMerger, before, false, time.Hour, false},
		{rewards.ActionStockMerger, gone, false, time.Hour, true},
		{rewards.ActionStockMerger, before, true, time.Hour, true},
		{rewards.ActionSpinOff, before, false, time.Hour, true},
		{rewards.ActionStockMerger, gone, true, -time.Hour, false},
	} {
		a := rewards.Action{State: rewards.ActionAnnounced, Boundary: moment(t, "2026-12-02T20:00:00-05:00")}
		a.Type = c.kind
		if c.approved {
			a.ApprovedAt = a.Boundary
		}
		s := rewards.Standing{Now: a.Boundary.Add(c.late), Source: c.source, Target: bought}
		if got := a.PausesTarget(s); got != c.want {
			t.Errorf("%s, %v, approved: %t, %s: %t", c.kind, c.source, c.approved, c.late, got)
		}
	}
}
