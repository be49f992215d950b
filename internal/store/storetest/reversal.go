package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// reversalContract are the tests of what is taken back.
func reversalContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"ReversalsOfExecuted":     testReverseExecuted,
		"ReversalsInOrder":        testReversalOrder,
		"ReversalsPending":        testReversePending,
		"ReversalsManyOfOne":      testManyReversalsOfOne,
		"ReversalsManyPending":    testManyPendingReversals,
		"ReversalsOfOneUser":      testReversalsOfOneUser,
		"ReversalsAtOnce":         testReversalsAtOnce,
		"ReversalsListed":         testReversalLists,
		"ReversalsByOperator":     testReverseByOperator,
		"ReversalsWaitForSweeps":  testReversalsWait,
		"ReversalsOverTheYears":   testReversalsOverTheYears,
		"ReversalsAndDividends":   testReversalsAndDividends,
		"ReversalsAfterASplit":    testReversalsAfterASplit,
		"ReversalsUndone":         testReversalsUndone,
		"ReversalsOfEntitled":     testReversalsOfEntitled,
		"LateDividendAfterASplit": testLateDividendAfterASplit,
	}
}

// back returns a request to take a reward back, under a new key; amount 0 is all that is left.
func (w *World) back(r rewards.Reward, amount money.USD) rewards.NewReversal {
	return rewards.NewReversal{
		AppID: r.AppID, RewardID: r.ID, IdempotencyKey: fmt.Sprintf("back-%08d", w.keys.Add(1)), Amount: amount,
	}
}

// reverse answers one request to take a reward back.
func (w *World) reverse(t *testing.T, n rewards.NewReversal) rewards.ReversalOutcome {
	t.Helper()
	outcomes, err := w.ReverseRewards(t.Context(), []rewards.NewReversal{n})
	check(t, err)
	return outcomes[0]
}

// reversed takes a reward back and ends the test when that is refused.
func (w *World) reversed(t *testing.T, n rewards.NewReversal) rewards.Reversal {
	t.Helper()
	o := w.reverse(t, n)
	check(t, o.Refused)
	return o.Reversal
}

func (w *World) wantHolding(t *testing.T, quantity money.Shares, basis money.USD) {
	t.Helper()
	if h := w.holding(t, w.Users[0]); h.Quantity != quantity || h.CostBasis != basis {
		t.Errorf("the user has %s for %s, want %s for %s", h.Quantity, h.CostBasis, quantity, basis)
	}
	w.wantSums(t, w.Users[0].ID)
}

// testReversalOrder: what was taken is replayed in the order of completion. So that order is the order of the
// commits, also among processes with different clocks.
func testReversalOrder(t *testing.T, w *World) {
	r := w.Give(t, 3_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 15_000_000, dollar200))
	first := w.reversed(t, w.back(r, 1_000_000))
	w.finer.Store(999) // nanoseconds later, in the same microsecond
	again := w.reversed(t, w.back(r, 1_000_000))
	w.Advance(-time.Second)
	last := w.reversed(t, w.back(r, 0))
	if !again.CompletedAt.Truncate(time.Microsecond).After(first.CompletedAt) || !last.CompletedAt.After(again.CompletedAt) {
		t.Errorf("completed at %s, %s and %s", first.CompletedAt, again.CompletedAt, last.CompletedAt)
	}
}

