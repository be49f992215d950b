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

// testDamagedRewards damages the rows of rewards whose keys are in sealed segments, and of some whose keys are in memory:
// one has lost its key, and one is gone. Their keys are no new ones.
func testDamagedRewards(t *testing.T, w *World) {
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	if len(w.blocks(t, "key_blocks")) == 0 {
		return // indexes find rewards, as in a store of an earlier version
	}
	for range 3 {
		requests = append(requests, w.Request(t, 1_000_000))
		w.verdicts(t, requests[len(requests)-1])
	}
	newest := requests[len(requests)-3:]
	slices.Reverse(newest) // the last one, too
	for _, r := range []rewards.NewReward{requests[0], newest[0]} {
		w.exec(t, `UPDATE rewards SET idempotency_key = 'zeroed' || idempotency_key WHERE idempotency_key = ?1`, r.IdempotencyKey)
	}
	for _, r := range []rewards.NewReward{requests[1], newest[1]} {
		w.exec(t, `DELETE FROM rewards WHERE idempotency_key = ?1`, r.IdempotencyKey)
	}
	wantFailures := func() {
		t.Helper()
		if failed := w.wantReplaysOr(t, requests, "is damaged: run `stockrewards audit`"); failed != 4 {
			t.Errorf("%d requests fail, want those of all four damaged rewards", failed)
		}
	}
	wantFailures()
	if w.inColumns(t) { // over SQLite the numbers of rewards have a gap: nothing is recorded any more
		w.reopen(t)
		wantFailures()
	}
	batch := []rewards.NewReward{w.Request(t, 1_000_000), newest[1], newest[2]}
	if _, err := w.RecordRewards(t.Context(), batch); err == nil {
		t.Error("a batch with the key of a lost reward is recorded")
	}
}

// testMissingBatches removes the first one, one within and the last one of the batches of the newest segment over
// PostgreSQL. No process that reads them takes a key for a new one; it does not start.
func testMissingBatches(t *testing.T, w *World) {
	if !w.inColumns(t) {
		return
	}
	other := w.NewApp(t, "other")
	user := w.NewUser(t, other.ID, "u")
	requests := w.recordSegments(t, 2)
	w.sealAll(t)
	for i := range 4 {
		r := w.Request(t, 1_000_000)
		if i == 1 {
			r.AppID, r.UserID = other.ID, user.ID
			r.Fingerprint = rewards.NewFingerprint(r, "")
		}
		requests = append(requests, r)
		w.verdicts(t, r)
	}
	const all, missing = `reward_batches WHERE number `, "of rewards are missing: run `stockrewards audit`"
	for _, lost := range []string{
		`= (SELECT min(number) FROM reward_batches)`, `= (SELECT max(number) - 1 FROM reward_batches)`,
		`= (SELECT max(number) FROM reward_batches)`, `>= (SELECT max(number) - 2 FROM reward_batches)`,
	} {
		w.exec(t, `CREATE TABLE lost AS SELECT * FROM `+all+lost)
		w.exec(t, `DELETE FROM `+all+lost)
		w.reopen(t)
		if err := w.LoadIndex(t.Context()); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("without the batches %s the index is loaded: %v", lost, err)
		}
		w.wantReplaysOr(t, requests, missing)
		w.exec(t, `INSERT INTO reward_batches SELECT * FROM lost`)
		w.exec(t, `DROP TABLE lost`)
	}
	w.wantReplays(t, requests)
}

// testMissingLaterBatch removes a batch that another process has not read yet.
func testMissingLaterBatch(t *testing.T, w *World) {
	if !w.inColumns(t) {
		return
	}
	recorder := w.Operator
	requests := []rewards.NewReward{w.Request(t, 1_000_000), w.Request(t, 1_000_000), w.Request(t, 1_000_000)}
	w.verdicts(t, requests[0])
	w.reopen(t)
	check(t, w.LoadIndex(t.Context()))
	behind := w.Operator
	w.Operator = recorder
	w.verdicts(t, requests[1])
	w.verdicts(t, requests[2])
	w.exec(t, `DELETE FROM reward_batches WHERE number = (SELECT max(number) - 1 FROM reward_batches)`)
	w.Operator = behind
	if failed := w.wantReplaysOr(t, requests[1:], "batches of rewards are missing"); failed == 0 {
		t.Error("a process reads on after a missing batch")
	}
}

// testMissingFewKeys removes over PostgreSQL the last block of segments, and the last entries of the block before, as if
// these had been a block. Such gaps are short.
func testMissingFewKeys(t *testing.T, w *World) {
	if !w.inColumns(t) {
		return
	}
	const last = `place = (SELECT max(place) FROM key_blocks)`
	const before = `place = (SELECT place FROM key_blocks ORDER BY place DESC LIMIT 1 OFFSET 1)`
	for _, c := range []struct {
		size         int
		where, loses string
	}{
		{30, last, `DELETE FROM key_blocks WHERE ` + last},
		{300, last, `DELETE FROM key_blocks WHERE ` + last},
		{300, before, `UPDATE key_blocks SET entries = substring(entries FROM 1 FOR 40 * 22) WHERE ` + before},
		{2220, last, `DELETE FROM key_blocks WHERE ` + last},
	} {
		w.reopen(t)
		w.SealEvery(int64(c.size))
		requests := make([]rewards.NewReward, c.size)
		for i := range requests {
			requests[i] = w.Request(t, 1_000_000)
		}
		w.verdicts(t, requests...)
		w.sealAll(t)
		w.exec(t, `CREATE TABLE lost AS SELECT * FROM key_blocks WHERE `+c.where)
		w.exec(t, c.loses)
		if failed := w.wantReplaysOr(t, requests, "a block of keys of segment"); failed == 0 {
			t.Errorf("of %d keys every request is a replay after %s", c.size, c.loses)
		}
		w.exec(t, `INSERT INTO key_blocks SELECT * FROM lost ON CONFLICT (place) DO UPDATE SET entries = excluded.entries`)
		w.exec(t, `DROP TABLE lost`)
		w.wantReplays(t, requests)
	}
}

// testSizesOfAnOlderStore takes the sizes of sealed segments from the store, as in one of an earlier version. They are
// stored once, so that a missing block is noticed.
func testSizesOfAnOlderStore(t *testing.T, w *World) {
	if !w.inColumns(t) {
		return
	}
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	sealed := w.filters(t, 3)
	w.exec(t, `UPDATE segments SET size = number WHERE keys = 2`) // 1 and 2 were counted roughly
	w.setFilters(t, sealed, func(f *storedFilter) { f.Checksum = 1 })
	w.reopen(t)
	w.sealAll(t)
	w.wantRows(t, "segments with another size", 0, `SELECT count(*) FROM segments WHERE keys = 2 AND size <>
		(SELECT count(*) FROM rewards WHERE segment = number)`)
	w.wantRows(t, "segments", int64(len(sealed)), `SELECT count(*) FROM segments WHERE keys = 2`)
	w.exec(t, `DELETE FROM key_blocks WHERE place >> 32 = 0`)
	if failed := w.wantReplaysOr(t, requests, "a block of keys of segment 0 is damaged"); failed < SegmentSize {
		t.Errorf("%d keys cannot be looked for, want those of a segment", failed)
	}
}
