package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// ofKeys are the tables that rewards and their keys are in.
func ofKeys() []string {
	return []string{"rewards", "open_rewards", "segments", "reward_batches", "key_blocks", "user_blocks"}
}

// keep keeps what the server has.
func (w *segmented) keep(t *testing.T) {
	t.Helper()
	for _, table := range ofKeys() {
		w.exec(t, `create table kept_`+table+` as table `+table)
	}
}

// failOver loses what was stored since keep.
func (w *segmented) failOver(t *testing.T) {
	t.Helper()
	for _, table := range ofKeys() {
		w.exec(t, `truncate `+table)
		w.exec(t, `insert into `+table+` select * from kept_`+table)
	}
}

// A fail-over loses that a segment was sealed, and nothing else. Processes that knew it still find its keys, also when they
// go on to seal.
func TestASealThatAFailOverLost(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 3)
	for range storetest.SegmentSize + 3 {
		w.give(t, w.processes[0])
	}
	w.keep(t)
	for _, s := range w.processes {
		w.seal(t, s)
	}
	w.failOver(t)
	w.wantAll(t, w.processes[1])
	w.wantReplays(t, w.processes[0], 0, storetest.SegmentSize)
	w.seal(t, w.processes[2])
	w.wantReplays(t, w.processes[2], 0, storetest.SegmentSize)
	w.wantReplays(t, w.join(t), 0, storetest.SegmentSize)
}

// beside does something before or after a WriteForClients.
type beside struct {
	store.Engine

	before, after func()
}

func (b *beside) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if b.before != nil {
		b.before()
	}
	err := b.Engine.WriteForClients(ctx, f)
	if after := b.after; after != nil && err == nil {
		b.after = nil
		after()
		return errors.Join(store.ErrUnknownOutcome, errors.New("lost"))
	}
	return err
}

// A process adds what it recorded to a segment that another one has sealed meanwhile. Its size is exact: it shows whether
// a block is missing.
func TestASealedSegmentIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	e := &beside{Engine: open(t, w.url, postgres.Options{})}
	late := over(t, e)
	for range 3 {
		w.give(t, late)
	}
	e.before = func() {
		e.before = nil
		for range storetest.SegmentSize {
			w.give(t, w.processes[0])
		}
		w.seal(t, w.processes[0])
	}
	_, err := late.SealSegment(t.Context())
	check(t, err)
	if wrong := w.number(t, `SELECT count(*) FROM segments g WHERE keys = 2 AND size <> (SELECT sum(octet_length(entries)) / 22
		FROM key_blocks WHERE place >> 32 = g.number)`); wrong > 0 || e.before != nil {
		t.Errorf("%d sealed segments have another size", wrong)
	}
}

// A fail-over loses some blocks of a segment before it is marked as sealed. They are stored again.
func TestBlocksThatAFailOverLost(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"key_blocks", "user_blocks"} {
		w := newSegmented(t, 1)
		for range storetest.SegmentSize + 3 {
			w.give(t, w.processes[0])
		}
		lose := func() { w.exec(t, `delete from `+table) }
		s, err := store.New(t.Context(), &beside{Engine: open(t, w.url, postgres.Options{}), before: lose}, time.Now, rand.Reader)
		check(t, err)
		s.SealEvery(storetest.SegmentSize)
		more, err := s.SealSegment(t.Context())
		if n := w.number(t, `select count(*) from segments where keys = 2 or users = 2`); more || err != nil || n != 0 {
			t.Errorf("%d segments are sealed without their %s, more: %t, %v", n, table, more, err)
		}
		w.seal(t, w.processes[0])
		w.wantReplays(t, w.join(t), 0, len(w.requests))
		w.wantAll(t, w.join(t))
	}
}

// A commit with an unknown outcome, which another process saw, is lost with one before it, and stored again after another
// one. The process that saw it notices that.
func TestABatchStoredAgainAfterAFailOver(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 2)
	b, c := w.processes[0], w.processes[1]
	e := &beside{Engine: open(t, w.url, postgres.Options{})}
	a, err := store.New(t.Context(), e, time.Now, rand.Reader)
	check(t, err)
	w.give(t, b)
	w.give(t, a)
	w.keep(t)
	w.give(t, b) // lost
	w.requests, w.ids = w.requests[:2], w.ids[:2]
	repeated := w.Request(t, money.Dollar)
	e.after = func() {
		f := rewards.RewardFilter{IdempotencyKey: repeated.IdempotencyKey}
		list, err := b.Rewards(t.Context(), w.App.ID, f, rewards.Page[rewards.Reward]{Limit: 2})
		if err != nil || len(list) != 1 {
			t.Errorf("the new reward is not there: %v, %v", list, err)
		}
		w.failOver(t)
		w.give(t, c)
	}
	w.record(t, a, repeated)
	w.wantAll(t, b)
	w.wantReplays(t, b, 0, len(w.requests))
}

// A fail-over loses the last batch of a process that records alone, and another process stores one with its number.
func TestABatchThatAFailOverReplaced(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 2)
	alone, other := w.processes[0], w.processes[1]
	w.give(t, alone)
	w.give(t, alone)
	w.keep(t)
	w.give(t, alone)
	w.failOver(t)
	w.requests, w.ids = w.requests[:2], w.ids[:2]
	w.give(t, other)
	w.wantReplays(t, alone, 2, 3)
	w.wantReplays(t, other, 0, len(w.requests))
}

// besideOthers returns a process that knows that another one records, too, and runs f once before it stores the next
// batch.
func (w *segmented) besideOthers(t *testing.T, f func()) *store.Store {
	t.Helper()
	e := &beside{Engine: open(t, w.url, postgres.Options{})}
	s := over(t, e)
	for range w.Users { // so that it knows all of them
		w.give(t, s)
		w.give(t, w.processes[0])
	}
	e.before = func() {
		e.before = nil
		f()
	}
	return s
}

// Another process stores a batch with the same key between the reading and the storing of a process.
func TestKeysBesideOthers(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	taken := w.Request(t, money.Dollar)
	s := w.besideOthers(t, func() {
		w.give(t, w.processes[0])
		w.record(t, w.processes[0], taken)
	})
	out, err := s.RecordRewards(t.Context(), []rewards.NewReward{taken})
	check(t, err)
	if out[0].Verdict != rewards.Replay || out[0].Reward.ID != w.ids[len(w.ids)-1] {
		t.Errorf("verdict %d for a key that another process has taken", out[0].Verdict)
	}
	for i := range 3 * storetest.SegmentSize {
		w.give(t, []*store.Store{s, w.processes[0]}[i%2])
	}
	w.wantReplays(t, s, 0, len(w.requests))
	w.wantReplays(t, w.processes[0], 0, len(w.requests))
	w.wantReplays(t, w.join(t), 0, len(w.requests))
}

// Another process begins a segment between the reading and the storing of a process.
func TestSegmentsBesideOthers(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	s := w.besideOthers(t, func() {
		for range storetest.SegmentSize {
			w.give(t, w.processes[0])
		}
	})
	w.give(t, s)
	newest := w.number(t, `select segment from rewards order by id desc limit 1`)
	if n := w.number(t, `select max(number) from segments`); n == 0 || newest != n {
		t.Errorf("the newest reward is in segment %d, want %d", newest, n)
	}
	w.wantReplays(t, w.join(t), 0, len(w.requests))
}
