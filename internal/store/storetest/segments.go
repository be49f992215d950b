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
	for _, u := range w.Users {
		w.wantList(t, requests, u)
	}
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
			for _, step := range []func(context.Context) (bool, error){w.SealSegment, w.SealSegment, w.MergeFilters} {
				check(t, failure(step(t.Context())))
			}
		case 2, 5: // of a segment some entries are stored, or all
			w.reopen(t)
		}
	}
	for i, v := range w.verdicts(t, requests...) {
		if v != rewards.Replay {
			t.Fatalf("verdict %d of the repeated reward %d, want a replay", v, i)
		}
	}
	return requests
}

func (w *World) wantList(t *testing.T, requests []rewards.NewReward, u rewards.User) {
	t.Helper()
	var want []string
	for _, r := range slices.Backward(requests) {
		if r.UserID == u.ID {
			want = append(want, r.IdempotencyKey)
		}
	}
	for _, status := range []rewards.Status{0, rewards.Recorded} {
		for _, limit := range []int{1, 4, 1000} {
			f := rewards.RewardFilter{UserID: &u.ID, Status: status}
			var got []string
			for _, r := range w.walk(t, u.AppID, f, limit) {
				got = append(got, r.IdempotencyKey)
			}
			wantEqual(t, fmt.Sprintf("%+v, pages of %d", f, limit), want, got)
		}
	}
}

// TestUpgrade indexes the rewards of a store that has the indexes of an older version.
// interrupted makes an engine whose writes fail after some of them.
func TestUpgrade(t *testing.T, engine store.Engine, interrupted func(store.Engine, int) store.Engine) {
	t.Helper()
	w := NewWorld(t, engine)
	requests := w.recordSegments(t, 5)
	for writes := 0; ; writes++ {
		w.engine = interrupted(engine, writes)
		w.reopen(t)
		err := w.IndexRewards(t.Context(), func(done, total int64) {
			if want := int64(len(requests)); total != want || done > want {
				t.Errorf("progress %d of %d, want a total of %d", done, total, want)
			}
		})
		w.engine = engine
		w.reopen(t)
		for i, v := range w.verdicts(t, requests...) {
			if v != rewards.Replay {
				t.Fatalf("after %d writes of the upgrade: verdict %d of the repeated reward %d, want a replay", writes, v, i)
			}
		}
		more := w.Request(t, 1_000_000)
		w.record(t, more)
		requests = append(requests, more)
		w.wantList(t, requests, w.Users[0])
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	check(t, w.IndexRewards(t.Context(), func(int64, int64) { t.Error("an upgraded store is indexed again") }))
}
