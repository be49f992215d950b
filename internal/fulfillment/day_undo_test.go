package fulfillment_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// An operator applies, revokes and undoes the actions of a random day at random, then takes all of them back and applies
// them in the order of the broker. Users have what that order makes of their shares, and the books are the broker's.
func TestActionsOfRandomDaysTakenBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"auto", "review", "outage", "restart"} {
		for _, lieu := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cash in lieu %t", mode, lieu), func(t *testing.T) {
				t.Parallel()
				// They found a merger that left out what was given since, a split that was undone before a merger into its
				// stock, a spin-off that left out what such a merger gave, and one that booked the shares of a dividend.
				seeds := []uint64{2031, 2006, 4094, 4114}
				for seed := *daySeed; seed < *daySeed+*daySeeds; seed++ {
					seeds = append(seeds, seed)
				}
				for _, seed := range seeds {
					t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
						inDay(t, mode, func(w *world) {
							d := randomDay(w, dayCase{mode, lieu, 2}, seed)
							d.begin()
							d.confuse()
							d.applyAgain()
							d.verify()
						})
					})
				}
			})
		}
	}
}

// Days whose actions are undone, the newest first, and applied again in the order of the broker.
func TestActionsOfDaysTakenBack(t *testing.T) {
	t.Parallel()
	const aapl, ko, xyz = 0, 1, 2
	for name, c := range map[string]struct {
		mode    string
		dollars [3]int64
		deeds   []deed
		first   int // which deed an operator applies first; the other one follows by itself
	}{
		"two gifts of one stock": {"auto", [3]int64{5000, 3000, 4000}, []deed{
			{kind: "spin_off", source: xyz, target: ko, old: 3, new: 1}, {kind: "spin_off", source: xyz, target: ko, old: 2, new: 1},
		}, 0},
		"the wrong order": {"auto", [3]int64{500, 300, 161}, []deed{
			{kind: "spin_off", source: xyz, target: ko, old: 2, new: 1}, {kind: "reverse_split", source: xyz, old: 3, new: 1},
		}, 1},
		"a gift beside a held dividend": {"review", [3]int64{900, 300, 380}, []deed{
			{kind: "spin_off", source: xyz, target: aapl, old: 9, new: 1}, {kind: "stock_dividend", source: xyz, old: 20, new: 23},
		}, 0},
		"a split beside a held dividend": {"outage", [3]int64{500, 300, 5531}, []deed{
			{kind: "reverse_split", source: xyz, old: 8, new: 1}, {kind: "stock_dividend", source: xyz, old: 20, new: 23},
		}, 0},
		"a dividend, then a merger": {"outage", [3]int64{3100, 300, 3217}, []deed{
			{kind: "stock_dividend", source: aapl, old: 20, new: 23}, {kind: "stock_merger", source: aapl, target: xyz, old: 2, new: 4},
		}, 0},
		"a split, then a merger": {"review", [3]int64{281, 300, 500}, []deed{
			{kind: "reverse_split", source: aapl, old: 6, new: 1}, {kind: "stock_merger", source: aapl, target: ko, old: 1, new: 1},
		}, 1},
		"a new symbol, then a split": {"review", [3]int64{500, 300, 5000}, []deed{
			{kind: "name_change", source: xyz, old: 1, new: 1}, {kind: "reverse_split", source: xyz, old: 10, new: 1},
		}, 1},
		"a gift into a stock that is renamed": {"auto", [3]int64{3000, 1300, 300}, []deed{
			{kind: "spin_off", source: aapl, target: ko, old: 6, new: 1}, {kind: "renaming_split", source: ko, old: 4, new: 1},
		}, 0},
		"a merger before a dividend": {"review", [3]int64{300, 265, 263}, []deed{
			{kind: "stock_merger", source: ko, target: xyz, old: 4, new: 2}, {kind: "stock_dividend", source: xyz, old: 20, new: 22},
		}, 1},
	} {
		for _, lieu := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cash in lieu %t", name, lieu), func(t *testing.T) {
				t.Parallel()
				inDay(t, c.mode, func(w *world) {
					r := rand.New(rand.NewPCG(1, 1))
					d := newDay(w, dayCase{c.mode, lieu, len(c.deeds)}, r, [][]int64{c.dollars[:]}, slices.Clone(c.deeds))
					d.begin()
					if d.action(d.deeds[c.first].id).State == rewards.ActionHeld {
						d.approve(d.deeds[c.first].id)
						d.run(30 * time.Second)
					}
					d.applyAgain()
					d.verify()
				})
			})
		}
	}
}

