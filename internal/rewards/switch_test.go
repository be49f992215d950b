package rewards_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	sourceStock rewards.AssetID = 7
	targetStock rewards.AssetID = 8
)

// drawSwitch draws a switch of any kind; it may give shares of the target.
func drawSwitch(t *rapid.T) rewards.Switch {
	ratio := func(name string) rewards.Ratio {
		return rewards.Ratio{Old: rapid.Int64Range(1, 1000).Draw(t, name+" old"), New: rapid.Int64Range(0, 1000).Draw(t, name+" new")}
	}
	s := rewards.Switch{Number: 5, AssetID: sourceStock, Generation: 4, ActionID: "a"}
	s.Keep, s.Ends = ratio("keep"), rapid.Bool().Draw(t, "ends")
	s.Give = rewards.Ratio{Old: 1}
	if rapid.Bool().Draw(t, "gives") {
		part, err := rewards.ParseFraction(rapid.SampledFrom([]string{"0", "1/3", "1/5", "1"}).Draw(t, "part"))
		if err != nil {
			t.Fatal(err)
		}
		s.Target, s.Give, s.Part = targetStock, ratio("give"), part
	}
	return s
}

func drawHolding(t *rapid.T, name string, asset rewards.AssetID, generation int64) rewards.Holding {
	amounts := rapid.Int64Range(0, 1_000_000_000_000)
	return rewards.Holding{
		AssetID: asset, Quantity: money.Shares(amounts.Draw(t, name+" quantity")),
		CostBasis: money.USD(amounts.Draw(t, name+" basis")), Generation: generation,
	}
}

func effectOf(before, after rewards.Holding) rewards.Effect {
	return rewards.Effect{
		AssetID: after.AssetID, Before: before.Quantity, After: after.Quantity,
		BasisBefore: before.CostBasis, BasisAfter: after.CostBasis,
	}
}

// An undo restores every holding exactly, also of the target, and keeps what was bought since.
func TestUndoRestores(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSwitch(t)
		h := drawHolding(t, "source", sourceStock, 3)
		target := rewards.Holding{AssetID: targetStock}
		if s.Target != 0 {
			target = drawHolding(t, "target", targetStock, 2)
		}
		kept, given, err := s.Apply(h, target, rewards.Done{})
		if err != nil {
			t.Fatal(err)
		}
		effects := []rewards.Effect{effectOf(h, kept)}
		if s.Target != 0 {
			given.AssetID = s.Target
			effects = append(effects, effectOf(target, given))
		}
		since := drawHolding(t, "since", sourceStock, 4)
		kept.Quantity, kept.CostBasis = kept.Quantity+since.Quantity, kept.CostBasis+since.CostBasis
		back, backTarget, err := s.Undo().Apply(kept, given, rewards.Done{Effects: effects})
		if err != nil {
			t.Fatal(err)
		}
		if back.Quantity != h.Quantity+since.Quantity || back.CostBasis != h.CostBasis+since.CostBasis {
			t.Fatalf("%+v and %+v since became %+v", h, since, back)
		}
		if s.Target != 0 && (backTarget.Quantity != target.Quantity || backTarget.CostBasis != target.CostBasis) {
			t.Fatalf("of the target %+v became %+v", target, backTarget)
		}
	})
}

// A reader converts what a sweep has not reached, and only that: the result is the same at every
// moment of the sweep.
func TestConvertIsTheSweep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, goal := drawSwitch(t), int64(2)
		list := []rewards.Holding{drawHolding(t, "other", 9, 1), drawHolding(t, "source", sourceStock, 3)}
		target := rewards.Holding{AssetID: s.Target, Generation: goal}
		if s.Target != 0 && rapid.Bool().Draw(t, "has the target") {
			target = drawHolding(t, "target", targetStock, goal)
			list = append(list, target)
		}
		kept, given, err := s.Apply(list[1], target, rewards.Done{})
		if err != nil {
			t.Fatal(err)
		}
		kept.Generation, given.Generation = s.Generation, goal
		want := []rewards.Holding{list[0], kept}
		if len(list) == 3 || s.Target != 0 && (!given.IsEmpty()) {
			want = append(want, given)
		}
		got, err := s.Convert(append([]rewards.Holding(nil), list...), goal, rewards.Done{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("a reader sees (-sweep +reader):\n%s", diff)
		}
		again, err := s.Convert(append([]rewards.Holding(nil), got...), goal, rewards.Done{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("after the sweep a reader sees (-first +second):\n%s", diff)
		}
	})
}

