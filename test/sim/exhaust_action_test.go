package sim

import (
	"fmt"
	"math/big"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// TestActionsExhaustively has a split and a dividend happen with every fault at every write about
// corporate actions, with some of the faults at every other effect, and with some pairs of faults.
// The books are those of the model each time.
func TestActionsExhaustively(t *testing.T) {
	t.Parallel()
	var points, singles, doubles atomic.Int64
	t.Run("lives", func(t *testing.T) {
		for _, kind := range []string{"split", "cash_dividend"} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				inActionTrial(t, kind, func(x *actionTrial) {
					points.Add(int64(x.everySingle()))
					singles.Add(int64(x.lives))
				})
			})
			t.Run(kind+" pairs", func(t *testing.T) {
				t.Parallel()
				inActionTrial(t, kind, func(x *actionTrial) {
					x.somePairs()
					doubles.Add(int64(x.lives))
				})
			})
		}
	})
	t.Logf("%d effects, %d lives with one fault, %d with two", points.Load(), singles.Load(), doubles.Load())
	if points.Load() < 100 || singles.Load() < 100 || doubles.Load() < 20 {
		t.Error("too few lives were tried")
	}
}

// actionTrial repeats a corporate action with faults.
type actionTrial struct {
	*trial

	kind string
}

func inActionTrial(t *testing.T, kind string, f func(*actionTrial)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(yearBegin().AddDate(0, 0, -1)))
		l := newLab(t, *seed, labConfig{processes: 1, pollEvery: time.Second, window: time.Second, dailyLimit: 1 << 60, actions: 1})
		x := &actionTrial{&trial{lab: l}, kind}
		l.faultAt = x.strike
		l.sync()
		x.runLife()
		f(x)
		if !t.Failed() {
			l.faultAt = func(*process, effect) string { return "" }
			l.recover()
			l.verify()
			l.verifyEvents()
		}
	})
}

// sampled is one in how many faults is tried at an effect that is no write about corporate actions.
func sampled(e effect) int {
	if e.row == rowAction {
		return 1
	}
	return *pairs / 2
}

// everySingle tries every fault at the writes about the action, and some at the other effects. It
// returns the number of effects.
func (x *actionTrial) everySingle() int {
	points, n := slices.Clone(x.seen), 0
	for i, e := range points {
		for _, kind := range faultsOf(e) {
			n++
			if n%max(1, sampled(e)) == 0 {
				x.runLife(plannedFault{i + 1, kind})
			}
		}
	}
	return len(points)
}

// somePairs tries a sample of the pairs of faults whose first one is at a write about the action.
func (x *actionTrial) somePairs() {
	points, n, share := slices.Clone(x.seen), 0, *pairs
	if share > 1 {
		share *= 40
	}
	for i, e := range points {
		for _, kind := range faultsOf(e) {
			for later := i + 1; e.row == rowAction && later < len(points); later++ {
				for _, second := range faultsOf(points[later]) {
					n++
					if n%share == 0 {
						x.runLife(plannedFault{i + 1, kind}, plannedFault{later + 1, second})
					}
				}
			}
		}
	}
}

// runLife buys a stock, has the action happen with faults, and compares the books with the model.
func (x *actionTrial) runLife(plan ...plannedFault) {
	if x.t.Failed() {
		return
	}
	x.lives++
	x.begin()
	x.note("life %d: %s with %v", x.lives, x.kind, plan)
	s := x.firms.list[0]
	g := &given{app: 0, user: x.users[0][x.lives%2], key: fmt.Sprintf("life-%06d", x.lives), amount: 25*money.Dollar + 1, symbol: s.name}
	x.given, x.unsure = append(x.given, g), append(x.unsure, g)
	x.give(g)
	x.workOn(g, 25)
	x.plan, x.seen = plan, nil
	e := x.announceOne(s)
	x.steps(3)
	x.until(e.boundary.Add(time.Minute))
	x.steps(2)
	x.until(e.at.Add(time.Minute))
	x.steps(6)
	if e.kind == cashDividend {
		x.until(e.at.Add(24*time.Hour + time.Minute))
		x.steps(5)
	}
	seen := x.seen
	x.plan = nil
	x.brokerage.RemoveFault(0)
	for range 12 {
		if e.swept && x.paid(e) {
			break
		}
		x.steps(3)
		x.decideActions()
	}
	x.seen = seen
	if !e.applied || !e.swept || !x.paid(e) {
		x.violate("in the end everything that happened is applied", e.id, "%+v with %v", *e, plan)
	}
	e.over()
	x.compareFirm(s)
	if by := x.unbookedOf(s); by != 0 {
		x.violate("the account holds what was booked", s.name, "%s, with %v", by, plan)
	}
}

func (x *actionTrial) announceOne(s *firm) *event {
	e := &event{kind: x.kind, stock: s, keep: big.NewRat(1, 1)}
	var text string
	ex := x.sessionsAhead()[0]
	switch x.kind {
	case cashDividend:
		text = fmt.Sprintf(`{"type":"cash_dividend","symbol":%q,"rate":%s,"ex_date":%q,"payable_date":%q}`, s.now,
			s.nextRate(), ex, ex.Plus(1)) // another rate than that of the life before, so that it is no repetition
	default:
		by := int64(2 + x.lives/2%8) // the same ratio within ten days would be taken for a repetition
		e.kind, e.keep, text = "forward_split", big.NewRat(by, 1), `"old_rate":1,"new_rate":%d`
		if x.lives%2 == 1 {
			e.kind, e.keep, text = "reverse_split", big.NewRat(1, by), `"old_rate":%d,"new_rate":1`
		}
		text = fmt.Sprintf(`{"type":%q,"symbol":%q,"ex_date":%q,`+text+`}`, e.kind, s.now, ex, by)
	}
	e.terms = rewards.Terms{Type: rewards.ActionType(e.kind), Symbol: s.now, ExDate: ex}
	if e.kind != cashDividend {
		e.terms.OldRate, e.terms.NewRate = e.keep.Denom().String(), e.keep.Num().String()
	}
	x.post(e, ex, text)
	return e
}

// paid reports whether the cash of a dividend was paid out.
func (x *actionTrial) paid(e *event) bool {
	if e.kind != cashDividend {
		return true
	}
	_, paid := x.effects(e.id)
	return paid
}

func (x *actionTrial) steps(n int) {
	for range n {
		if x.t.Failed() {
			return
		}
		for _, p := range x.procs {
			x.step(p)
		}
		x.lookAtHolders()
		x.sleep(16 * time.Second)
	}
}
