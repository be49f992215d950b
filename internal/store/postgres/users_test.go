package postgres_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// toVersion32 takes a database back to the version in which an index had the users.
const toVersion32 = `create index rewards_by_user on rewards (user_entry(segment, user_id), substring(id from 1 for 6));
	drop function drop_reward_indexes; create function drop_key_index() returns bigint language sql return 1;
	drop view readable.reward_batches, readable.key_blocks, readable.user_blocks, readable.segments;
	drop table user_blocks; alter table key_blocks drop column rows; alter table segments drop column users, drop column page, drop column file, drop column checksum; alter table reward_batches drop column users;
	create view readable.reward_batches as select number, mark, segment, keys::text, ids::text from reward_batches;
	create view readable.key_blocks as select place, encode(entries, 'hex') as entries from key_blocks;
	create view readable.segments as select number, mark, octet_length(filter) as filter_bytes, size, keys::text
		from segments;
	delete from goose_db_version where version_id > 32`

// Two users have the same 6 bytes, and the same entries in the index, in memory and in blocks, and all their rewards are
// of one millisecond: each list has its own, and no page lacks one.
func TestAnotherUserOfAnEntry(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 0)
	for i := range w.Users[:2] {
		id := &w.Users[i].ID
		w.exec(t, `update users set id = substring(id for 10) || '\x050601020304' where id = $1`, id[:])
		copy(id[10:], "\x05\x06\x01\x02\x03\x04")
	}
	s, batch := w.join(t), []rewards.NewReward(nil)
	s.SealEvery(1 << 10)
	for i := range 30 {
		r := w.Request(t, money.Dollar)
		r.UserID = w.Users[i%2].ID
		r.Fingerprint = rewards.NewFingerprint(r, "")
		batch = append(batch, r)
	}
	w.record(t, s, batch...)
	for i := range w.ids { // in another order than they are stored
		id, mixed := w.ids[i], sha256.Sum256(w.ids[i][:])
		copy(w.ids[i][:6], w.ids[0][:6])
		copy(w.ids[i][6:], mixed[:])
		w.exec(t, `update rewards set id = $2 where id = $1`, id[:], w.ids[i][:])
		w.exec(t, `update open_rewards set id = $2 where id = $1`, id[:], w.ids[i][:])
	}
	w.exec(t, toVersion31)
	s = w.join(t)
	w.wantAll(t, s)
	w.seal(t, s)
	w.wantAll(t, s)
	for i := range 20 {
		r := w.Request(t, money.Dollar)
		r.UserID = w.Users[i%2].ID
		r.Fingerprint = rewards.NewFingerprint(r, "")
		w.record(t, s, r)
		w.wantAll(t, s)
	}
}

// The users of a store of version 32 are found while and after they are sealed, also by a process that does not know that.
// Of its segments some have their keys in blocks, and some in batches.
func TestUsersOfVersion32(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	for range 3*storetest.SegmentSize + 2 {
		w.give(t, w.processes[0])
		if len(w.requests) < 2*storetest.SegmentSize {
			w.seal(t, w.processes[0])
		}
	}
	w.exec(t, toVersion32)
	s, idle := w.join(t), w.join(t)
	w.wantAll(t, s)
	w.wantAll(t, idle)
	for more := true; more; {
		var err error
		more, err = s.SealSegment(t.Context())
		check(t, err)
		w.give(t, s)
		w.wantAll(t, s)
		w.wantAll(t, idle)
	}
	w.wantReplays(t, s, 0, len(w.requests))
	w.wantAll(t, w.join(t))
	if n := w.number(t, `select count(*) from pg_indexes where indexname in ('rewards_by_key', 'rewards_by_user')`); n != 0 {
		t.Errorf("%d indexes are left", n)
	}
}

// besideReads does something before the next Read.
type besideReads struct {
	store.Engine

	before func()
}

func (b *besideReads) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if before := b.before; before != nil {
		b.before = nil
		before()
	}
	return b.Engine.Read(ctx, f)
}

