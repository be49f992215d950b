package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/segment"
)

// TestTwoProcesses records through two processes in turn, each with its own engine of one store
// in segments. Each lists what the other one recorded and sealed, before it writes again.
// Every key is a replay in both. An id is later than all before it, although
// one clock is ahead.
func TestTwoProcesses(t *testing.T, one, other store.Engine) {
	t.Helper()
	a := NewWorld(t, one)
	b := a.join(t, other)
	b.Advance(2 * time.Second)
	var requests []rewards.NewReward
	var newest rewards.RewardID
	turns := []int{1, 1, 3, 2, 9, 30, 2, 30, 1, 25, 40, 3, 20}
	turns = append(turns, slices.Repeat([]int{1}, 3*SegmentSize)...)
	for turn, rewardsOfTurn := range turns {
		writer, reader := a, b
		if turn%2 == 1 {
			writer, reader = b, a
		}
		for range rewardsOfTurn {
			r := writer.Request(t, 1_000_000)
			r.UserID = a.Users[len(requests)%2].ID
			r.Fingerprint = rewards.NewFingerprint(r, "")
			recorded := writer.record(t, r)
			if requests = append(requests, r); bytes.Compare(recorded.ID[:], newest[:]) <= 0 {
				t.Fatalf("reward %d has the id %s, want one after %s", len(requests), recorded.ID, newest)
			}
			newest = recorded.ID
		}
		for _, u := range a.Users {
			reader.wantList(t, requests, u)
		}
		for _, r := range requests {
			if found := reader.walk(t, a.App.ID, rewards.RewardFilter{IdempotencyKey: r.IdempotencyKey}, 1); len(found) != 1 {
				t.Fatalf("turn %d: the key of the other process's reward finds %v", turn, found)
			}
		}
		for i, v := range reader.verdicts(t, requests...) {
			if v != rewards.Replay {
				t.Fatalf("turn %d: verdict %d of the other process's reward %d, want a replay", turn, v, i)
			}
		}
		switch turn % 3 { // sealed by one of them, or by both, or later
		case 0:
			writer.sealAll(t)
			check(t, failure(writer.MergeFilters(t.Context())))
		case 1:
			writer.sealAll(t)
			reader.sealAll(t)
		}
	}
	a.reopen(t)
	for i, v := range a.verdicts(t, requests...) {
		if v != rewards.Replay {
			t.Fatalf("after a restart: verdict %d of reward %d, want a replay", v, i)
		}
	}
}

// TestIDsFollowThoseOfOthers records first in one process, then in another one that started before.
func TestIDsFollowThoseOfOthers(t *testing.T, one, other store.Engine) {
	t.Helper()
	a := NewWorld(t, one)
	b := a.join(t, other)
	a.Advance(2 * time.Second)
	first := a.Give(t, 1_000_000)
	if second := b.Give(t, 1_000_000); bytes.Compare(second.ID[:], first.ID[:]) <= 0 {
		t.Errorf("the id %s follows %s", second.ID, first.ID)
	}
}

// join returns another process's world of the same store.
func (w *World) join(t *testing.T, engine store.Engine) *World {
	t.Helper()
	b := &World{engine: engine, App: w.App, Users: w.Users}
	b.now.Store(w.now.Load())
	b.keys.Store(1_000_000)
	b.reopen(t)
	return b
}

