package postgres_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// toVersion31 takes a database back to the version in which indexes had the keys and the users.
const toVersion31 = `create unique index rewards_by_key on rewards (reward_key(segment, app_id, idempotency_key));
	create index rewards_by_user on rewards (user_entry(segment, user_id), substring(id from 1 for 6));
	drop function drop_reward_indexes;
	drop view readable.reward_batches, readable.key_blocks, readable.user_blocks, readable.segments;
	drop table reward_batches, key_blocks, user_blocks; alter table segments drop column keys, drop column users, drop column page, drop column file, drop column checksum;
	create view readable.segments as select number, mark, octet_length(filter) as filter_bytes, size from segments;
	delete from goose_db_version where version_id > 31`

// segmented is a database with small segments, and processes that record in it.
type segmented struct {
	*storetest.World
	url       string
	conn      *pgx.Conn
	processes []*store.Store
	requests  []rewards.NewReward
	ids       []rewards.RewardID
}

func newSegmented(t *testing.T, processes int) *segmented {
	t.Helper()
	w := &segmented{url: database(t, cluster(t))}
	w.World = storetest.NewWorld(t, open(t, w.url, postgres.Options{}))
	w.conn = connect(t, w.url)
	for range processes {
		w.join(t)
	}
	return w
}

// join starts another process.
func (w *segmented) join(t *testing.T) *store.Store {
	t.Helper()
	s := over(t, open(t, w.url, postgres.Options{}))
	w.processes = append(w.processes, s)
	return s
}

// over is a process over an engine.
func over(t *testing.T, e store.Engine) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), e, time.Now, rand.Reader)
	check(t, err)
	s.SealEvery(storetest.SegmentSize)
	return s
}

func (w *segmented) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := w.conn.Exec(t.Context(), query, args...)
	check(t, err)
}

