package storetest

import (
	"testing"

	"stockrewards/internal/rewards"
)

// testCancel: only a recorded reward can be canceled, and only once.
func testCancel(t *testing.T, w *World) {
	mistaken, ordered := w.Give(t, 2_000_000), w.Give(t, 3_000_000)
	canceled, err := w.CancelReward(t.Context(), mistaken.ID, "given twice")
	check(t, err)
	want := mistaken
	want.Status, want.FailureReason = rewards.Failed, "canceled: given twice"
	wantEqual(t, "canceled", []rewards.Reward{want, want}, []rewards.Reward{canceled, w.reward(t, mistaken)})
	wantCode(t, failure(w.CancelReward(t.Context(), mistaken.ID, "again")), rewards.CodeConflict)
	wantCode(t, failure(w.CancelReward(t.Context(), rewards.RewardID{1}, "unknown")), rewards.CodeNotFound)
	o := w.Open(t)
	if o.Notional != ordered.Amount {
		t.Errorf("the order is for %s", o.Notional)
	}
	wantCode(t, failure(w.CancelReward(t.Context(), ordered.ID, "too late")), rewards.CodeConflict)
	check(t, w.Settle(t, o, "canceled", 5_000_000, dollar200))
	if got := w.reward(t, ordered); got.Status != rewards.Executing {
		t.Fatalf("the reward is %s", got.Status)
	}
	wantCode(t, failure(w.CancelReward(t.Context(), ordered.ID, "partly bought")), rewards.CodeConflict)
}