// testReverseExecuted: parts of an executed reward are taken back at once, to the last billionth.
func testReverseExecuted(t *testing.T, w *World) {
	const third = 1_000_000
	r, other := w.Give(t, 3*third), w.Give(t, 2*third)
	check(t, w.Settle(t, w.Open(t), "filled", 25_000_000, dollar200)) // 15 and 10 millionths of a billion
	other = w.reward(t, other)
	first := w.reversed(t, w.back(r, third))
	if first.Quantity != 5_000_000 || first.State != rewards.ReversalCompleted || first.CompletedAt.IsZero() {
		t.Errorf("the first third is %+v", first)
	}
	w.wantHolding(t, 20_000_000, 4*third)
	n := w.back(r, third+1)
	second := w.reversed(t, n)
	if second.Quantity != 5_000_005 {
		t.Errorf("the second part took %s shares", second.Quantity)
	}
	w.wantHolding(t, 14_999_995, 3*third-1)
	again := w.reverse(t, n)
	wantEqual(t, "the same request", rewards.ReversalOutcome{Reversal: second, Replayed: true}, again)
	n.Reason = "another"
	wantCode(t, w.reverse(t, n).Refused, rewards.CodeConflict)
	n.AppID = rewards.AppID{9}
	wantCode(t, w.reverse(t, n).Refused, rewards.CodeNotFound)
	tooMuch := w.reverse(t, w.back(r, third))
	wantCode(t, tooMuch.Refused, rewards.CodeUnprocessable)
	rest := w.back(r, 0)
	if last := w.reversed(t, rest); last.Amount != third-1 || last.Quantity != 4_999_995 {
		t.Errorf("the rest is %+v", last)
	}
	w.wantHolding(t, 10_000_000, 2*third)
	rest.Amount = third - 1 // an absent amount is not the same as an equal one
	wantCode(t, w.reverse(t, rest).Refused, rewards.CodeConflict)
	wantCode(t, w.reverse(t, w.back(r, 0)).Refused, rewards.CodeUnprocessable)
	wantEqual(t, "the other reward", other, w.reward(t, other))
	w.reversed(t, w.back(other, 0))
	w.wantHolding(t, 0, 0)
	w.houseShares(t, "everything taken back", 25_000_000)
	if got := w.reward(t, other); got.Status != rewards.Executed {
		t.Errorf("the reward is %s", got.Status)
	}
}

// testReversePending: what is taken back of a reward that is not final completes with it.
func testReversePending(t *testing.T, w *World) {
	r := w.Give(t, 4_000_000)
	if v := w.reversed(t, w.back(r, 1_000_000)); v.State != rewards.ReversalPending || v.Quantity != 0 {
		t.Errorf("the first is %+v", v)
	}
	canceled := w.Give(t, 2_000_000)
	part := w.reversed(t, w.back(canceled, 1))
	n := w.back(canceled, 0)
	n.Reason = "by mistake"
	if v := w.reversed(t, n); v.State != rewards.ReversalCompleted || v.Quantity != 0 || v.Amount != 1_999_999 {
		t.Errorf("the cancel is %+v", v)
	}
	if got := w.reward(t, canceled); got.Status != rewards.Failed || got.FailureReason != "canceled: by mistake" {
		t.Errorf("the reward is %+v", got)
	}
	part, err := w.Reversal(t.Context(), part.AppID, part.ID)
	check(t, err)
	if part.State != rewards.ReversalCompleted {
		t.Errorf("the part is %+v", part)
	}
	wantCode(t, w.reverse(t, w.back(canceled, 0)).Refused, rewards.CodeConflict)
	o := w.Open(t)
	w.reversed(t, w.back(r, 1_000_000))
	check(t, w.Settle(t, o, "canceled", 10_000_000, dollar200)) // half of it
	w.wantHolding(t, 10_000_000, 0)
	last := w.reversed(t, w.back(r, 0))
	if last.State != rewards.ReversalPending {
		t.Errorf("the last is %+v", last)
	}
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_001, dollar200))
	w.wantHolding(t, 0, 0)
	var taken money.Shares
	list, err := w.Reversals(t.Context(), w.App.ID, rewards.ReversalFilter{RewardID: &r.ID},
		rewards.Page[rewards.Reversal]{Limit: 9})
	check(t, err)
	for _, v := range list {
		taken += v.Quantity
	}
	if taken != 20_000_001 || len(list) != 3 {
		t.Errorf("%d reversals took %s", len(list), taken)
	}
	failing := w.Give(t, 5_000_000)
	o = w.Open(t)
	v := w.reversed(t, w.back(failing, 0))
	check(t, w.Settle(t, o, "rejected", 0, 0))
	v, err = w.Reversal(t.Context(), v.AppID, v.ID)
	check(t, err)
	if v.State != rewards.ReversalCompleted || v.Quantity != 0 {
		t.Errorf("the reversal of a failed reward is %+v", v)
	}
}

