package store

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// columnSegments is what a process over PostgreSQL knows of the segments of rewards (see LAYOUT.md). New rewards belong
// to the newest segment. The others are sealed: they get no more rewards. It is safe for concurrent use.
type columnSegments struct {
	size  int64 // about how many rewards a segment has
	known atomic.Pointer[segmentView]

	counted atomic.Int64 // about how many rewards the newest segment has, as its row says
	fresh   atomic.Int64 // rewards that this process recorded there, and did not add to its row yet
}

// segmentView is the segments at one moment. It never changes. The random mark of the newest segment says whether a
// transaction still sees these: another segment with its number, after a fail-over that lost some, has another mark.
type segmentView struct {
	newest, mark int64
	counted      int64             // about how many rewards the newest one has
	filters      []*segment.Filter // of the segments from 0 on, oldest first
	open         []int64           // sealed segments without a filter: every new key is looked for in them
}

func newColumnSegments() *columnSegments { return &columnSegments{size: segment.ColumnSize} }

// mayHave lists the segments that may have a key, apart from the newest one and those after it.
func (v *segmentView) mayHave(key requestKey) []int64 {
	list := slices.Clone(v.open)
	if len(v.filters) == 0 {
		return list
	}
	probe := segment.NewProbe(keyHash(key.app, key.key))
	for _, f := range slices.Backward(v.filters) {
		sealed, may := f.Newest(probe, f.Last+1)
		for ; may; sealed, may = f.Newest(probe, sealed) {
			list = append(list, sealed)
		}
	}
	return list
}

// where completes the condition of the app ?1 and the key ?2. ?3 and ?4 are the segments that it is looked for in,
// unless the store has lost some that this process knows.
func (x *columnSegments) where(key requestKey) (condition string, args []any) {
	v := x.known.Load()
	if v == nil {
		v = &segmentView{}
	}
	return ` AND reward_key(segment, app_id, idempotency_key) IN (SELECT reward_key(g.number, ?1, ?2) FROM segments g
		WHERE g.number >= ?3 OR g.number = ANY (?4::integer[])
			OR NOT EXISTS (SELECT 1 FROM segments m WHERE m.number = ?3 AND m.mark = ?5))`,
		[]any{v.newest, v.mayHave(key), v.mark}
}

// newestInSegments is newestIDs by the index of user_entry, which has the segment and 4 bytes of the user, and of the
// milliseconds. In a fleet the ids of a segment may reach into the next one, so it looks into all. WITH TIES adds the
// other rewards of the last millisecond, whose ids may be newer. coalesce hides a condition from the planner that
// nearly all rewards with the entry meet: else it expects one reward, and reads and sorts all of them.
func newestInSegments(below, id, limit string) string {
	return `SELECT s.of_user FROM segments g CROSS JOIN LATERAL (SELECT id AS of_user FROM rewards
		WHERE user_entry(segment, user_id) = user_entry(g.number, ?4)
			AND substring(id FOR 6) <= substring(` + id + `::bytea FOR 6)
			AND coalesce(user_id = ?4 AND id ` + below + ` ` + id + `, false)
		ORDER BY substring(id FOR 6) DESC FETCH FIRST (` + limit + `) ROWS WITH TIES) AS s
		ORDER BY s.of_user DESC LIMIT ` + limit
}

// listInSegments lists the user's rewards.
func listInSegments() string {
	return `SELECT ` + listColumns + ` FROM (` + newestInSegments(`<`, `?2`, `?3 + 0`) + `) AS page
		CROSS JOIN rewards WHERE app_id = ?1 AND id = of_user ORDER BY id DESC`
}

// withFilters is how many segments have a filter in memory.
func (v *segmentView) withFilters() int64 {
	if len(v.filters) == 0 {
		return 0
	}
	return v.filters[len(v.filters)-1].Last + 1
}

