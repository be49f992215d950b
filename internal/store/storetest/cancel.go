package storetest

import (
	"context"
	"testing"

	"stockrewards/internal/rewards"
)

// testCancel: an operator takes a reward back. One that is in no order is canceled; the others wait
// for the end of their order.
func testCancel(t *testing.T, w *World) {
	mistaken, ordered := w.Give(t, 2_000_000), w.Give(t, 3_000_000)
	part, _, err := w.ReverseReward(t.Context(), mistaken.ID, 500_000, "half a dollar too much")
	check(t, err)
	v, canceled, err := w.ReverseReward(t.Context(), mistaken.ID, 0, "given twice")
	check(t, err)
	want := mistaken
	want.Status, want.FailureReason = rewards.Failed, "canceled: given twice"
	wantEqual(t, "canceled", []rewards.Reward{want, want}, []rewards.Reward{canceled, w.reward(t, mistaken)})
	if v.Amount != 1_500_000 || v.State != rewards.ReversalCompleted {
		t.Errorf("the reversal is %+v", v)
	}
	part, err = w.Reversal(t.Context(), part.AppID, part.ID)
	check(t, err)
	if part.State != rewards.ReversalCompleted || part.CompletedAt.IsZero() {
		t.Errorf("the first reversal is %+v", part)
	}
	reverse := func(id rewards.RewardID, reason string) error { return w.canceled(t.Context(), id, reason) }
	wantCode(t, reverse(mistaken.ID, "again"), rewards.CodeConflict)
	wantCode(t, reverse(rewards.RewardID{1}, "unknown"), rewards.CodeNotFound)
	o := w.Open(t)
	if o.Notional != ordered.Amount {
		t.Errorf("the order is for %s", o.Notional)
	}
	check(t, reverse(ordered.ID, "after it is bought"))
	check(t, w.Settle(t, o, "canceled", 5_000_000, dollar200))
	if got := w.reward(t, ordered); got.Status != rewards.Executing {
		t.Fatalf("the reward is %s", got.Status)
	}
	wantCode(t, reverse(ordered.ID, "nothing is left"), rewards.CodeUnprocessable)
}

// canceled takes all that is left of a reward back, as an operator.
func (w *World) canceled(ctx context.Context, id rewards.RewardID, reason string) error {
	_, _, err := w.ReverseReward(ctx, id, 0, reason)
	return err
}
