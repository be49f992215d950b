package rewards_test

import (
	"fmt"
	"strings"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// award is a book of an award of stock 1 that one order bought.
func award(n byte, amount money.USD, shares money.Shares, backs ...rewards.Back) rewards.AwardBook {
	return rewards.AwardBook{
		ID: rewards.RewardID{n}, Amount: amount, Executed: true, Backs: backs,
		Parts: []rewards.Part{{AssetID: 1, Shares: shares}},
	}
}

func back(amount money.USD, after int64) rewards.Back {
	return rewards.Back{Amount: amount, After: after}
}

// split is the switch of that number of stock 1, from Old shares to New ones.
func split(number, before, after int64) rewards.Switch {
	return rewards.Switch{
		Number: number, AssetID: 1, Generation: number,
		Conversion: rewards.Conversion{Keep: rewards.Ratio{Old: before, New: after}, Give: rewards.Ratio{Old: 1}},
	}
}

// gives is a switch that gives New shares of stock 2 for Old of stock 1, with a part of the basis.
func gives(t *testing.T, number, before, after int64, part string, merger bool) rewards.Switch {
	t.Helper()
	w := split(number, 1, 1)
	w.Target, w.Give, w.Ends = 2, rewards.Ratio{Old: before, New: after}, merger
	if merger {
		w.Keep.New = 0
	}
	var err error
	w.Part, err = rewards.ParseFraction(part)
	check(t, err)
	return w
}

func undo(w rewards.Switch, number int64) rewards.Switch {
	u := w.Undo()
	u.Number, u.Generation = number, number
	return u
}

func numbered(w rewards.Switch, number int64) rewards.Switch {
	w.Number = number
	return w
}

// shown prints the lots of an award: shares and basis of each stock.
func shown(l *rewards.AwardLots) string {
	var b strings.Builder
	for _, lot := range l.List {
		fmt.Fprintf(&b, "%d: %d for %d; ", lot.AssetID, lot.Shares, lot.Basis)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// What reversals and corporate actions leave of an award (additions, section 1).
func TestLots(t *testing.T) {
	t.Parallel()
	merger := gives(t, 1, 4, 3, "1", true)
	spinOff := gives(t, 1, 10, 3, "1/4", false)
	cash := split(1, 1, 0)
	cash.Ends = true
	two := split(2, 1, 2)
	two.AssetID = 2
	undone := undo(two, 3)
	again := numbered(undone.Redo(two.Conversion), 5)
	later := gives(t, 4, 10, 3, "1/4", false)
	half := award(1, 100, 11)
	half.Parts = append(half.Parts, rewards.Part{AssetID: 1, Generation: 1, Shares: 10})
	for _, c := range []struct {
		name     string
		book     rewards.AwardBook
		switches []rewards.Switch
		want     string
	}{
		{"bought", award(1, 100, 10), nil, "1: 10 for 100"},
		{"rounded down for the house", award(1, 100, 10, back(39, 0)), nil, "1: 7 for 61"},
		{"added up, not rounded one by one", award(1, 100, 10, back(39, 0), back(1, 0)), nil, "1: 6 for 60"},
		{"all of it", award(1, 100, 10, back(39, 0), back(61, 0)), nil, "1: 0 for 0"},
		{"a split begins again", award(1, 100, 10, back(39, 0), back(30, 1)), []rewards.Switch{split(1, 1, 3)}, "1: 11 for 31"},
		{"by the shares that are left", award(1, 100, 10, back(50, 0), back(49, 1)), []rewards.Switch{split(1, 2, 1)}, "1: 1 for 1"},
		{
			"an undo recomputes from the dollars", award(1, 100, 10, back(50, 1)),
			[]rewards.Switch{split(1, 3, 1), undo(split(1, 3, 1), 2)},
			"1: 5 for 50",
		},
		{
			"an undo goes on with what was reversed before", award(1, 100, 10, back(25, 0), back(24, 1), back(50, 2)),
			[]rewards.Switch{split(1, 3, 1), undo(split(1, 3, 1), 2)},
			"1: 1 for 1",
		},
		{"a spin-off", award(1, 100, 10, back(50, 1)), []rewards.Switch{spinOff}, "1: 5 for 37; 2: 2 for 13"},
		{"all after a spin-off", award(1, 100, 10, back(50, 1), back(50, 1)), []rewards.Switch{spinOff}, "1: 0 for 0; 2: 0 for 0"},
		{
			"a spin-off undone", award(1, 100, 10, back(50, 1)),
			[]rewards.Switch{spinOff, undo(spinOff, 2)},
			"1: 5 for 50",
		},
		{
			"given between an undo and taking it back", award(1, 100, 10),
			[]rewards.Switch{spinOff, two, undone, later, again},
			"1: 10 for 57; 2: 9 for 43",
		},
		{
			"the same, taken back meanwhile", award(1, 100, 10, back(20, 3), back(30, 4), back(10, 5)),
			[]rewards.Switch{spinOff, two, undone, later, again},
			"1: 4 for 22; 2: 4 for 18",
		},
		{
			"given and undone meanwhile", award(1, 100, 10),
			[]rewards.Switch{spinOff, two, undone, later, undo(later, 5), numbered(again, 6)},
			"1: 10 for 75; 2: 6 for 25",
		},
		{
			"given again meanwhile", award(1, 100, 10),
			[]rewards.Switch{
				spinOff, numbered(later, 2), undo(numbered(later, 2), 3), numbered(two, 4), undo(numbered(two, 4), 5),
				numbered(undo(numbered(later, 2), 3).Redo(later.Conversion), 6),
				numbered(undo(numbered(two, 4), 5).Redo(two.Conversion), 7),
			},
			"1: 10 for 57; 2: 9 for 43",
		},
		{"a merger", award(1, 100, 11, back(50, 1)), []rewards.Switch{merger}, "1: 0 for 0; 2: 4 for 50"},
		{"a merger undone", award(1, 100, 11, back(50, 1)), []rewards.Switch{merger, undo(merger, 2)}, "1: 6 for 50"},
		{"for cash: no basis is left", award(1, 100, 11, back(50, 1)), []rewards.Switch{cash}, "1: 0 for 0"},
		{"bought in two parts around a split", half, []rewards.Switch{split(1, 2, 1)}, "1: 15 for 100"},
	} {
		all, err := rewards.ReplayBooks([]rewards.AwardBook{c.book}, c.switches)
		check(t, err)
		if got := shown(all[c.book.ID]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The lots of several awards add up to what a switch makes of their holding.
func TestLotsAddUpToTheHolding(t *testing.T) {
	t.Parallel()
	books := []rewards.AwardBook{award(3, 100, 7), award(1, 50, 5), award(2, 70, 9, back(35, 0))}
	all, err := rewards.ReplayBooks(books, []rewards.Switch{split(1, 3, 1)})
	check(t, err)
	for n, want := range map[byte]string{1: "1: 1 for 50", 2: "1: 2 for 35", 3: "1: 2 for 100"} { // 5, 5 and 7 shares
		if got := shown(all[rewards.RewardID{n}]); got != want {
			t.Errorf("award %d: %s, want %s", n, got, want)
		}
	}
}

// More than what is left cannot be taken, and the stock of a merger is the award's.
func TestTake(t *testing.T) {
	t.Parallel()
	all, err := rewards.ReplayBooks([]rewards.AwardBook{award(1, 100, 10)}, []rewards.Switch{gives(t, 1, 1, 2, "1", true)})
	check(t, err)
	lots := all[rewards.RewardID{1}]
	if _, err := lots.Copy().Take(101); err == nil {
		t.Error("101 of 100 were taken")
	}
	takings, err := lots.Take(10)
	check(t, err)
	if want := (rewards.Taking{AssetID: 2, Quantity: 2, Basis: 10}); len(takings) != 1 || takings[0] != want || lots.Main != 2 {
		t.Errorf("takings %+v of the main stock %d", takings, lots.Main)
	}
}
