package rewards_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// An action waits for the undo of a later one if one of the two gives shares that the other one changes.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	action := func(kind rewards.ActionType, ex rewards.Date, state rewards.ActionState) rewards.Action {
		a := rewards.Action{ID: string(kind) + string(ex), AssetID: 7, State: state}
		a.Type, a.ExDate, a.OldRate, a.NewRate, a.Rate = kind, ex, "1", "3", "1"
		if kind == "reverse_split" {
			a.OldRate, a.NewRate = "3", "1"
		}
		return a
	}
	const before, after, swept, due = "2026-12-03", "2026-12-04", rewards.ActionSwept, rewards.ActionAnnounced
	other := action("forward_split", after, swept)
	other.AssetID = 8
	for name, c := range map[string]struct {
		a, b rewards.Action
		want bool
	}{
		"a spin-off, after a split":        {action("spin_off", before, due), action("forward_split", after, swept), true},
		"while its sweep goes on":          {action("spin_off", before, due), action("forward_split", after, rewards.ActionApplied), true},
		"a stock dividend, after a merger": {action("stock_dividend", before, due), action("stock_merger", after, swept), true},
		"a split, after a spin-off":        {action("reverse_split", before, due), action("spin_off", after, swept), true},
		"two splits":                       {action("reverse_split", before, due), action("forward_split", after, swept), false},
		"two spin-offs":                    {action("spin_off", before, due), action("spin_off", after, swept), false},
		"a dividend in cash":               {action("cash_dividend", before, due), action("forward_split", after, swept), false},
		"not applied":                      {action("spin_off", before, due), action("forward_split", after, due), false},
		"undone":                           {action("spin_off", before, due), action("forward_split", after, rewards.ActionUndone), false},
		"of an earlier day":                {action("spin_off", after, due), action("forward_split", before, swept), false},
		"of the same day":                  {action("spin_off", after, due), action("forward_split", after, swept), false},
		"of another stock":                 {action("spin_off", before, due), other, false},
	} {
		if _, got := c.a.Overtaken([]rewards.Action{c.b}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	first, last := action("forward_split", after, swept), action("reverse_split", after, swept)
	first.AppliedAt, last.AppliedAt = time.Unix(1, 0), time.Unix(2, 0)
	if by, _ := action("spin_off", before, due).Overtaken([]rewards.Action{last, first}); by.ID != last.ID {
		t.Errorf("the one to undo is %s, want the last: %s", by.ID, last.ID)
	}
}

// An action touches the stock that it changes and the one that it gives. A doubt about a position touches none.
func TestTouches(t *testing.T) {
	t.Parallel()
	one, third := rewards.NamedStock{ID: 1, Symbol: "ONE"}, rewards.NamedStock{ID: 3, Symbol: "THREE"}
	other := rewards.Asset{ID: 2, Symbol: "TWO"}.Named("OLD")
	action := func(kind rewards.ActionType, of rewards.AssetID, gives string) rewards.Action {
		return rewards.Action{
			AssetID: of, State: rewards.ActionHeld, Terms: rewards.Terms{Type: kind, NewSymbol: gives, OldRate: "1", NewRate: "2"},
		}
	}
	for name, c := range map[string]struct {
		a    rewards.Action
		want bool
	}{
		"of the first":          {action("forward_split", 1, ""), true},
		"of the second":         {action("forward_split", 2, ""), true},
		"gives the second":      {action("stock_merger", 3, "TWO"), true},
		"gives it as announced": {action("stock_merger", 3, "OLD"), true},
		"gives the first":       {action("spin_off", 3, "ONE"), true},
		"of another":            {action("forward_split", 3, ""), false},
		"gives another":         {action("stock_merger", 3, "FOUR"), false},
		"is named as the first": {action("name_change", 3, "ONE"), false},
		"gives nothing known":   {action("stock_merger", 3, ""), false},
		"a doubt":               {action("position", 1, ""), false},
	} {
		if got := c.a.Touches(one, other); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	for _, a := range []rewards.Action{action("forward_split", 1, ""), action("stock_merger", 1, "")} {
		if a.Touches(third, rewards.Asset{}.Named("OLD")) {
			t.Errorf("a %s touches another stock", a.Type)
		}
	}
}

// The broker has no share of a stock left, and paid for the fraction in cash. Users have it: for them the order of two
// actions matters, although it changes no position.
func TestTheOrderOfActionsOfOwedShares(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	spinOff, dividend := fourToOne(), fourToOne()
	spinOff.Type, spinOff.NewSymbol, spinOff.OldRate, spinOff.NewRate = rewards.ActionSpinOff, "KO", "2", "1"
	dividend.ID, dividend.Type, dividend.Rate = "dividend", rewards.ActionStockDividend, "0.1"
	a, b := early.NewAction(spinOff, 7, true), early.NewAction(dividend, 7, true)
	c, err := a.Conversion(8, rewards.Fraction{})
	check(t, err)
	e, changes, err := a.ImpactOf(b, rewards.NamedStock{ID: 7}, rewards.NamedStock{ID: 8}, rewards.Stake{})
	check(t, err)
	if !changes {
		t.Fatal("the dividend changes nothing")
	}
	for owed, want := range map[money.Shares]rewards.Sequence{
		0: rewards.SequenceFirst, money.Share / 2: rewards.SequenceEither,
	} {
		s := rewards.Standing{Source: rewards.Stake{Owed: owed}, Others: []rewards.Impact{e}}
		if got := a.SequenceTo(b.ID, c, s); got != want {
			t.Errorf("with %s owed shares: %d, want %d", owed, got, want)
		}
	}
}

// A merger has ended its stock at the broker: a split of the stock that it gives came after it, although the position is
// also what the split alone makes.
func TestTheOrderBesideAMergerThatHappened(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	split, merger := fourToOne(), fourToOne()
	split.Type, split.OldRate, split.NewRate = rewards.ActionReverseSplit, "10", "1"
	merger.ID, merger.Type, merger.Symbol, merger.NewSymbol = "merger", rewards.ActionStockMerger, "KO", split.Symbol
	merger.OldRate, merger.NewRate = "4", "1"
	a, b := early.NewAction(split, 7, true), early.NewAction(merger, 8, true)
	c, err := a.Conversion(0, rewards.Fraction{})
	check(t, err)
	for theirs, want := range map[string]rewards.Sequence{
		"0": rewards.SequenceSecond, "22.342571478": rewards.SequenceFirst,
	} {
		others := stake(t, "22.342571478", theirs)
		stock := rewards.NamedStock{ID: 7, Symbol: split.Symbol}
		impacts, err := a.ImpactsOf(b, stock, rewards.NamedStock{}, others, []money.Shares{others.Booked})
		check(t, err)
		s := rewards.Standing{Source: stake(t, "110", "11"), Others: impacts}
		if got := a.SequenceTo(b.ID, c, s); got != want {
			t.Errorf("with %s shares of the merger's stock: %d, want %d", theirs, got, want)
		}
	}
}

// A split left a fraction of the stock of a merger. When the broker paid for it in cash, another split fits before the
// merger, too.
func TestTheOrderAfterASplitOfTheDay(t *testing.T) {
	t.Parallel()
	early, due := stages(t)
	first, second, merger := fourToOne(), fourToOne(), fourToOne()
	first.Type, first.OldRate, first.NewRate = rewards.ActionReverseSplit, "9", "1"
	second.ID, second.OldRate, second.NewRate = "second", "1", "2"
	merger.ID, merger.Type, merger.NewSymbol, merger.OldRate, merger.NewRate = "merger", rewards.ActionStockMerger, "KO", "3", "2"
	applied := due.Applied(early.NewAction(first, 7, true))
	a, b := early.NewAction(merger, 7, true), early.NewAction(second, 7, true)
	c, err := a.Conversion(8, rewards.Whole())
	check(t, err)
	e, _, err := a.ImpactOf(b, rewards.NamedStock{ID: 7}, rewards.NamedStock{ID: 8}, rewards.Stake{})
	check(t, err)
	for _, test := range []struct {
		name string
		list []rewards.Action
		want rewards.Sequence
	}{
		{"none", []rewards.Action{a, b}, rewards.SequenceFirst},
		{"applied", []rewards.Action{a, b, applied}, rewards.SequenceEither},
	} {
		s := rewards.Standing{Split: a.SplitBy(test.list), Others: []rewards.Impact{e}}
		s.Source, s.Target = stake(t, "1.800853651", "0"), stake(t, "91.970352069", "92.970352069")
		if got := a.SequenceTo(b.ID, c, s); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