// testReversalsAtOnce: of equal requests one creates a reversal, and no two take the same shares.
func testReversalsAtOnce(t *testing.T, w *World) {
	r := w.Give(t, 1_600_000)
	check(t, w.Settle(t, w.Open(t), "filled", 8_000_000, dollar200))
	same := w.back(r, 100_000)
	const times = 16
	outcomes := make([]rewards.ReversalOutcome, 2*times)
	var group sync.WaitGroup
	for i := range outcomes {
		n := same
		if i >= times {
			n = w.back(r, 100_000)
		}
		group.Go(func() {
			list, err := w.ReverseRewards(t.Context(), []rewards.NewReversal{n})
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[i] = list[0]
		})
	}
	group.Wait()
	created, refused := 0, 0
	for i, o := range outcomes {
		switch {
		case o.Refused != nil:
			refused++
		case !o.Replayed && i < times:
			created++
		}
	}
	last := created == 0 && refused == times // all the others came first, and a refused request is not kept
	if !last && (created != 1 || refused != 1) {
		t.Errorf("%d of equal requests created a reversal, %d were refused; want 1 and 1", created, refused)
	}
	w.wantHolding(t, 0, 0)
}

// testReversalLists: filters, pages and tenancy.
func testReversalLists(t *testing.T, w *World) {
	a, b := w.Give(t, 3_000_000), w.Give(t, 3_000_000)
	var all []rewards.Reversal
	for range 3 {
		all = append(all, w.reversed(t, w.back(a, 1)))
	}
	all = append(all, w.reversed(t, w.back(b, 0)))
	stranger := w.NewApp(t, "stranger")
	list := func(app rewards.AppID, f rewards.ReversalFilter, limit int) (found string) {
		p := rewards.Page[rewards.Reversal]{Limit: limit}
		for {
			page, err := w.Reversals(t.Context(), app, f, p)
			check(t, err)
			for _, v := range page {
				for i := range all {
					if all[i].ID == v.ID {
						found += fmt.Sprint(i)
					}
				}
			}
			if len(page) < limit {
				return found
			}
			p.Before = page[limit-1].ID
		}
	}
	nobody := rewards.UserID{3}
	for _, c := range []struct {
		app  rewards.AppID
		f    rewards.ReversalFilter
		want string
	}{
		{w.App.ID, rewards.ReversalFilter{}, "3210"},
		{w.App.ID, rewards.ReversalFilter{RewardID: &a.ID}, "210"},
		{w.App.ID, rewards.ReversalFilter{UserID: &w.Users[0].ID}, "3210"},
		{w.App.ID, rewards.ReversalFilter{UserID: &nobody}, ""},
		{w.App.ID, rewards.ReversalFilter{State: rewards.ReversalPending}, "210"},
		{w.App.ID, rewards.ReversalFilter{State: rewards.ReversalCompleted}, "3"},
		{w.App.ID, rewards.ReversalFilter{UserID: &w.Users[0].ID, State: rewards.ReversalCompleted}, "3"},
		{w.App.ID, rewards.ReversalFilter{RewardID: &a.ID, State: rewards.ReversalCompleted}, ""},
		{stranger.ID, rewards.ReversalFilter{}, ""},
		{stranger.ID, rewards.ReversalFilter{RewardID: &a.ID}, ""},
	} {
		for _, limit := range []int{1, 2, 9} {
			if got := list(c.app, c.f, limit); got != c.want {
				t.Errorf("%+v in pages of %d: %q, want %q", c.f, limit, got, c.want)
			}
		}
	}
	wantCode(t, failure(w.Reversal(t.Context(), stranger.ID, all[0].ID)), rewards.CodeNotFound)
	n := w.back(a, 0)
	n.AppID = stranger.ID
	wantCode(t, w.reverse(t, n).Refused, rewards.CodeNotFound)
}

// testReverseByOperator: the service takes the shares of an executed reward that an operator takes back.
func testReverseByOperator(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	v, _, err := w.ReverseReward(t.Context(), r.ID, 500_000, "a quarter")
	check(t, err)
	if v.State.String() != "pending" {
		t.Errorf("the reversal is %+v", v)
	}
	w.reversed(t, w.back(r, 500_000))
	w.wantHolding(t, 7_500_000, 1_500_000)
	wantCode(t, w.reverse(t, w.back(r, 1_000_001)).Refused, rewards.CodeUnprocessable)
	complete := func() int {
		n, err := w.CompleteReversals(t.Context(), w.lease)
		check(t, err)
		return n
	}
	if done, again := complete(), complete(); done != 1 || again != 0 {
		t.Errorf("completed %d, then %d", done, again)
	}
	w.wantHolding(t, 5_000_000, 1_000_000)
	w.reversed(t, w.back(r, 0))
	w.wantHolding(t, 0, 0)
}