// TestUncertainCommits records while some commits are rolled back, and the outcome of others is
// unknown. next sets what happens to the next commits of clients.
func TestUncertainCommits(t *testing.T, engine store.Engine, next func(lost, unknown int)) {
	t.Helper()
	w := NewWorld(t, engine)
	var requests []rewards.NewReward
	for i := range 12 * SegmentSize {
		r, other := w.Request(t, 1_000_000), w.Request(t, 2_000_000)
		r.UserID, other.UserID = w.Users[i%2].ID, w.Users[1].ID
		r.Fingerprint, other.Fingerprint = rewards.NewFingerprint(r, ""), rewards.NewFingerprint(other, "")
		if i%5 == 1 {
			next(1, 0)
			if _, err := w.RecordRewards(t.Context(), []rewards.NewReward{r, other}); err == nil {
				t.Fatal("a commit that was rolled back succeeded")
			}
		}
		if i%5 == 3 {
			next(0, 1+i%2)
		}
		w.record(t, r)
		requests = append(requests, r)
	}
	for i, v := range w.verdicts(t, requests...) {
		if v != rewards.Replay {
			t.Fatalf("verdict %d of the repeated reward %d, want a replay", v, i)
		}
	}
	for _, u := range w.Users {
		w.wantList(t, requests, u)
	}
	w.reopen(t)
	for _, u := range w.Users {
		w.wantList(t, requests, u)
	}
}

// TestCommitsAtOnce records a reward between another commit and its end. after runs a function once,
// at the end of the next commit of clients. If lost is 1, that is rolled back, which is not known.
func TestCommitsAtOnce(t *testing.T, engine store.Engine, after func(lost int, run func())) {
	t.Helper()
	w := NewWorld(t, engine)
	var requests []rewards.NewReward
	for i := range 4 * SegmentSize {
		r, between, lost := w.Request(t, 1_000_000), w.Request(t, 2_000_000), i/2%2
		after(lost, func() { w.record(t, between) })
		w.record(t, r)
		if requests = append(requests, r, between); lost == 1 { // and recorded after the other one
			requests[2*i], requests[2*i+1] = between, r
		}
	}
	for i, v := range w.verdicts(t, requests...) {
		if v != rewards.Replay {
			t.Fatalf("verdict %d of the repeated reward %d, want a replay", v, i)
		}
	}
	w.wantList(t, requests, w.Users[0])
}

// TestSegmentsOfAnotherStore changes a store of full segments by hand, which must then be refused.
func TestSegmentsOfAnotherStore(t *testing.T, engine store.Engine, change func()) {
	t.Helper()
	w := NewWorld(t, engine)
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	change()
	w.reopen(t)
	if _, err := w.RecordRewards(t.Context(), requests[:1]); err == nil {
		t.Error("a damaged store records rewards")
	}
	user := w.Users[0].ID
	if _, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{UserID: &user}, all[rewards.Reward]()); err == nil {
		t.Error("a damaged store lists rewards")
	}
}

// TestListWhileSealing finds rewards by user and by key while their segment is sealed between the beginning
// of the transaction that reads and its first statement. during runs a function there in the read
// after the next one.
func TestListWhileSealing(t *testing.T, engine store.Engine, during func(func())) {
	t.Helper()
	w := NewWorld(t, engine)
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	more := func(user rewards.User, n int) {
		for range n {
			r := w.Request(t, 1_000_000)
			r.UserID = user.ID
			r.Fingerprint = rewards.NewFingerprint(r, "")
			w.record(t, r)
			requests = append(requests, r)
		}
	}
	seal := func() {
		more(w.Users[1], SegmentSize)
		w.sealAll(t)
	}
	for range 3 {
		more(w.Users[0], SegmentSize) // in the tail, before they are sealed
		newest := requests[len(requests)-1]
		during(seal)
		f := rewards.RewardFilter{IdempotencyKey: newest.IdempotencyKey}
		found, err := w.Rewards(t.Context(), w.App.ID, f, all[rewards.Reward]())
		if err != nil || len(found) != 1 {
			t.Fatalf("a key finds %v, %v while segments are sealed", found, err)
		}
		more(w.Users[0], SegmentSize)
		before := slices.Clone(requests)
		during(seal)
		w.wantPages(t, before, w.Users[0], 0, all[rewards.Reward]().Limit)
	}
	w.wantList(t, requests, w.Users[0])
	w.wantList(t, requests, w.Users[1])
}

