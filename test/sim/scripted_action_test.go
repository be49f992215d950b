package sim

import (
	"maps"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// scriptedActions are the faults of corporate actions, and how many decisions of an operator each
// needs.
func scriptedActions() map[string]int {
	return map[string]int{
		"late-announcement": 0, "late-position": 0, "cash-in-lieu": 0, "round-up": 0, "revised": 0, "fraction-reversed": 0,
		"new-asset-id":           0,
		"duplicate-announcement": 1, // the second one is ignored
		"wrong-direction":        1, // the house buys what is missing
		"wrong-ratio":            2, // it is ignored, and the true one entered
		"reversed-ratio":         2,
	}
}

// A split under each fault alone ends with what the model says, with as many decisions of an
// operator as it needs.
func TestEveryScriptedActionFault(t *testing.T) {
	t.Parallel()
	for _, fault := range slices.Sorted(maps.Keys(scriptedActions())) {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runSplit(t, fault) })
		})
	}
}

// runSplit has users buy a stock, and one share become three, under a fault.
func runSplit(t *testing.T, fault string) {
	t.Helper()
	time.Sleep(time.Until(yearBegin().Add(4 * time.Hour))) // 10:00 in New York
	l := newLab(t, 1, labConfig{processes: 1, pollEvery: time.Second, window: time.Second, dailyLimit: 1 << 60, actions: 1})
	l.sync()
	s := l.firms.list[0]
	for i, user := range l.users[0] {
		g := l.world.give(0, user, s.name, 25*money.Dollar+money.USD(i))
		l.promised[user] += g.amount
	}
	l.work(20)
	e := &event{kind: "forward_split", stock: s, keep: big.NewRat(3, 1), terms: rewards.Terms{
		Type: rewards.ActionForwardSplit, Symbol: s.now, OldRate: "1", NewRate: "3",
	}}
	if fault == "new-asset-id" { // of a stock that is renamed
		e = &event{kind: "name_change", stock: s, keep: big.NewRat(1, 1)}
	}
	decisions := l.decisions
	l.announce(e, l.sessionsAhead()[0], fault)
	for range 10 {
		today := rewards.DateOf(time.Now())
		for _, at := range []time.Time{clockOn(today, 20, 1), clockOn(today.Plus(1), 2, 31), clockOn(today.Plus(1), 11, 0)} {
			l.until(at)
			for range 12 {
				l.step(l.procs[0])
				l.lookAtHolders()
				l.sleep(6 * time.Second)
			}
			l.decide()
		}
	}
	if n := l.decisions - decisions; n != scriptedActions()[fault] {
		t.Errorf("%d decisions of the operator, want %d", n, scriptedActions()[fault])
	}
	if booked, theirs := l.positionOf(s); booked != theirs {
		t.Errorf("the brokerage holds %s, booked are %s", theirs, booked)
	}
	l.verify()
	l.verifyEvents()
}
