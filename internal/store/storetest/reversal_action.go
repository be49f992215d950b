package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testReversalsWait: while a sweep changes a stock, its rewards cannot be taken back; others can.
func testReversalsWait(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	w.SplitInTwo(t, "split")
	n := w.back(r, 1_000_000)
	wantCode(t, w.reverse(t, n).Refused, rewards.CodeUnavailable)
	_, _, err := w.ReverseReward(t.Context(), r.ID, 1, "by the operator")
	check(t, err)
	done, err := w.CompleteReversals(t.Context(), w.lease)
	check(t, err)
	w.sweep(t)
	if v := w.reversed(t, n); done != 0 || v.Quantity != 10_000_000 {
		t.Errorf("during the sweep %d were completed; after it %+v", done, v)
	}
	done, err = w.CompleteReversals(t.Context(), w.lease)
	check(t, err)
	w.wantHolding(t, 9_999_990, 999_999)
	if done != 1 {
		t.Errorf("after the sweep %d were completed", done)
	}
}

// testReversalsAfterASplit: what was bought after a split is taken back by its own figures, what was bought before it
// by those of all awards of the user.
func testReversalsAfterASplit(t *testing.T, w *World) {
	before := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_001, dollar200))
	w.SplitInTwo(t, "split")
	w.sweep(t)
	after := w.Give(t, 3_000_000)
	v := w.reversed(t, w.back(after, 1_000_000))
	check(t, w.Settle(t, w.Open(t), "filled", 30_000_001, dollar200))
	w.wantHolding(t, 20_000_002+20_000_001, 4_000_000)
	v, err := w.Reversal(t.Context(), v.AppID, v.ID)
	check(t, err)
	if second := w.reversed(t, w.back(after, 1_000_000)); v.Quantity != 10_000_000 || second.Quantity != 10_000_000 {
		t.Errorf("a third of what was bought after the split is %s, then %s", v.Quantity, second.Quantity)
	}
	if v := w.reversed(t, w.back(before, 500_000)); v.Quantity != 5_000_000 {
		t.Errorf("a quarter of what the split doubled is %s", v.Quantity)
	}
	w.wantHolding(t, 15_000_002+10_000_001, 2_500_000)
}

// testReversalsUndone: the undo of an action recomputes from the dollars what was taken back since.
func testReversalsUndone(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	terms := rewards.Terms{Type: rewards.ActionReverseSplit, OldRate: "3", NewRate: "1"}
	c, s := w.derive(t, w.announce(t, "reverse split", "AAPL", terms), rewards.Fraction{})
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	w.sweep(t)
	if v := w.reversed(t, w.back(r, 1_000_000)); v.Quantity != 1_666_666 {
		t.Errorf("half of 3,333,333 billionths is %s", v.Quantity)
	}
	w.wantHolding(t, 1_666_667, 1_000_000)
	check(t, failure(w.UndoAction(t.Context(), "reverse split")))
	w.sweep(t)
	w.wantHolding(t, 5_000_000, 1_000_000)
	w.reversed(t, w.back(r, 0))
	w.wantHolding(t, 0, 0)
}

// lateDividend records who held AAPL at the boundary of a dividend that became known only now.
func (w *World) lateDividend(t *testing.T, boundary time.Time) []rewards.Effect {
	t.Helper()
	a := w.announce(t, "dividend", "AAPL", rewards.Terms{Type: rewards.ActionCashDividend, Rate: "1"})
	c, s := w.derive(t, a, rewards.Fraction{})
	s.EntitledAt = boundary
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	w.sweep(t)
	list, err := w.Switches(t.Context(), "dividend")
	check(t, err)
	return w.effects(t, list[0].Number)
}

// testReversalsAndDividends: who is entitled to a dividend does not change when shares are taken back
// before it is known.
func testReversalsAndDividends(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	w.Advance(time.Hour)
	boundary := w.Now()
	w.Advance(time.Hour)
	w.reversed(t, w.back(r, 500_000))
	changed, err := w.ChangedSince(t.Context(), w.Asset(t, "AAPL").ID, boundary)
	check(t, err)
	effects := w.lateDividend(t, boundary)
	if !changed || len(effects) != 1 || effects[0].Entitled != 10_000_000 || effects[0].Before != 7_500_000 {
		t.Errorf("changed %t, effects %+v", changed, effects)
	}
}