// What the user no longer has is not taken back.
func TestUndoTakesNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	back := rewards.Switch{AssetID: sourceStock, Undoes: 5}
	effect := rewards.Effect{AssetID: sourceStock, Before: 10, After: 40, BasisBefore: 5, BasisAfter: 9}
	kept, _, err := back.Apply(rewards.Holding{AssetID: sourceStock, Quantity: 20, CostBasis: 3}, rewards.Holding{},
		rewards.Done{Effects: []rewards.Effect{effect}})
	check(t, err)
	if !kept.IsEmpty() {
		t.Errorf("20 less 30 became %+v", kept)
	}
}

// From when on trades are in the units after an action, and by how much its price changes.
func TestUnitsAfter(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	before := rewards.Units{From: moment(t, "2026-06-01T20:00:00-04:00"), Ratio: rewards.Ratio{Old: 1, New: 2}}
	for _, c := range []struct {
		kind   rewards.ActionType
		undoes int64
		from   string // "": none
		units  rewards.Ratio
		price  rewards.Ratio
	}{
		{"forward_split", 0, "2026-12-02T20:00:00-05:00", rewards.Ratio{Old: 1, New: 4}, rewards.Ratio{Old: 1, New: 4}},
		{"forward_split", 3, "", rewards.Ratio{}, rewards.Ratio{}},
		{"cash_dividend", 0, "2026-06-01T20:00:00-04:00", before.Ratio, rewards.Ratio{Old: 1, New: 1}},
		{"cash_dividend", 3, "2026-06-01T20:00:00-04:00", before.Ratio, rewards.Ratio{Old: 1, New: 1}},
		{"name_change", 0, "2026-06-01T20:00:00-04:00", before.Ratio, rewards.Ratio{Old: 1, New: 1}},
		{"spin_off", 0, "2026-12-02T20:00:00-05:00", rewards.Ratio{}, rewards.Ratio{}},
		{"spin_off", 3, "", rewards.Ratio{}, rewards.Ratio{}},
		{"cash_merger", 0, "2026-12-02T20:00:00-05:00", rewards.Ratio{}, rewards.Ratio{}},
	} {
		n := fourToOne()
		n.Type = c.kind
		units, price := early.NewAction(n, 7, true).UnitsAfter(rewards.Switch{Undoes: c.undoes}, before)
		want := rewards.Units{Ratio: c.units}
		if c.from != "" {
			want.From = moment(t, c.from)
		}
		if !units.From.Equal(want.From) || units.Ratio != want.Ratio || price != c.price {
			t.Errorf("%s undoing %d: %+v, price %+v", c.kind, c.undoes, units, price)
		}
	}
}

