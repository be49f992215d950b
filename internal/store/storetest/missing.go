package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testMissingBlocksOfKeys removes blocks of keys at the beginning of a segment, within it and at its end. A key that was
// there is an error and no new reward, and the others are replays.
func testMissingBlocksOfKeys(t *testing.T, w *World) {
	const size = 1000
	w.SealEvery(size)
	requests := make([]rewards.NewReward, size)
	for i := range requests {
		requests[i] = w.Request(t, 1_000_000)
	}
	w.verdicts(t, requests...)
	w.sealAll(t)
	blocks := w.blocks(t, "key_blocks")
	if len(blocks) == 0 {
		return // indexes find rewards, as in a store of an earlier version
	}
	slices.SortFunc(blocks, func(a, b storedBlock) int { // in the order of their places
		return cmp.Or(cmp.Compare(len(a.place), len(b.place)), strings.Compare(a.place, b.place))
	})
	part := len(blocks) / 8
	for _, from := range []int{0, len(blocks) / 2, len(blocks) - part} {
		missing := blocks[from : from+part]
		w.removeBlocks(t, missing)
		if failed := w.wantReplaysOr(t, requests, "a block of keys of segment 0 is damaged"); failed < len(missing) {
			t.Errorf("from block %d on: %d keys cannot be looked for, want at least %d", from, failed, len(missing))
		}
		w.restoreBlocks(t, missing)
	}
	w.wantReplays(t, requests)
	wantVerdicts(t, w.verdicts(t, w.Request(t, 1_000_000)), rewards.Created)
}

// wantReplaysOr repeats requests one by one. Each is a replay or fails with an error; it returns how many fail.
func (w *World) wantReplaysOr(t *testing.T, requests []rewards.NewReward, cause string) (failed int) {
	t.Helper()
	for _, r := range requests {
		outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
		switch {
		case err != nil && strings.Contains(err.Error(), cause):
			failed++
		case err != nil || outcomes[0].Verdict != rewards.Replay:
			t.Fatalf("a repeated request gets %+v, %v", outcomes, err)
		}
	}
	return failed
}

func (w *World) removeBlocks(t *testing.T, list []storedBlock) {
	t.Helper()
	for _, b := range list {
		w.exec(t, `DELETE FROM key_blocks WHERE place = CAST(?1 AS BIGINT)`, b.place)
	}
}

func (w *World) restoreBlocks(t *testing.T, list []storedBlock) {
	t.Helper()
	for _, b := range list {
		w.exec(t, `INSERT INTO key_blocks (place, entries) VALUES (CAST(?1 AS BIGINT), ?2)`, b.place, b.entries)
	}
}

// exec runs a statement that only tests have.
func (w *World) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return failure(tx.Exec(ctx, "-- only in tests\n"+query, args...))
	}))
}

// testDamagedRewards damages the rows of rewards whose keys are in sealed segments: one has lost its key, and one is
// gone. Their keys are no new ones.
func testDamagedRewards(t *testing.T, w *World) {
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	if len(w.blocks(t, "key_blocks")) == 0 {
		return // indexes find rewards, as in a store of an earlier version
	}
	w.exec(t, `UPDATE rewards SET idempotency_key = 'zeroed' WHERE idempotency_key = ?1`, requests[0].IdempotencyKey)
	w.exec(t, `DELETE FROM rewards WHERE idempotency_key = ?1`, requests[1].IdempotencyKey)
	if failed := w.wantReplaysOr(t, requests, "is damaged: run `stockrewards audit`"); failed != 2 {
		t.Errorf("%d requests fail, want those of both damaged rewards", failed)
	}
}
