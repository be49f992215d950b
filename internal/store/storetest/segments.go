package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testSegments records rewards of many segments, in batches of several sizes and over
// restarts. Every key is a replay for ever, in the tail as in the oldest segment, and a user's
// list crosses the borders of segments.
func testSegments(t *testing.T, w *World) {
	requests := w.recordSegments(t, 18)
	for _, i := range []int{0, SegmentSize - 1, SegmentSize, len(requests) / 2, len(requests) - 1} {
		wantVerdicts(t, w.verdicts(t, changed(requests[i]), requests[i]), rewards.Conflict, rewards.Replay)
	}
	w.wantLists(t, requests)
}

// recordSegments records full segments of rewards to all users in turn. It reopens the store
// between the batches.
func (w *World) recordSegments(t *testing.T, segments int) (requests []rewards.NewReward) {
	t.Helper()
	for size := 1; len(requests) < segments*SegmentSize; size = size%7 + 1 {
		var batch []rewards.NewReward
		for range size {
			r := w.Request(t, 1_000_000)
			r.UserID = w.Users[len(requests)%len(w.Users)].ID
			r.Fingerprint = rewards.NewFingerprint(r, "")
			batch, requests = append(batch, r), append(requests, r)
		}
		outcomes, err := w.RecordRewards(t.Context(), append(batch, requests[0]))
		check(t, err)
		for i, o := range outcomes {
			if want := rewards.Created; i < size && o.Verdict != want && len(requests) > size {
				t.Fatalf("verdict %d of reward %d, want %d", o.Verdict, len(requests)-size+i, want)
			}
		}
		switch size {
		case 3:
			w.sealAll(t)
			check(t, failure(w.MergeFilters(t.Context())))
		case 6:
			check(t, failure(w.SealSegment(t.Context())))
		case 2, 5: // after it the newest rewards are read again
			w.reopen(t)
		}
	}
	w.wantReplays(t, requests)
	return requests
}

// sealAll seals every full segment.
func (w *World) sealAll(t *testing.T) {
	t.Helper()
	check(t, w.trySealAll(t))
}

func (w *World) trySealAll(t *testing.T) (err error) {
	t.Helper()
	for more := true; more && err == nil; {
		more, err = w.SealSegment(t.Context())
	}
	return err
}

// wantLists compares the list of each user with the requests.
func (w *World) wantLists(t *testing.T, requests []rewards.NewReward) {
	t.Helper()
	for _, u := range w.Users {
		w.wantList(t, requests, u)
	}
}

func (w *World) wantList(t *testing.T, requests []rewards.NewReward, u rewards.User) {
	t.Helper()
	for _, status := range []rewards.Status{0, rewards.Recorded} {
		for _, limit := range []int{1, 4, 1000} {
			w.wantPages(t, requests, u, status, limit)
		}
	}
}

// wantPages compares the pages of a user's list with the requests for the user.
func (w *World) wantPages(t *testing.T, requests []rewards.NewReward, u rewards.User, status rewards.Status, limit int) {
	t.Helper()
	var want, got []string
	for _, r := range slices.Backward(requests) {
		if r.UserID == u.ID {
			want = append(want, r.IdempotencyKey)
		}
	}
	f := rewards.RewardFilter{UserID: &u.ID, Status: status}
	for _, r := range w.walk(t, u.AppID, f, limit) {
		got = append(got, r.IdempotencyKey)
	}
	wantEqual(t, fmt.Sprintf("%+v, pages of %d", f, limit), want, got)
}

// TestUpgrade indexes the rewards of a store that has the indexes of an older version.
// interrupted makes an engine whose writes fail after some of them.
func TestUpgrade(t *testing.T, engine store.Engine, interrupted func(store.Engine, int) store.Engine) {
	t.Helper()
	w := NewWorld(t, engine)
	requests := w.recordSegments(t, 5)
	w.upgrade(t, requests, int64(len(requests)), interrupted)
}

// TestUpgradeOfRows seals segments again whose entries an earlier version stored as rows, as inRows does.
func TestUpgradeOfRows(
	t *testing.T, engine store.Engine, interrupted func(store.Engine, int) store.Engine, inRows func(),
) {
	t.Helper()
	const segments = 3
	w := NewWorld(t, engine)
	requests := w.recordSegments(t, segments)
	w.sealAll(t)
	inRows()
	w.reopen(t)
	w.wantReplays(t, requests)
	for _, u := range w.Users {
		w.wantList(t, requests, u)
	}
	requests = append(requests, w.recordSegments(t, 2)...) // with segments of both kinds
	requests = w.upgrade(t, requests, -1, interrupted)
	w.wantRows(t, "rows that are left", 0, `SELECT (SELECT count(*) FROM reward_keys) + (SELECT count(*) FROM reward_users)`)
	w.wantRows(t, "segments in rows", 0, `SELECT count(*) FROM segments WHERE in_blocks = 0`)
	w.wantRows(t, "sealed segments", int64(len(requests)-1)/SegmentSize, `SELECT count(*) FROM segments`)
	w.sealAll(t)
	w.wantReplays(t, requests)
	for _, u := range w.Users {
		w.wantList(t, requests, u)
	}
}