// The ratio of units is that of all changes at their beginning, as far as they have one.
func TestUnitsAfterTwoChanges(t *testing.T) {
	t.Parallel()
	early, _ := stages(t)
	boundary, sooner := moment(t, "2026-12-02T20:00:00-05:00"), moment(t, "2026-12-01T20:00:00-05:00")
	ratio := func(was, is int64) rewards.Ratio { return rewards.Ratio{Old: was, New: is} }
	for name, c := range map[string]struct {
		before rewards.Units
		kind   rewards.ActionType
		undoes int64
		want   rewards.Ratio
	}{
		"two splits on one day":       {rewards.Units{From: boundary, Ratio: ratio(3, 2)}, "forward_split", 0, ratio(3, 8)},
		"that take each other back":   {rewards.Units{From: boundary, Ratio: ratio(4, 1)}, "forward_split", 0, ratio(1, 1)},
		"on two days":                 {rewards.Units{From: sooner, Ratio: ratio(3, 2)}, "forward_split", 0, ratio(1, 4)},
		"the first one":               {rewards.Units{Ratio: ratio(1, 1)}, "forward_split", 0, ratio(1, 4)},
		"after a spin-off":            {rewards.Units{From: boundary}, "forward_split", 0, ratio(1, 4)},
		"a spin-off after it":         {rewards.Units{From: boundary, Ratio: ratio(3, 2)}, "spin_off", 0, ratio(0, 0)},
		"an undo of the second":       {rewards.Units{From: boundary, Ratio: ratio(3, 8)}, "forward_split", 5, ratio(0, 0)},
		"more than a number can have": {rewards.Units{From: boundary, Ratio: ratio(1, 1<<62)}, "forward_split", 0, ratio(1, 4)},
	} {
		n := fourToOne()
		n.Type = c.kind
		units, _ := early.NewAction(n, 7, true).UnitsAfter(rewards.Switch{Undoes: c.undoes}, c.before)
		if units.Ratio != c.want {
			t.Errorf("%s: %+v, want %+v", name, units.Ratio, c.want)
		}
	}
}

// A switch can be taken back when every later one of its stocks is, and not when one of these is in effect again.
func TestCovered(t *testing.T) {
	t.Parallel()
	const stock, other = 1, 2
	two, one := rewards.Ratio{Old: 1, New: 2}, rewards.Ratio{Old: 1, New: 1}
	apply := func(n int64) rewards.Switch {
		return rewards.Switch{Number: n, AssetID: stock, Conversion: rewards.Conversion{Keep: two}}
	}
	back := func(n, undoes int64, keep rewards.Ratio) rewards.Switch {
		return rewards.Switch{Number: n, AssetID: stock, Undoes: undoes, Conversion: rewards.Conversion{Keep: keep}}
	}
	undoOf2 := back(3, 2, one)
	gift := func(n, undoes, given int64) rewards.Switch {
		c := rewards.Conversion{Keep: one, Target: stock, Give: rewards.Ratio{Old: 1, New: given}}
		return rewards.Switch{Number: n, AssetID: other, Undoes: undoes, Conversion: c}
	}
	for _, c := range []struct {
		name  string
		of    rewards.Switch
		later []rewards.Switch
		by    int64
	}{
		{"nothing later", apply(1), nil, 0},
		{"one later", apply(1), []rewards.Switch{apply(2)}, 2},
		{"one that is undone", apply(1), []rewards.Switch{apply(2), undoOf2}, 0},
		{"one that is in effect again", apply(1), []rewards.Switch{apply(2), undoOf2, back(4, 3, two)}, 2},
		{"and undone again", apply(1), []rewards.Switch{apply(2), undoOf2, back(4, 3, two), back(5, 4, one)}, 0},
		{"the undo of an older one", undoOf2, []rewards.Switch{back(4, 1, one)}, 4},
		{"that is taken back", undoOf2, []rewards.Switch{back(4, 1, one), back(5, 4, two)}, 0},
		{"the undo of an older gift", apply(2), []rewards.Switch{gift(3, 1, 0)}, 3},
		{"a gift that is in effect again", apply(2), []rewards.Switch{gift(3, 1, 0), gift(4, 3, 1)}, 0},
		{"a gift since", apply(1), []rewards.Switch{gift(2, 0, 1)}, 2},
		{"a gift that is undone", apply(1), []rewards.Switch{gift(2, 0, 1), gift(3, 2, 0)}, 0},
		{"a gift since the undo", undoOf2, []rewards.Switch{gift(4, 0, 1)}, 0},
	} {
		by, covered := c.of.Covered(c.later)
		if by.Number != c.by || covered != (c.by != 0) {
			t.Errorf("%s: covered %t by %d, want %d", c.name, covered, by.Number, c.by)
		}
	}
}