// current returns the segments that this process knows. It reads them only when it knows none.
func (x *columnSegments) current(ctx context.Context, tx Tx) (*segmentView, error) {
	if known := x.known.Load(); known != nil {
		return known, nil
	}
	return x.read(ctx, tx)
}

// read reads what the transaction sees of the segments. Filters that are in memory are not read again.
func (x *columnSegments) read(ctx context.Context, tx Tx) (*segmentView, error) {
	known, v := x.known.Load(), &segmentView{}
	if known != nil {
		var one int
		same, err := fetchValues(ctx, tx, []any{&one}, `SELECT 1 FROM segments WHERE number = ?1 AND mark = ?2`,
			known.newest, known.mark)
		if err != nil {
			return nil, err
		}
		if same {
			v.filters = slices.Clip(known.filters)
		}
	}
	for next, more := v.withFilters(), true; more; next = v.newest + 1 {
		more = false
		err := tx.Query(ctx, func(row Row) error {
			more = true
			return v.add(row)
		}, `SELECT number, mark, size, filter FROM segments WHERE number >= ?1 ORDER BY number LIMIT 32`, next)
		if err != nil {
			return nil, err
		}
	}
	last := len(v.open) - 1
	if last < 0 || v.open[last] != v.newest {
		return nil, errNoSegment
	}
	v.open = v.open[:last] // the newest one is not sealed
	if known == nil || known.mark != v.mark {
		x.fresh.Store(0)
	}
	x.counted.Store(v.counted)
	x.known.Store(v)
	return v, nil
}

// errNoSegment means that the store was damaged.
var errNoSegment = errors.New("no segment gets new rewards: run `stockrewards audit`")

// merge merges the filters in memory. It takes about 50 ms for each new one, so no transaction waits for it.
func (x *columnSegments) merge() {
	known := x.known.Load()
	merged := *known
	merged.filters = mergeAll(known.filters)
	x.known.CompareAndSwap(known, &merged)
}

// add adds the next segment.
func (v *segmentView) add(row Row) error {
	var stored []byte
	if err := row.Scan(&v.newest, &v.mark, &v.counted, toBytes{&stored}); err != nil {
		return err
	}
	if len(stored) == 0 || len(v.open) > 0 {
		v.open = append(v.open, v.newest)
		return nil
	}
	f, err := segment.ParseFilter(v.newest, v.newest, stored)
	v.filters = append(v.filters, f)
	return err
}

// inSegment is the condition that a reward is of the segment ?1, by the index of keys.
const inSegment = `reward_key(segment, app_id, idempotency_key) >= substring(int4send(?1) FROM 2)
		AND reward_key(segment, app_id, idempotency_key) < substring(int4send(?1 + 1) FROM 2)`

// recorded counts rewards that this process recorded. It reports whether the newest segment is full.
func (x *columnSegments) recorded(outcomes []rewards.Outcome) (full bool) {
	if x.known.Load() == nil {
		return false
	}
	created := int64(0)
	for i := range outcomes {
		if outcomes[i].Verdict == rewards.Created {
			created++
		}
	}
	x.fresh.Add(created)
	return x.full()
}

// full reports whether the newest segment is full. Others may have recorded more than its row says.
func (x *columnSegments) full() bool { return x.counted.Load()+x.fresh.Load() >= x.size }

// mergeAll merges filters as far as they can be.
func mergeAll(filters []*segment.Filter) []*segment.Filter {
	for {
		first, last, found := toMerge(filters)
		if !found {
			return filters
		}
		filters = replaced(filters, mergeThese(filters, first, last))
	}
}

// newestMark is the mark of the newest segment.
const newestMark = `SELECT g.mark FROM segments g ORDER BY g.number DESC LIMIT 1`