// testLateDividendAfterASplit: what was bought and taken back since the boundary counts in the units of the record.
func testLateDividendAfterASplit(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	w.Advance(time.Hour)
	boundary := w.Now()
	w.Advance(time.Hour)
	w.reversed(t, w.back(r, 500_000))
	w.Give(t, 1_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 5_000_000, dollar200))
	w.apply(t, "split", "AAPL", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "4"}, 0)
	w.sweep(t)
	w.reversed(t, w.back(r, 500_000))
	w.wantHolding(t, 40_000_000, 2_000_000)
	if effects := w.lateDividend(t, boundary); len(effects) != 1 || effects[0].Entitled != 40_000_000 {
		t.Errorf("effects %+v, want 0.04 shares entitled", effects)
	}
}

// testReversalsOfEntitled: who held a stock at the moment of a dividend is entitled, even when all of it is taken back
// before that is recorded.
func testReversalsOfEntitled(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	w.Advance(time.Hour)
	boundary := w.Now()
	w.Advance(time.Hour)
	w.reversed(t, w.back(r, 0))
	if effects := w.lateDividend(t, boundary); len(effects) != 1 || effects[0].Entitled != 10_000_000 {
		t.Errorf("effects %+v, want 0.01 shares entitled", effects)
	}
}

// years is a user's life over many corporate actions, buys and reversals.
type years struct {
	*World

	random  *rand.Rand
	user    rewards.UserID
	given   []rewards.Reward
	applied []string // actions that can be undone, oldest first
}

// testReversalsOverTheYears: whatever happens in between, the reversals of all awards together take
// everything, and none takes what its award does not have.
func testReversalsOverTheYears(t *testing.T, w *World) {
	for seed := range uint64(2) {
		y := &years{World: w, random: rand.New(rand.NewPCG(seed, 7))}
		y.user = w.NewUser(t, w.App.ID, fmt.Sprint("lives long ", seed)).ID
		const steps = 30
		for range steps {
			y.step(t)
		}
		for _, r := range y.given {
			if r = w.reward(t, r); r.Status != rewards.Executed {
				t.Fatalf("the reward is %s", r.Status)
			}
			o := w.reverse(t, w.back(r, 0))
			if rewards.CodeOf(o.Refused) != rewards.CodeUnprocessable {
				check(t, o.Refused)
			}
		}
		list, err := w.Holdings(t.Context(), w.App.ID, y.user)
		check(t, err)
		for _, h := range list {
			if h.Quantity != 0 || h.CostBasis != 0 {
				t.Errorf("seed %d: of asset %d the user still has %s for %s", seed, h.AssetID, h.Quantity, h.CostBasis)
			}
		}
	}
}

// step buys, takes back, changes units or undoes that.
func (y *years) step(t *testing.T) {
	t.Helper()
	y.Advance(time.Hour)
	defer y.wantSums(t, y.user)
	switch n := y.random.IntN(10); {
	case n < 3 || len(y.given) == 0:
		y.buy(t)
	case n < 6:
		r := y.given[y.random.IntN(len(y.given))]
		o := y.reverse(t, y.back(r, money.USD(1+y.random.Int64N(2_500_000))))
		if rewards.CodeOf(o.Refused) != rewards.CodeUnprocessable {
			check(t, o.Refused)
		}
	case n < 8:
		id := rewards.NewID[rewards.Action](rewards.NewIDs(y.Now, rand.NewChaCha8([32]byte{byte(y.keys.Add(1))}))).String()
		if y.change(t, id) != rewards.ActionCashDividend {
			y.applied = append(y.applied, id)
		}
	case len(y.applied) > 0:
		id := y.applied[len(y.applied)-1]
		y.applied = y.applied[:len(y.applied)-1]
		if _, err := y.UndoAction(t.Context(), id); rewards.CodeOf(err) != rewards.CodeConflict {
			check(t, err)
			y.sweep(t)
			y.redo(t, id)
		}
	}
}

// redo takes an undo back, sometimes, maybe after something else happened.
func (y *years) redo(t *testing.T, id string) {
	t.Helper()
	switch y.random.IntN(3) {
	case 0:
		return
	case 1:
		y.step(t)
	}
	if y.World.redo(t, id) {
		y.applied = append(y.applied, id)
	}
}