func (w *segmented) number(t *testing.T, query string, args ...any) (n int64) {
	t.Helper()
	check(t, w.conn.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// give records a new reward by a process.
func (w *segmented) give(t *testing.T, by *store.Store) {
	t.Helper()
	r := w.Request(t, money.Dollar)
	r.UserID = w.Users[len(w.requests)%len(w.Users)].ID
	r.Fingerprint = rewards.NewFingerprint(r, "")
	w.record(t, by, r)
}

// record records new rewards by a process, in one batch.
func (w *segmented) record(t *testing.T, by *store.Store, batch ...rewards.NewReward) {
	t.Helper()
	out, err := by.RecordRewards(t.Context(), batch)
	check(t, err)
	for i, o := range out {
		if o.Verdict != rewards.Created {
			t.Fatalf("verdict %d for the new reward %d", o.Verdict, len(w.requests))
		}
		w.requests, w.ids = append(w.requests, batch[i]), append(w.ids, o.Reward.ID)
	}
}

// seal lets a process seal segments until there is nothing to do.
func (w *segmented) seal(t *testing.T, by *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = by.SealSegment(t.Context())
		check(t, err)
	}
}

// requestsFor makes some requests, for each user in turn.
func (w *segmented) requestsFor(t *testing.T, some int) (batch []rewards.NewReward) {
	t.Helper()
	for i := range some {
		r := w.Request(t, money.Dollar)
		r.UserID = w.Users[i%len(w.Users)].ID
		r.Fingerprint = rewards.NewFingerprint(r, "")
		batch = append(batch, r)
	}
	return batch
}

// fill records a segment of many rewards, and seals it.
func (w *segmented) fill(t *testing.T, many int) {
	t.Helper()
	w.processes[0].SealEvery(int64(many))
	for len(w.requests) < many {
		w.record(t, w.processes[0], w.requestsFor(t, 100)...)
	}
	w.seal(t, w.processes[0])
}

// wantReplays repeats requests, in one batch with a new one: they get the rewards that they made.
func (w *segmented) wantReplays(t *testing.T, by *store.Store, from, to int) {
	t.Helper()
	batch := append([]rewards.NewReward{w.Request(t, money.Dollar)}, w.requests[from:to]...)
	out, err := by.RecordRewards(t.Context(), batch)
	check(t, err)
	if out[0].Verdict != rewards.Created {
		t.Errorf("verdict %d for a new reward among replays", out[0].Verdict)
	}
	for i, o := range out[1:] {
		if o.Verdict != rewards.Replay || o.Reward.ID != w.ids[from+i] {
			t.Errorf("the repeated request %d: verdict %d, reward %s, want %s", from+i, o.Verdict, o.Reward.ID, w.ids[from+i])
		}
	}
	w.requests, w.ids = append(w.requests, batch[0]), append(w.ids, out[0].Reward.ID)
}

// wantAll checks that a process finds every reward by its key and in its user's lists, once.
func (w *segmented) wantAll(t *testing.T, by *store.Store) {
	t.Helper()
	of := make(map[rewards.UserID]int)
	for i, r := range w.requests {
		of[r.UserID]++
		f := rewards.RewardFilter{IdempotencyKey: r.IdempotencyKey}
		list, err := by.Rewards(t.Context(), w.App.ID, f, rewards.Page[rewards.Reward]{Limit: 2})
		if err != nil || len(list) != 1 || list[0].ID != w.ids[i] {
			t.Errorf("by the key of the request %d: %v, %v", i, list, err)
		}
	}
	for user, want := range of {
		for _, status := range []rewards.Status{0, rewards.Recorded} {
			f := rewards.RewardFilter{UserID: &user, Status: status}
			found, page := 0, rewards.Page[rewards.Reward]{Limit: 3}
			for more := true; more; {
				list, err := by.Rewards(t.Context(), w.App.ID, f, page)
				check(t, err)
				if more = len(list) == page.Limit; len(list) > 0 {
					page.Before = list[len(list)-1].ID
				}
				found += len(list)
			}
			if found != want {
				t.Errorf("%d rewards of a user in status %d, want %d", found, status, want)
			}
		}
	}
}

// Whichever process recorded a key, and whether its segment has a filter that a process knows: every process finds it, and
// no key makes a second reward. New segments are begun by the way.
func TestKeysAreFoundInEverySegment(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 3)
	const many = 150 * storetest.SegmentSize
	for i := range many {
		w.give(t, w.processes[i%2])
		if i%50 == 49 {
			w.wantReplays(t, w.processes[i/50%3], i-49, i)
		}
		if i%97 == 96 {
			w.seal(t, w.processes[2])
		}
	}
	if n := w.number(t, `select max(number) from segments`); n < 64 {
		t.Fatalf("only %d segments", n)
	}
	if n := w.number(t, `select max(c) from (select count(*) c from rewards group by segment) s`); n > 3*storetest.SegmentSize+50 {
		t.Errorf("a segment has %d rewards", n)
	}
	fresh := w.join(t) // reads filters, and merges them
	w.seal(t, fresh)
	for _, s := range w.processes {
		w.wantReplays(t, s, 0, many)
		w.wantAll(t, s)
	}
	if n := w.number(t, `select count(*) from segments where filter = '' and number < (select max(number) from segments)`); n > 1 {
		t.Errorf("%d sealed segments have no filter", n)
	}
	if n := w.number(t, `select count(*) from (select 1 from rewards group by app_id, idempotency_key having count(*) > 1) d`); n > 0 {
		t.Errorf("%d keys have two rewards", n)
	}
}

// A process that believes an older segment to be the newest one stores nothing in it.
func TestAProcessLearnsOfNewSegments(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 2)
	a, b := w.processes[0], w.processes[1]
	w.give(t, b)
	before := w.number(t, `select max(number) from segments`)
	for range 3 * storetest.SegmentSize {
		w.give(t, a)
	}
	w.seal(t, a)
	w.wantReplays(t, b, 2*storetest.SegmentSize, len(w.requests)) // no key of a segment that it knows
	w.give(t, b)
	if n := w.number(t, `select segment from rewards where id = $1`, w.ids[len(w.ids)-1][:]); n < before+3 {
		t.Errorf("the reward is in segment %d", n)
	}
}

// A fleet's processes together fill a segment that none of them fills alone: sealing begins the next one.
func TestAFleetFillsASegment(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 6)
	for _, s := range w.processes {
		w.give(t, s) // reads the segments
	}
	for _, s := range w.processes {
		w.give(t, s)
	}
	before := w.number(t, `select max(number) from segments`)
	for _, s := range w.processes { // each says what it recorded
		w.seal(t, s)
	}
	if n := w.number(t, `select max(number) from segments`); before != 0 || n != 1 {
		t.Errorf("segment %d, then %d", before, n)
	}
}