// TestListWhileUpgrading finds rewards by user and by key while segments that are rows are sealed again, between the
// beginning of the transaction that reads and its first statement. during runs a function there in the next read.
func TestListWhileUpgrading(t *testing.T, engine store.Engine, during func(func()), inRows func()) {
	t.Helper()
	w := NewWorld(t, engine)
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	find := map[string]func(){
		"by user": func() { w.wantPages(t, requests, w.Users[0], 0, all[rewards.Reward]().Limit) },
		"by key": func() {
			f := rewards.RewardFilter{IdempotencyKey: requests[0].IdempotencyKey}
			if found := w.walk(t, w.App.ID, f, 1); len(found) != 1 {
				t.Errorf("a key finds %v during an upgrade", found)
			}
		},
	}
	for _, search := range find {
		inRows()
		w.reopen(t)
		w.wantReplays(t, requests)
		during(func() { check(t, w.IndexRewards(t.Context(), func(int64, int64) {})) })
		search()
		w.wantRows(t, "rows that are left", 0, `SELECT count(*) FROM reward_users`)
	}
}

// upgrade interrupts IndexRewards after each of its writes, and looks whether every reward is found. total is that of
// the progress, or -1. It returns the requests, with those that it made.
func (w *World) upgrade(
	t *testing.T, requests []rewards.NewReward, total int64, interrupted func(store.Engine, int) store.Engine,
) []rewards.NewReward {
	t.Helper()
	engine := w.engine
	progressed := false
	for writes := 0; ; writes++ {
		w.engine = interrupted(engine, writes)
		w.reopen(t)
		w.wantReplays(t, requests[:1]) // so that the segments are known
		err := w.IndexRewards(t.Context(), func(done, all int64) {
			progressed = true
			if done > all || total >= 0 && all != total {
				t.Errorf("progress %d of %d, want a total of %d", done, all, total)
			}
		})
		w.engine = engine
		w.reopen(t)
		w.wantReplays(t, requests)
		more := w.Request(t, 1_000_000)
		w.record(t, more)
		if requests = append(requests, more); total >= 0 {
			total++
		}
		w.wantList(t, requests, w.Users[0])
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if !progressed {
		t.Error("no progress")
	}
	check(t, w.IndexRewards(t.Context(), func(int64, int64) { t.Error("an upgraded store is indexed again") }))
	return requests
}

// TestSealingMayStopAnywhere stops the sealing of segments after each of its writes. Every reward is found in every
// state, and in the end all full segments are sealed.
func TestSealingMayStopAnywhere(t *testing.T, engine store.Engine, interrupted func(store.Engine, int) store.Engine) {
	t.Helper()
	const segments = 3
	w := NewWorld(t, engine)
	var requests []rewards.NewReward
	for range segments * SegmentSize {
		requests = append(requests, w.Request(t, 1_000_000))
		w.record(t, requests[len(requests)-1])
	}
	err := context.Canceled
	for writes := 0; err != nil; writes++ {
		w.engine = interrupted(engine, writes)
		w.reopen(t)
		if err = w.trySealAll(t); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		w.wantReplays(t, requests)
		w.engine = engine
		w.reopen(t)
		w.wantReplays(t, requests)
		w.wantList(t, requests, w.Users[0])
	}
	w.wantRows(t, "sealed segments", segments, `SELECT count(*) FROM segments`)
}

// TestSegmentsOfManyBlocks lists the rewards of users who have more in a segment than a block has, and of others.
func TestSegmentsOfManyBlocks(t *testing.T, engine store.Engine) {
	t.Helper()
	const size, segments = 2048, 2
	w := NewWorld(t, engine)
	w.SealEvery(size)
	var requests []rewards.NewReward
	for len(requests) < size*segments {
		batch := make([]rewards.NewReward, size/4)
		for i := range batch {
			r := w.Request(t, 1_000_000)
			if r.UserID = w.Users[0].ID; i%4 == 0 {
				r.UserID = w.Users[1+i/4%2].ID
			}
			r.Fingerprint = rewards.NewFingerprint(r, "")
			batch[i] = r
		}
		check(t, failure(w.RecordRewards(t.Context(), batch)))
		requests = append(requests, batch...)
	}
	w.sealAll(t)
	w.wantRows(t, "sealed segments", segments, `SELECT count(*) FROM segments`)
	w.wantRows(t, "blocks by user", segments*(4+1+1), `SELECT count(*) FROM user_blocks`)
	w.wantReplays(t, requests)
	for _, u := range w.Users {
		for _, limit := range []int{70, 1000} {
			w.wantPages(t, requests, u, 0, limit)
		}
	}
}
