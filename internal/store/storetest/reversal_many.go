package storetest

import (
	"context"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testManyReversalsOfOne: an award has at most MaxReversals, in one batch or in several, and the last one takes what
// is left. Those that wait complete in their order, each with its part.
func testManyReversalsOfOne(t *testing.T, w *World) {
	const amount, qty = 5_000_000, 25_002_503
	r := w.Give(t, amount)
	batch := make([]rewards.NewReversal, rewards.MaxReversals)
	for i := range batch {
		batch[i] = w.back(r, 1_000)
	}
	outcomes, err := w.ReverseRewards(t.Context(), batch)
	check(t, err)
	for i, o := range outcomes[:len(batch)-1] {
		if o.Refused != nil || o.Reversal.State != rewards.ReversalPending {
			t.Fatalf("reversal %d is %+v", i, o)
		}
	}
	wantCode(t, outcomes[len(batch)-1].Refused, rewards.CodeUnprocessable)
	wantCode(t, w.reverse(t, w.back(r, 1_000)).Refused, rewards.CodeUnprocessable)
	_, _, err = w.ReverseReward(t.Context(), r.ID, 1_000, "by the operator")
	wantCode(t, err, rewards.CodeUnprocessable)
	check(t, w.Settle(t, w.Open(t), "filled", qty, dollar200))
	var reversed money.USD
	var before money.Shares
	for _, o := range outcomes[:len(batch)-1] {
		v, err := w.Reversal(t.Context(), r.AppID, o.Reversal.ID)
		check(t, err)
		reversed += v.Amount
		all := money.Shares(qty * int64(reversed) / amount)
		if v.State != rewards.ReversalCompleted || v.Quantity != all-before {
			t.Fatalf("after %s it took %s, want %s: %+v", reversed, v.Quantity, all-before, v)
		}
		before = all
	}
	w.wantHolding(t, qty-before, amount-reversed)
	wantCode(t, w.reverse(t, w.back(r, 1)).Refused, rewards.CodeUnprocessable)
	w.reversed(t, w.back(r, 0))
	w.wantHolding(t, 0, 0)
	w.houseShares(t, "everything taken back", qty)
	wantCode(t, w.reverse(t, w.back(r, 0)).Refused, rewards.CodeUnprocessable)
}

// testManyPendingReversals: while MaxPendingReversals of an app wait, another one that would wait is refused. What
// completes at once is not.
func testManyPendingReversals(t *testing.T, w *World) {
	waiting, many := w.Give(t, 3_000_000), w.giveStock(t, w.Users[0], "KO", 1_000_000)
	rows := make([][]any, rewards.MaxPendingReversals-1)
	for i := range rows {
		id := rewards.ReversalID{0: 1, 6: 0x70, 8: 0x80, 14: byte(i >> 8), 15: byte(i)}
		rows[i] = []any{many.AppID[:], id[:], many.ID[:], many.UserID[:], id.String(), make([]byte, 33)}
	}
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.ExecEach(ctx, `INSERT INTO reversals (app_id, id, reward_id, user_id, idempotency_key, fingerprint,
			amount, reason, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, '', 1)`, rows)
		return err
	}))
	two := []rewards.NewReversal{w.back(waiting, 1), w.back(waiting, 1)}
	outcomes, err := w.ReverseRewards(t.Context(), two)
	check(t, err)
	check(t, outcomes[0].Refused)
	wantCode(t, outcomes[1].Refused, rewards.CodeTooMany)
	wantCode(t, w.reverse(t, two[1]).Refused, rewards.CodeTooMany)
	if again := w.reverse(t, two[0]); !again.Replayed {
		t.Errorf("the same request again is %+v", again)
	}
	canceled := w.Give(t, 2_000_000)
	w.reversed(t, w.back(canceled, 0))
	check(t, w.Settle(t, w.Open(t), "filled", 15_000_000, dollar200))
	w.wantHolding(t, 15_000_000-5, 3_000_000-1)
	if v := w.reversed(t, w.back(waiting, 0)); v.State != rewards.ReversalCompleted {
		t.Errorf("the rest of a bought reward is %+v", v)
	}
}