// beginSegment begins the segment after one that is full, unless another process did.
func (s *Store) beginSegment(ctx context.Context, full *segmentView) error {
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO segments (number, mark)
			SELECT ?1::integer, (random() * 9007199254740992)::bigint WHERE (`+newestMark+`) = ?2`,
			full.newest+1, full.mark)
		return err
	})
	if err == nil {
		_, err = read(ctx, s, s.segments.read)
	}
	return err
}

// addCounted adds what this process recorded to the row of the newest segment. What a process that is killed did not
// add is missing there, so the segment becomes larger.
func (s *Store) addCounted(ctx context.Context, v *segmentView) error {
	fresh := s.segments.fresh.Load()
	if fresh <= 0 { // below 0 when another segment began meanwhile
		return nil
	}
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `UPDATE segments SET size = size + ?1 WHERE number = ?2 AND mark = ?3`,
			fresh, v.newest, v.mark)
		return err
	})
	if err == nil {
		s.segments.counted.Add(fresh)
		s.segments.fresh.Add(-fresh)
	}
	return err
}

// SealSegment seals the oldest full segment of rewards. Over PostgreSQL that is to store its filter; it also begins a
// segment when several processes together filled the newest one, says how many rewards that has, and learns of the
// segments that others began. Then SealSegment seals a full segment of lots. It reports whether there may be more.
func (s *Store) SealSegment(ctx context.Context) (more bool, err error) {
	if more, err = s.sealRewards(ctx); more || err != nil {
		return more, err
	}
	return s.sealLots(ctx)
}

func (s *Store) sealRewards(ctx context.Context) (more bool, err error) {
	switch inSegments, err := s.inSegments(ctx); {
	case err != nil:
		return false, err
	case inSegments:
		return s.sealFull(ctx)
	case s.index.loaded() != indexInColumns:
		return false, nil
	}
	var v *segmentView
	var f *segment.Filter
	slowly, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	err = s.engine.Read(slowly, func(ctx context.Context, tx Tx) (err error) {
		f = nil
		if v, err = s.segments.read(ctx, tx); err != nil {
			return err
		}
		if len(v.open) > 0 {
			f, err = s.segments.filter(ctx, tx, v.open[0])
		}
		return err
	})
	if err != nil {
		return false, err
	}
	s.segments.merge()
	full := s.segments.full()
	switch {
	case f != nil:
		err = s.storeFilter(ctx, f, v)
	case full:
		err = s.beginSegment(ctx, v)
	default:
		err = s.addCounted(ctx, v)
	}
	return err == nil && (f != nil || full), err
}

// loadSegments reads the segments, unless that was done.
func (s *Store) loadSegments(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	_, err := read(ctx, s, s.segments.current)
	if err == nil {
		s.segments.merge()
	}
	return err
}

// sealTimeout bounds the reading of a segment. All rewards of an older store may be in one.
const sealTimeout = time.Hour

// filter makes the filter of a sealed segment. Those of equal size can be merged; the segment of an older store's
// rewards may be much larger.
func (x *columnSegments) filter(ctx context.Context, tx Tx, number int64) (*segment.Filter, error) {
	var keys int64
	_, err := fetchValues(ctx, tx, []any{&keys}, `SELECT count(*) FROM rewards WHERE `+inSegment, number)
	if err != nil {
		return nil, err
	}
	if keys < x.size+x.size/4 {
		keys = x.size
	}
	f := segment.NewFilter(number, int(keys))
	err = tx.Query(ctx, func(row Row) error {
		var app rewards.AppID
		var key string
		err := row.Scan(toID(&app), &key)
		f.Add(number, keyHash(app, key))
		return err
	}, `SELECT app_id, idempotency_key FROM rewards WHERE `+inSegment, number)
	return f, err
}

// storeFilter stores a filter of what was seen with v. It does nothing when a server took over that has lost some of
// that.
func (s *Store) storeFilter(ctx context.Context, f *segment.Filter, v *segmentView) error {
	bits, err := f.Bytes()
	if err != nil {
		return err
	}
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `UPDATE segments SET filter = ?2 WHERE number = ?1 AND filter = ''
			AND EXISTS (SELECT 1 FROM segments g WHERE g.number = ?3 AND g.mark = ?4)`, f.First, bits, v.newest, v.mark)
		return err
	})
}