// TestMergeByOldFilters merges filters in a process whose memory has older ones than the store.
func TestMergeByOldFilters(t *testing.T, one, other store.Engine) {
	t.Helper()
	a := NewWorld(t, one)
	requests := a.recordSegments(t, 10)
	b := a.join(t, other)
	wantVerdicts(t, b.verdicts(t, requests[0]), rewards.Replay)
	requests = append(requests, a.recordSegments(t, 70)...)
	a.sealAll(t)
	a.mergeAll(t)
	check(t, failure(b.MergeFilters(t.Context())))
	a.reopen(t)
	for _, w := range []*World{a, b} {
		w.wantReplays(t, requests)
	}
}

// mergeAll merges filters until none can be merged, and returns how often that happened.
func (w *World) mergeAll(t *testing.T) (merged int) {
	t.Helper()
	for {
		more, err := w.MergeFilters(t.Context())
		check(t, err)
		if !more {
			return merged
		}
		merged++
	}
}

func (w *World) wantReplays(t *testing.T, requests []rewards.NewReward) {
	t.Helper()
	for i, v := range w.verdicts(t, requests...) {
		if v != rewards.Replay {
			t.Fatalf("verdict %d of the repeated reward %d, want a replay", v, i)
		}
	}
}

// TestFiltersMergedBefore opens a store with two filters of older versions: a merged one that does not say which of its
// segments may have a key, and one with fewer bits for each key. Until they are made again every key is found behind
// them, too.
func TestFiltersMergedBefore(t *testing.T, engine store.Engine) {
	t.Helper()
	const segments = 64
	w := NewWorld(t, engine)
	requests := w.recordSegments(t, segments+6)
	w.sealAll(t)
	w.mergeAll(t)
	const side = `SELECT count(*) FROM segment_filters WHERE first = 0 AND last = 63 AND substr(bits, 17, 8) = x'0000000000000040'`
	sized := fmt.Sprintf(`SELECT count(*) FROM segment_filters WHERE first = %d AND substr(bits, 1, 8) = x'%016x'`,
		segments+1, SegmentSize*16)
	w.wantRows(t, "filters side by side", 1, side)
	w.wantRows(t, "filters of full size", 1, sized)
	setFilter(t, engine, segment.NewFilter(0, segments*SegmentSize), segments-1)
	setFilter(t, engine, segment.NewFilter(segments+1, SegmentSize-1), segments+1)
	w.wantRows(t, "filters side by side, before", 0, side)
	w.wantRows(t, "filters of full size, before", 0, sized)
	w.reopen(t)
	w.wantReplays(t, requests)
	if merged := w.mergeAll(t); merged != 2 {
		t.Errorf("merged %d times, want once for each filter", merged)
	}
	w.wantRows(t, "filters side by side, merged again", 1, side)
	w.wantRows(t, "filters of full size, made again", 1, sized)
	w.wantReplays(t, requests)
	w.reopen(t)
	w.wantReplays(t, requests)
}

// setFilter adds the keys of the segments from the filter's first one to the last to an empty filter, and stores it in
// the place of the filter that begins with the same segment.
func setFilter(t *testing.T, engine store.Engine, f *segment.Filter, last int64) {
	t.Helper()
	check(t, engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		err := tx.Query(ctx, func(row store.Row) error {
			var key string
			check(t, row.Scan(&key))
			decoded, err := hex.DecodeString(key)
			sum := sha256.Sum256(decoded)
			f.Add(f.First, int64(binary.BigEndian.Uint64(sum[:])))
			return err
		}, `SELECT hex(app_id || CAST(idempotency_key AS BLOB)) FROM rewards WHERE rowid > ?1 AND rowid <= ?2`,
			f.First*SegmentSize, (last+1)*SegmentSize)
		check(t, err)
		stored, err := f.Bytes()
		check(t, err)
		_, err = tx.Exec(ctx, `UPDATE segment_filters SET bits = ?1 WHERE first = ?2`, stored, f.First)
		return err
	}))
}