// buy gives awards of AAPL or KO and settles their order; a part may be bought by a second order.
func (y *years) buy(t *testing.T) {
	t.Helper()
	symbol := []string{"AAPL", "KO"}[y.random.IntN(2)]
	r := y.Request(t, money.USD(1_000_000+y.random.Int64N(3_000_000)))
	r.UserID, r.Symbol, r.AssetID = y.user, symbol, y.Asset(t, symbol).ID
	r.Fingerprint = rewards.NewFingerprint(r, "")
	y.given = append(y.given, y.record(t, r))
	for again := true; again; {
		o, hold, err := y.PlanOrder(t.Context(), y.lease, rewards.PlanRequest{
			Asset: y.Asset(t, symbol), Limits: Limits(), ClientOrderIDPrefix: "sr-test-",
		})
		check(t, err)
		if hold != rewards.NoHold {
			t.Fatalf("the pool is held: %d", hold)
		}
		o = y.Accept(t, o)
		qty := money.Shares(int64(o.Notional) * 5)
		status := "filled"
		if again = o.Notional == r.Amount && y.random.IntN(3) == 0; again {
			qty, status = qty/3, "canceled"
		}
		check(t, y.Settle(t, o, status, qty-qty%7, dollar200))
	}
}

// change applies an action of AAPL or KO and returns its type.
func (y *years) change(t *testing.T, id string) rewards.ActionType {
	t.Helper()
	symbol, other := "AAPL", "KO"
	if y.random.IntN(2) == 0 {
		symbol, other = other, symbol
	}
	terms := []rewards.Terms{
		{Type: rewards.ActionForwardSplit, OldRate: "2", NewRate: "3"},
		{Type: rewards.ActionReverseSplit, OldRate: "3", NewRate: "1"},
		{Type: rewards.ActionStockDividend, Rate: "0.07"},
		{Type: rewards.ActionCashDividend, Rate: "0.5"},
		{Type: rewards.ActionSpinOff, NewSymbol: "TSLA", OldRate: "7", NewRate: "2"},
		{Type: rewards.ActionSpinOff, NewSymbol: other, OldRate: "3", NewRate: "1"},
		{Type: rewards.ActionStockMerger, NewSymbol: other, OldRate: "4", NewRate: "3"},
		{Type: rewards.ActionWorthless},
	}
	pick := terms[min(y.random.IntN(3*len(terms)/2), len(terms)*2)%len(terms)]
	var part rewards.Fraction
	var err error
	if pick.Type == rewards.ActionSpinOff {
		part, err = rewards.ParseFraction("3/11")
		check(t, err)
	}
	c, s := y.derive(t, y.announce(t, id, symbol, pick), part)
	if pick.Type == rewards.ActionCashDividend {
		c.After = rewards.Observation{Now: y.Now(), SeenAt: y.Now()}.Applied(c.Before)
	}
	check(t, y.ApplyAction(t.Context(), y.lease, c, s, rewards.Renaming{}))
	y.sweep(t)
	return pick.Type
}

// testReversalsOfOneUser: after a corporate action the lots of a user's awards are computed once for all reversals of a
// batch, not once for each.
func testReversalsOfOneUser(t *testing.T, w *World) {
	var list []rewards.Reward
	for range 5 {
		list = append(list, w.Give(t, 2_000_000))
	}
	check(t, w.Settle(t, w.Open(t), "filled", 50_000_000, dollar200))
	w.SplitInTwo(t, "split")
	w.sweep(t)
	counted := &pausing{Engine: w.engine, after: "FROM switches WHERE number <= ?1"}
	s, err := store.New(t.Context(), counted, w.Now, rand.NewChaCha8([32]byte{77}))
	check(t, err)
	batch := make([]rewards.NewReversal, len(list))
	for i, r := range list {
		batch[i] = w.back(r, 0)
	}
	outcomes, err := s.ReverseRewards(t.Context(), batch)
	check(t, err)
	for _, o := range outcomes {
		check(t, o.Refused)
		if o.Reversal.Quantity != 20_000_000 {
			t.Errorf("%s shares were taken, want 0.02", o.Reversal.Quantity)
		}
	}
	if n := counted.seen.Load(); n != 1 {
		t.Errorf("the lots of the user were computed %d times", n)
	}
}
