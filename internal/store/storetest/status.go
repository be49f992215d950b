package storetest

import (
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// testGlance: what the status page reads are counts by status, shares of rewards and
// sizes of orders.
func testGlance(t *testing.T, w *World) {
	first, second := w.Give(t, 3_000_000), w.Give(t, 1_000_000)
	bought := w.Open(t)
	check(t, w.Settle(t, bought, "filled", 20_000_000, dollar200))
	executing := w.Give(t, 2_000_000)
	open := w.Open(t)
	recorded := w.Give(t, 5_000_000)
	other := w.NewApp(t, "second")

	counts, err := w.CountRewards(t.Context(), w.App.ID, 1000)
	check(t, err)
	want := map[rewards.Status]int{rewards.Recorded: 1, rewards.Executing: 1, rewards.Executed: 2, rewards.Failed: 0}
	wantEqual(t, "counts", want, counts)
	if counts, err = w.CountRewards(t.Context(), w.App.ID, 1); err != nil || counts[rewards.Executed] != 1 {
		t.Errorf("counts up to 1: %v, %v", counts, err)
	}
	if counts, err = w.CountRewards(t.Context(), other.ID, 1000); err != nil || counts[rewards.Executed] != 0 {
		t.Errorf("another app's counts: %v, %v", counts, err)
	}

	ids := []rewards.RewardID{first.ID, second.ID, executing.ID, recorded.ID}
	shares, err := w.SharesOf(t.Context(), w.App.ID, ids)
	check(t, err)
	wantShares := map[rewards.RewardID]money.Shares{first.ID: 15_000_000, second.ID: 5_000_000}
	wantEqual(t, "shares", wantShares, shares)
	if shares, err = w.SharesOf(t.Context(), other.ID, ids); err != nil || len(shares) != 0 {
		t.Errorf("another app's shares: %v, %v", shares, err)
	}

	sizes, err := w.MemberCounts(t.Context(), []rewards.OrderID{bought.ID, open.ID, {1}})
	check(t, err)
	wantEqual(t, "sizes", map[rewards.OrderID]int{bought.ID: 2, open.ID: 1}, sizes)
}