// An action is not undone while a newer one that gave shares of one of its stocks is applied: that one is undone first.
func TestAnUndoBeforeThatOfANewerGift(t *testing.T) {
	t.Parallel()
	const aapl, ko, xyz = 0, 1, 2
	for name, newer := range map[string]deed{
		"into the stock":    {kind: "spin_off", source: ko, target: xyz, old: 3, new: 1},
		"of the same stock": {kind: "spin_off", source: ko, target: aapl, old: 9, new: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inDay(t, "auto", func(w *world) {
				deeds := []deed{{kind: "spin_off", source: xyz, target: aapl, old: 8, new: 1}, newer}
				d := newDay(w, dayCase{"auto", false, 2}, rand.New(rand.NewPCG(1, 1)), [][]int64{{500, 300, 400}}, deeds)
				d.begin()
				_, err := d.operator("action undo").UndoAction(d.t.Context(), d.deeds[0].id)
				if want := "the action " + d.deeds[1].id + " was applied after it: undo that one first"; !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("%v, want %s", err, want)
				}
				d.applyAgain()
				d.verify()
			})
		})
	}
}

// begin has the broker do the deeds of the day.
func (d *day) begin() {
	d.t.Helper()
	if d.lieu {
		d.afflict("cash-in-lieu")
	}
	d.announceAll(d.deeds)
	d.run(20 * time.Second)
	for _, e := range d.deeds {
		d.t.Logf("the broker does %s", e)
		for _, shares := range d.shares {
			e.happen(shares)
		}
	}
	d.pass()
}

// confuse has an operator decide at random. What cannot be done is refused.
func (d *day) confuse() {
	d.t.Helper()
	for range 3 + d.random.IntN(6) {
		e := d.deeds[d.random.IntN(len(d.deeds))]
		ctx := d.t.Context()
		var what string
		var err error
		switch k := d.random.IntN(8); {
		case k < 4:
			what = "apply"
			_, err = d.operator("action apply").ApproveAction(ctx, e.id, k == 0)
		case k < 6:
			what = "undo"
			_, err = d.operator("action undo").UndoAction(ctx, e.id)
		default:
			what = "restart"
			d.restart()
		}
		d.t.Logf("%s of %s: %v; it is %s", what, e, err, d.action(e.id).State)
		d.run([]time.Duration{0, 3 * time.Second, 20 * time.Second}[d.random.IntN(3)])
	}
	d.run(time.Minute)
}

// applyAgain has an operator undo what is applied, the newest first, and apply all in the order of the broker.
func (d *day) applyAgain() {
	d.t.Helper()
	for range 3 * len(d.deeds) {
		var applied []rewards.Action
		for _, e := range d.deeds {
			if a := d.action(e.id); a.State == rewards.ActionSwept {
				applied = append(applied, a)
			}
		}
		if len(applied) == 0 {
			break
		}
		last := slices.MaxFunc(applied, func(a, b rewards.Action) int { return a.AppliedAt.Compare(b.AppliedAt) })
		if _, err := d.operator("action undo").UndoAction(d.t.Context(), last.ID); err != nil {
			d.t.Logf("undo of %s: %v", last.ID, err)
			for _, e := range d.deeds { // those that were undone after it
				if d.action(e.id).State == rewards.ActionUndone {
					d.approve(e.id)
				}
			}
		}
		d.run(20 * time.Second)
	}
	for range 3 {
		for _, e := range d.deeds {
			if a := d.action(e.id); a.State == rewards.ActionSwept || a.WaitsFor != "" {
				continue
			}
			_, err := d.operator("action apply").ApproveAction(d.t.Context(), e.id, false)
			d.run(20 * time.Second)
			a := d.action(e.id)
			d.t.Logf("apply of %s: %v; it is %s: %s", e, err, a.State, a.Note)
		}
	}
	d.run(time.Minute)
}

// doubted reports whether an alarm says that the broker's position in a stock is not the one in the books.
func (d *day) doubted(id rewards.AssetID) bool {
	d.t.Helper()
	return slices.ContainsFunc(d.actionsOf(rewards.ActionHeld), func(a rewards.Action) bool {
		return a.AssetID == id && strings.Contains(a.Note, "the broker's position does not agree")
	})
}