// A user gets a reward after a process has looked for the user's rewards in memory, and before it reads them: the list has
// it, also when a segment began meanwhile.
func TestAListWhileTheUserGetsRewards(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, storetest.SegmentSize} {
		w := newSegmented(t, 1)
		e := &besideReads{Engine: open(t, w.url, postgres.Options{})}
		s, err := store.New(t.Context(), e, time.Now, rand.Reader)
		check(t, err)
		s.SealEvery(storetest.SegmentSize)
		give := func(user int) {
			r := w.Request(t, money.Dollar)
			r.UserID = w.Users[user].ID
			r.Fingerprint = rewards.NewFingerprint(r, "")
			w.record(t, s, r)
		}
		give(0)
		check(t, s.LoadIndex(t.Context()))
		e.before = func() {
			for range others {
				give(1)
			}
			give(0)
		}
		f := rewards.RewardFilter{UserID: &w.Users[0].ID}
		list, err := s.Rewards(t.Context(), w.App.ID, f, rewards.Page[rewards.Reward]{Limit: 9})
		if err != nil || len(list) != 2 {
			t.Errorf("with %d rewards of another user meanwhile the list has %d, want 2: %v", others, len(list), err)
		}
	}
}

// A migration waits for a reader of an older process, or is undone and run again when both wait for each other.
func TestAReaderDuringTheMigration(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"reward_batches", "segments", "rewards"}, {"rewards", "reward_batches"}} {
		w := newSegmented(t, 1)
		w.give(t, w.processes[0])
		w.exec(t, toVersion32)
		reader, migrated := connect(t, w.url), make(chan error, 1)
		_, err := reader.Exec(t.Context(), `begin; select * from `+order[0])
		check(t, err)
		go func() {
			e, err := postgres.Open(t.Context(), w.url, postgres.Options{})
			if err == nil {
				err = e.Close()
			}
			migrated <- err
		}()
		for w.number(t, `select count(*) from pg_locks l join pg_database d on d.oid = l.database
			where not granted and datname = current_database()`) == 0 {
			time.Sleep(time.Millisecond)
		}
		for _, table := range order[1:] {
			_, err := reader.Exec(t.Context(), `select * from `+table)
			check(t, err)
		}
		_, err = reader.Exec(t.Context(), `rollback`)
		check(t, errors.Join(err, <-migrated))
		w.wantAll(t, w.processes[0])
	}
}

// wantLists checks the list of each user in a process, which reads nothing else before.
func (w *segmented) wantLists(t *testing.T, by *store.Store) {
	t.Helper()
	of := make(map[rewards.UserID]int)
	for _, r := range w.requests {
		of[r.UserID]++
	}
	for user, want := range of {
		list, err := by.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{UserID: &user}, rewards.Page[rewards.Reward]{Limit: 1000})
		if err != nil || len(list) != want {
			t.Errorf("the list of a user has %d rewards, want %d: %v", len(list), want, err)
		}
	}
}

// The list of a user has at once what another process recorded, and still after a fail-over that lost only that a segment
// was sealed.
func TestListsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 3)
	for range storetest.SegmentSize + 3 {
		w.give(t, w.processes[0])
		w.wantLists(t, w.processes[1])
	}
	w.keep(t)
	w.seal(t, w.processes[0])
	w.wantLists(t, w.processes[1])
	w.failOver(t)
	w.wantLists(t, w.processes[0])
	w.wantLists(t, w.processes[1])
	w.wantLists(t, w.processes[2])
}

// A fail-over loses that the users of an older segment were sealed while a list is read. The list has them.
func TestASealThatIsLostDuringAList(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	for range 2*storetest.SegmentSize + 2 {
		w.give(t, w.processes[0])
		w.seal(t, w.processes[0])
	}
	w.exec(t, toVersion32)
	sealer := w.join(t)
	for w.number(t, `select count(*) from segments where keys < 2`) > 1 {
		_, err := sealer.SealSegment(t.Context())
		check(t, err)
	}
	e := &besideReads{Engine: open(t, w.url, postgres.Options{})}
	s, err := store.New(t.Context(), e, time.Now, rand.Reader)
	check(t, err)
	s.SealEvery(storetest.SegmentSize)
	check(t, s.LoadIndex(t.Context()))
	w.keep(t)
	w.seal(t, sealer)
	e.before = func() { e.before = func() { w.failOver(t) } } // before the second statement
	f, want := rewards.RewardFilter{UserID: &w.requests[0].UserID}, 0
	for _, r := range w.requests {
		if r.UserID == *f.UserID {
			want++
		}
	}
	list, err := s.Rewards(t.Context(), w.App.ID, f, rewards.Page[rewards.Reward]{Limit: 100})
	if err != nil || len(list) != want || e.before != nil {
		t.Errorf("the list has %d rewards, want %d: %v", len(list), want, err)
	}
}
