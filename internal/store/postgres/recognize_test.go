package postgres_test

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/segment"
	"stockrewards/internal/store/storetest"
)

// wantFirst checks that the first request of a batch gets a reward that was recorded before.
func (w *segmented) wantFirst(t *testing.T, batch []rewards.NewReward, id rewards.RewardID) {
	t.Helper()
	out, err := w.processes[0].RecordRewards(t.Context(), batch)
	check(t, err)
	if out[0].Verdict != rewards.Replay || out[0].Reward.ID != id {
		t.Errorf("verdict %d and reward %s for the first of %d, want a replay of %s",
			out[0].Verdict, out[0].Reward.ID, len(batch), id)
	}
}

// A key is found although one look misses it: when it comes with many new ones, and when the bytes of its hash are also
// within another entry of its block.
func TestAKeyThatOneLookMisses(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	w.fill(t, 300)
	var entries []byte
	check(t, w.conn.QueryRow(t.Context(), `select entries from key_blocks order by place desc limit 1`).Scan(&entries))
	last := entries[len(entries)-segment.IDEntryBytes:]
	part := last[:len(segment.KeyPart(0))]
	i := slices.Index(w.ids, rewards.RewardID(last[len(part):]))
	batch := []rewards.NewReward{w.requests[i]}
	for range 20 {
		batch = append(batch, w.Request(t, money.Dollar))
	}
	w.wantFirst(t, batch, w.ids[i])
	copy(entries[len(part)+3:], part)
	w.exec(t, `update key_blocks set entries = $1 where place = (select max(place) from key_blocks)`, entries)
	w.wantFirst(t, batch[:1], w.ids[i])
}

// An attempt is stored, its answer is lost, and the process reads what was stored. The next attempt knows that as its own.
func TestAStoredAttemptIsRecognized(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 0)
	e := &beside{Engine: open(t, w.url, postgres.Options{})}
	s, err := store.New(t.Context(), e, time.Now, rand.Reader)
	check(t, err)
	s.SealEvery(storetest.SegmentSize)
	w.give(t, s)
	e.after = func() {
		_, err := s.SealSegment(t.Context()) // reads the batches
		check(t, err)
	}
	w.give(t, s)
	if e.after != nil {
		t.Error("no answer was lost")
	}
	w.wantReplays(t, s, 0, 2)
}
