package storetest

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// sweepCase is an action that a sweep brings to many holders.
type sweepCase struct {
	terms rewards.Terms
	part  string       // of the cost basis that goes to the new stock, a fraction
	more  money.Shares // what the broker has beyond the expected position
	buys  string       // of which users buy more between the action and its undo
	size  int
}

// sweepCases are actions of AAPL. One of them has more than 1,000 holders, so that its sweep takes several transactions.
func sweepCases() map[string]sweepCase {
	const few, several = 40, 1_560
	return map[string]sweepCase{
		"SweepSplit": {
			terms: rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "2", NewRate: "3"}, buys: "AAPL", size: few,
		},
		"SweepReverseSplit": { // the broker paid fractions in cash: the house owes them
			terms: rewards.Terms{Type: rewards.ActionReverseSplit, OldRate: "10", NewRate: "1"}, more: -5 * money.Share,
			buys: "AAPL", size: few,
		},
		"SweepStockDividend": {
			terms: rewards.Terms{Type: rewards.ActionStockDividend, Rate: "0.05"}, more: 1, buys: "AAPL", size: few,
		},
		"SweepSpinOff": {
			terms: rewards.Terms{Type: rewards.ActionSpinOff, NewSymbol: "KO", OldRate: "4", NewRate: "1"}, part: "1/3",
			buys: "AAPL", size: few,
		},
		"SweepStockMerger": {
			terms: rewards.Terms{Type: rewards.ActionStockMerger, NewSymbol: "KO", OldRate: "1", NewRate: "0.3333"},
			buys:  "KO", size: several,
		},
		"SweepCashMerger": {terms: rewards.Terms{Type: rewards.ActionCashMerger, Rate: "1.5"}, buys: "KO", size: few},
		"SweepNameChange": {terms: rewards.Terms{Type: rewards.ActionNameChange, NewSymbol: "NEW"}, buys: "AAPL", size: few},
	}
}

// sweepContract are the tests of sweeps, one for each case.
func sweepContract() map[string]func(*testing.T, *World) {
	tests := make(map[string]func(*testing.T, *World))
	for name, test := range sweepCases() {
		tests[name] = func(t *testing.T, w *World) { test.run(t, newCrowd(t, w, test.size)) }
	}
	return tests
}

// run checks that a sweep changes nothing that a reader sees, and neither does one that is killed
// after each of its transactions. Afterwards the users and the house have the broker's shares, and
// each holding has its row of effects. The same holds for the undo, with purchases in between.
func (test sweepCase) run(t *testing.T, c *crowd) {
	t.Helper()
	part, err := rewards.ParseFraction(cmp.Or(test.part, "0"))
	check(t, err)
	before := c.read(t, c.Store)
	change, s := c.derive(t, c.announce(t, "it", "AAPL", test.terms), part)
	s.Position = max(0, s.Position+test.more)
	want := before.converted(t, c.aapl, s.Conversion)
	check(t, c.ApplyAction(t.Context(), c.lease, change, s, rewards.Renaming{}))
	s = c.openSwitch(t)
	c.wantHoldings(t, "applied", want)
	c.sweepKilled(t, test.size, want)
	c.wantSwept(t, "swept", s, before, want)
	a, _, err := c.Action(t.Context(), "it")
	check(t, err)
	if a.State != rewards.ActionSwept {
		t.Errorf("the action is %s after its sweep", a.State)
	}
	bought := c.bought(t, test.buys, want)
	undone := bought.undone(c.aapl, before, want)
	a, err = c.UndoAction(t.Context(), "it")
	check(t, err)
	if a.State != rewards.ActionUndoing {
		t.Errorf("the action is %s during its undo", a.State)
	}
	s = c.openSwitch(t)
	c.wantHoldings(t, "undone", undone)
	c.sweepKilled(t, test.size, undone)
	c.wantSwept(t, "the undo is swept", s, bought, undone)
	if a, _, err = c.Action(t.Context(), "it"); err != nil || a.State != rewards.ActionUndone {
		t.Errorf("the action is %s after the sweep of its undo, %v", a.State, err)
	}
}

