package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
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

// forgetIDs takes the ids out of all blocks of keys, so that only rows find the rewards.
func (w *segmented) forgetIDs(t *testing.T) {
	t.Helper()
	w.exec(t, `update key_blocks set entries = decode((select string_agg(substring(encode(entries, 'hex') from n * 44 + 1 for 12)
		|| repeat('00', 16), '' order by n) from generate_series(0, octet_length(entries) / 22 - 1) as n), 'hex')`)
}

// A repeated request reads a final reward of a sealed segment by its row, and another one by its id.
func TestRepeatedRequestsByRows(t *testing.T) {
	t.Parallel()
	w, s, _ := withRows(t)
	wrong := w.number(t, `select count(*) from key_blocks b cross join generate_series(1, octet_length(entries) / 22) as n
		join rewards r on r.id = substring(entries from n * 22 - 15 for 16)
		where coalesce(b.rows[n], '(0,0)') <> case r.status when 3 then r.ctid else '(0,0)'::tid end`)
	known := w.number(t, `select count(*) from key_blocks b cross join unnest(b.rows) as row where row <> '(0,0)'`)
	if wrong > 0 || known < 4*storetest.SegmentSize {
		t.Errorf("%d rows are wrong, and %d known", wrong, known)
	}
	w.wantReplays(t, s, 0, len(w.requests))
	w.forgetIDs(t)
	final := w.number(t, `select count(*) from rewards where status = 3`)
	w.wantReplays(t, s, 0, int(final))
}

// A row of a block of keys that is another reward's now, or nobody's, changes no answer.
func TestRowsOfKeysOfOthers(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]string{
		"the next one's": `update key_blocks set rows = rows[2:] || rows[1:1]`,
		"beyond the end": `update key_blocks set rows = array_fill('(2147483647,1)'::tid, array[cardinality(rows)])`,
		"cut":            `update key_blocks set rows = rows[:1]`,
		"written again":  `vacuum full rewards`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s, _ := withRows(t)
			w.exec(t, move)
			w.wantReplays(t, s, 0, len(w.requests))
			_, err := s.SealSegment(t.Context()) // reads the segments
			check(t, err)
			w.wantReplays(t, s, 0, len(w.requests))
		})
	}
}

// An attempt is stored, its answer is lost, and the process reads what was stored. The next attempt knows that as its own.
func TestAStoredAttemptIsRecognized(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 0)
	e := &beside{Engine: open(t, w.url, postgres.Options{})}
	s := over(t, e)
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

// An earlier version, whose blocks have another size, began to seal a segment: the upgrade removes them, and the segment
// is sealed.
func TestAnUpgradeWhileASegmentIsSealed(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	const many = 300
	w.processes[0].SealEvery(many)
	for range many / 20 {
		w.record(t, w.processes[0], w.requestsFor(t, 20)...)
	}
	if n := w.number(t, `select count(*) from segments where keys = 1`); n != 2 {
		t.Fatalf("%d segments are not sealed, want a full one and the next one", n)
	}
	const entries = `with e as (select 6 * i as u, 8 * i as k, 16 * i as r, b.* from reward_batches b
		cross join generate_series(0, octet_length(b.ids) / 16 - 1) as i) insert into `
	w.exec(t, entries+`key_blocks (place, entries) select min(place), string_agg(entry, '' order by entry) from (
		select ('x00000000' || encode(substring(keys from k + 1 for 4), 'hex'))::bit(64)::bigint as place,
			substring(keys from k + 1 for 6) || substring(ids from r + 1 for 16) as entry,
			(row_number() over (order by substring(keys from k + 1 for 8)) - 1) / 64 as block from e) as o
		where block < 3 group by block`)
	w.exec(t, entries+`user_blocks (segment, first, entries) select 0, substring(string_agg(entry, '' order by entry) for 22), string_agg(entry, '' order by entry) from (
		select entry, (row_number() over (order by entry) - 1) / 64 as block from (
		select substring(users from u + 1 for 6) || substring(ids from r + 1 for 16) as entry from e) as n) as o
		where block < 3 group by block`)
	w.exec(t, `drop view readable.segments; alter table segments drop column checksum;
		delete from goose_db_version where version_id > 35`)
	s := w.join(t)
	s.SealEvery(many)
	w.seal(t, s)
	if n := w.number(t, `select count(*) from segments where keys = 2 and users = 2`); n != 1 {
		t.Errorf("%d segments are sealed, want 1", n)
	}
	if n := w.number(t, `select sum(octet_length(entries)) / 22 from key_blocks`); n != many {
		t.Errorf("%d entries of %d rewards", n, many)
	}
	w.wantReplays(t, s, 0, many)
	w.wantAll(t, s)
}

// Rows of another file are not used: nothing finds a reward whose id the block has not, and its key is no new one.
func TestRowsOfKeysOfAnotherFile(t *testing.T) {
	t.Parallel()
	w, _, _ := withRows(t)
	w.exec(t, `update segments set file = file + 1`)
	w.forgetIDs(t)
	out, err := w.join(t).RecordRewards(t.Context(), w.requests[:1])
	if err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("%+v, %v", out, err)
	}
}
