package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// endless never returns a row, nor ends.
const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT 1 - i FROM n) SELECT i FROM n WHERE i > 1`

// A reading ends soon after its request, whatever it reads, and its connection reads for
// others afterwards.
func testInterruption(t *testing.T, w *World) {
	t.Helper()
	kept := w.Give(t, 1_000_000)
	const more, soon = 40, 5 * time.Second // more readings than connections
	for i := range more {
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
			t.Errorf("got %v, want the end of the request as its cause", err)
		}
		if took := time.Since(began); took > soon {
			t.Fatalf("it ended %s after its request", took)
		}
		if got := w.reward(t, kept); got.ID != kept.ID {
			t.Fatalf("afterwards %+v was read, want %+v", got, kept)
		}
	}
	list, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, all[rewards.Reward]())
	if err != nil || len(list) != 1 {
		t.Errorf("afterwards %d rewards were read, %v; want 1", len(list), err)
	}
}