// The row of a segment has how many rewards all processes recorded there.
func TestAFleetCountsOnce(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 2)
	for i, s := range w.processes {
		for range 2 + i {
			w.give(t, s)
		}
		w.seal(t, s)
		w.seal(t, s)
	}
	if n := w.number(t, `select size from segments`); n != 5 {
		t.Errorf("%d rewards, want 5", n)
	}
}

// A server takes over that has lost the newest segments and some rewards. Processes forget what they knew of these: a lost
// key can be used again, and a key that came instead is found.
func TestSegmentsThatAFailOverLost(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 3)
	a, b, c := w.processes[0], w.processes[1], w.processes[2]
	const kept = 3*storetest.SegmentSize + storetest.SegmentSize/2
	for range kept {
		w.give(t, a)
	}
	w.seal(t, b)
	w.keep(t)
	for range storetest.SegmentSize/2 + 2 {
		w.give(t, a)
	}
	w.seal(t, a)
	w.give(t, c)
	newest := w.number(t, `select max(number) from segments`)
	if newest < 4 {
		t.Fatalf("segment %d", newest)
	}
	w.failOver(t) // the server lost segment 3 from its middle on
	lost := w.requests[kept:]
	w.requests, w.ids = w.requests[:kept:kept], w.ids[:kept:kept]
	for range 2 * storetest.SegmentSize { // b fills the segments again, with other rewards
		w.give(t, b)
	}
	w.seal(t, b)
	w.wantReplays(t, c, kept, len(w.requests)) // before it learns of that
	w.wantAll(t, a)                            // nor has it
	w.wantReplays(t, a, 0, len(w.requests))
	w.record(t, a, lost...) // their keys can be used again
	w.wantAll(t, a)
	w.wantAll(t, b)
}

// The keys of a sealed segment are in many blocks, and those of each user in several.
func TestManyBlocksOfASegment(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	const many = 1000
	w.fill(t, many)
	if n := w.number(t, `select count(*) from key_blocks`); n < many/64 {
		t.Errorf("%d blocks", n)
	}
	s := w.join(t)
	w.wantReplays(t, s, 0, many)
	w.wantAll(t, s)
	w.give(t, s)
	w.wantFirst(t, w.requests[:1], w.ids[0]) // which could be committed at once
}

// The rewards of an older store are all of segment 0, however many they are.
func TestSegmentZeroOfAnOlderStore(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	for range 5 * storetest.SegmentSize {
		w.give(t, w.processes[0])
	}
	w.exec(t, `update rewards set segment = 0; delete from segments where number > 0;`+toVersion31)
	s := w.join(t)
	w.wantReplays(t, s, 0, len(w.requests))
	for range 9 * storetest.SegmentSize {
		w.give(t, s)
		w.seal(t, s)
	}
	if n := w.number(t, `select max(number) from segments`); n < 9 {
		t.Errorf("segment %d", n)
	}
	w.wantReplays(t, s, 0, len(w.requests))
	w.wantAll(t, w.join(t))
}

// interrupted does something before each Write.
type interrupted struct {
	store.Engine

	before func()
}

func (e interrupted) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.before()
	return e.Engine.Write(ctx, f)
}

// A filter is stored only while the server has what it was made from.
func TestAFilterOfAnotherHistoryIsNotStored(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	for range storetest.SegmentSize {
		w.give(t, w.processes[0])
	}
	lose := func() { w.exec(t, `update segments set mark = mark + 1 where number = 1`) }
	s, err := store.New(t.Context(), interrupted{open(t, w.url, postgres.Options{}), lose}, time.Now, rand.Reader)
	check(t, err)
	s.SealEvery(storetest.SegmentSize)
	more, err := s.SealSegment(t.Context())
	check(t, err)
	if n := w.number(t, `select count(*) from segments where filter <> ''`); more || n != 0 {
		t.Errorf("%d filters are stored, more: %t", n, more)
	}
	w.seal(t, w.processes[0])
	if n := w.number(t, `select count(*) from segments where filter <> ''`); n != 1 {
		t.Errorf("%d filters are stored of what the server has", n)
	}
}
