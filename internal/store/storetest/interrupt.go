package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// endless is a query that runs forever without returning a row.
const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT 1 - i FROM n) SELECT i FROM n WHERE i > 1`

// testInterruption: a read ends soon after its request is canceled, and its connection
// serves other reads afterwards.
func testInterruption(t *testing.T, w *World) {
	t.Helper()
	kept := w.Give(t, 1_000_000)
	const reads, soon = 20, 5 * time.Second // more reads than connections
	for i := range reads {
		ctx, cancel := context.WithCancel(t.Context())
		end := time.AfterFunc(time.Duration(i%3)*time.Millisecond, cancel)
		began := time.Now()
		err := w.engine.Read(ctx, func(ctx context.Context, tx store.Tx) error {
			return tx.Query(ctx, func(store.Row) error { return nil }, endless)
		})
		end.Stop()
		cancel()
		wantCode(t, err, rewards.CodeUnavailable)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want it to wrap context.Canceled", err)
		}
		if took := time.Since(began); took > soon {
			t.Fatalf("the read ended %s after its request", took)
		}
		if got := w.reward(t, kept); got.ID != kept.ID {
			t.Fatalf("the next read found %+v, want %+v", got, kept)
		}
	}
	list, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, all[rewards.Reward]())
	if err != nil || len(list) != 1 {
		t.Errorf("the next read found %d rewards, %v; want 1", len(list), err)
	}
}