// sweepKilled sweeps to the end, with another process for each transaction.
func (c *crowd) sweepKilled(t *testing.T, size int, want portfolios) {
	t.Helper()
	const holders = 1_000 // in a transaction
	number, steps := c.openSwitch(t).Number, 0
	for done := false; !done; {
		c.reopen(t)
		c.read(t, c.Store)
		var err error
		done, err = c.Sweep(t.Context(), c.lease, number)
		check(t, err)
		steps++
		c.wantHoldings(t, fmt.Sprint("after ", steps, " transactions"), want)
	}
	if several := size > holders; several != (steps > 1) {
		t.Errorf("the sweep of %d users took %d transactions", size, steps)
	}
	if _, found, err := c.OpenSwitch(t.Context()); err != nil || found {
		t.Errorf("the sweep goes on after its end: %v, %v", found, err)
	}
}

// wantSwept checks the books after a sweep.
func (c *crowd) wantSwept(t *testing.T, when string, s rewards.Switch, before, after portfolios) {
	t.Helper()
	c.wantStored(t, when, after)
	c.wantEffects(t, s, before, after)
	c.wantBooked(t, when)
	if got := c.booked(t, c.aapl); got != s.Position {
		t.Errorf("%s: %s shares are booked, the broker has %s", when, got, s.Position)
	}
	c.wantRows(t, "apps without their stocks", 0, `SELECT count(*) FROM holdings h JOIN effects e ON e.app_id = h.app_id
		AND e.user_id = h.user_id AND e.asset_id = h.asset_id WHERE e.switch = ?1 AND e.asset_id <> ?2 AND NOT EXISTS (
		SELECT 1 FROM app_assets a WHERE a.app_id = h.app_id AND a.asset_id = h.asset_id)`, s.Number, int64(c.aapl))
}

// bought lets some users buy shares of a stock, and returns what they have then.
func (c *crowd) bought(t *testing.T, symbol string, had portfolios) portfolios {
	t.Helper()
	next := had.clone()
	asset := c.Asset(t, symbol)
	for _, u := range c.users[:7] {
		const cost, shares = 3_000_000, 15_000_000
		c.buy(t, u, symbol, cost, shares)
		h := next.of(u.ID, asset.ID)
		h.Quantity, h.CostBasis, h.Generation = h.Quantity+shares, h.CostBasis+cost, asset.Generation
		sorted(next[u.ID])
	}
	c.wantHoldings(t, "after purchases", next)
	c.wantBooked(t, "after purchases")
	return next
}

// testSweepBounds: a transaction reads a bounded number of holdings. One user's may lie on both
// sides of the bound, or be more than that, and most may be of other stocks.
func testSweepBounds(t *testing.T, w *World) {
	const stocks, size, least = 4_200, 24, 6 // two users have more than the 4,000 holdings of a read
	c := newCrowd(t, w, size)
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		var rows [][]any
		for i := range stocks {
			rows = append(rows, []any{fmt.Sprint("MANY", i)})
		}
		if _, err := tx.ExecEach(ctx, `INSERT INTO assets (symbol, name) VALUES (?1, ?1)`, rows); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis)
			SELECT u.app_id, u.id, a.id, 1, 1 FROM users u CROSS JOIN assets a WHERE a.symbol LIKE 'MANY%'
			AND (a.id % 6 = 0 OR u.external_id IN ('holder-1', 'holder-4')) `+unbounded)
		return err
	}))
	before := c.read(t, c.Store)
	c.planted = before
	change, s := c.derive(t, c.announce(t, "it", "AAPL", rewards.Terms{
		Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "4",
	}), rewards.Fraction{})
	want := before.converted(t, c.aapl, s.Conversion)
	check(t, c.ApplyAction(t.Context(), c.lease, change, s, rewards.Renaming{}))
	s = c.openSwitch(t)
	steps := 0
	for done := false; !done; steps++ {
		var err error
		done, err = c.Sweep(t.Context(), c.lease, s.Number)
		check(t, err)
		c.wantHoldings(t, fmt.Sprint("after part ", steps), want)
	}
	if steps < least {
		t.Errorf("the sweep took %d transactions, want at least %d", steps, least)
	}
	c.wantEffects(t, s, before, want)
	c.wantBooked(t, "swept")
}
