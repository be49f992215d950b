package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"stockrewards/internal/store/segment"
)

// columnSegments is what a process over PostgreSQL knows of the segments of rewards (see LAYOUT.md). New rewards belong
// to the newest segment. The others are full: they get no more rewards. It is safe for concurrent use.
type columnSegments struct {
	notes *filterNotes
	size  int64 // about how many rewards a segment has

	reading sync.Mutex // held while all batches are read
	mu      sync.RWMutex
	state   columnState
	changes int            // of the view
	mine    map[int64]bool // the marks of batches that this process stores, until it knows them

	counted atomic.Int64 // about how many rewards the newest segment has, as its row says
	fresh   atomic.Int64 // rewards that this process recorded there, and did not add to its row yet

	noIndex atomic.Bool // the indexes of an earlier version are gone
	sized   atomic.Bool // the rows of all sealed segments have their sizes

	others atomic.Int32 // for how many batches others are expected to record, too
}

// columnState has the keys and users of all rewards up to a batch: those of the segments that are not sealed in memory,
// and what is known of the others.
type columnState struct {
	last   batchPoint              // the newest batch that it has
	points *[somePoints]batchPoint // the batches before, each at its number modulo somePoints
	recent []*segment.Recent       // the segments that are not sealed, oldest first: the last one grows
	view   *segmentView            // nil: nothing is known
}

// segmentView is the segments at one moment. It never changes. The random mark of the newest segment says whether a
// transaction still sees these: another segment with its number, after a fail-over that lost some, has another mark.
type segmentView struct {
	newest, mark int64
	counted      int64             // about how many rewards the newest one has, as its row says
	keys, users  []entriesIn       // of each segment
	rows         []int64           // of each segment: 1 when its blocks have rows of the table's present file
	filters      []*segment.Filter // of the segments from 0 on, oldest first
	open         []int64           // those without a filter or memory: every new key is looked for in them
}

// entriesIn says where the keys, or the users, of a segment are.
type entriesIn int64

const (
	byIndex   entriesIn = iota // rewards_by_key or rewards_by_user, of an earlier version
	byBatches                  // reward_batches, and memory
	byBlocks                   // key_blocks or user_blocks: the segment is sealed
)

// These errors mean that the store was damaged.
var (
	errNoSegment = errors.New("segments of rewards are missing: run `stockrewards audit`")
	errNoBatch   = errors.New("batches of rewards are missing: run `stockrewards audit`")
)

func newColumnSegments(notes *filterNotes) *columnSegments {
	return &columnSegments{notes: notes, size: segment.ColumnSize, mine: make(map[int64]bool)}
}

// sealed reports whether a segment is sealed.
func (v *segmentView) sealed(number int64) bool {
	return number < int64(len(v.keys)) && v.keys[number] == byBlocks
}

// withFilters is how many segments have a filter in memory.
func (v *segmentView) withFilters() int64 {
	if len(v.filters) == 0 {
		return 0
	}
	return v.filters[len(v.filters)-1].Last + 1
}

// newest is the segment that gets new rewards; -1 when nothing is known.
func (s *columnState) newest() int64 {
	if len(s.recent) == 0 {
		return -1
	}
	return s.recent[len(s.recent)-1].Segment()
}

// know takes what is known of the segments. Those that are sealed leave memory.
func (s *columnState) know(v *segmentView) {
	s.view = v
	for len(s.recent) > 1 && v.sealed(s.recent[0].Segment()) {
		s.recent = slices.Clone(s.recent[1:]) // else its array would keep the first one
	}
}

// now returns what is known, and how often the view had changed.
func (x *columnSegments) now() (columnState, int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.state, x.changes
}

// catchUp reads what other processes stored, and a commit whose outcome was learned late: the new batches and, with
// segments or when a segment began, the segments. A transaction that only reads must begin with it: else it may lack
// what is known. When the batches that are known are gone, because they are sealed or a fail-over lost them, it reads
// all of them. It returns nil when the segments were read meanwhile.
func (x *columnSegments) catchUp(ctx context.Context, tx Tx, segments bool) (*keySearch, error) {
	from, changes := x.now()
	later, err := from.later(ctx, tx)
	if err != nil {
		return nil, err
	}
	if later == nil {
		return x.readAll(ctx, tx, from, changes)
	}
	r := columnRead{from: from, changes: changes, later: later, view: from.view}
	newest := later[len(later)-1]
	if segments || newest.segment != from.newest() {
		if r.view, err = x.next(ctx, tx, from.view, newest.segment); err != nil {
			return nil, err
		}
	}
	return x.publish(r, newest.budgets), nil
}

// readAll reads all batches, one call after the other: there may be a million.
func (x *columnSegments) readAll(ctx context.Context, tx Tx, from columnState, changes int) (*keySearch, error) {
	x.reading.Lock()
	defer x.reading.Unlock()
	if _, now := x.now(); now != changes {
		return nil, nil //nolint:nilnil // the caller tries again
	}
	newest, err := newestRewards(ctx, tx) // first, so that the batches have them also when others record meanwhile
	if err != nil {
		return nil, err
	}
	var all columnState
	var budgets string
	err = fetchEach(ctx, tx, scanBatch, func(b rewardBatch) error {
		if !all.precedes(&b) {
			return errNoBatch
		}
		all.add(&b)
		budgets = b.budgets
		return nil
	}, batches, 0, -1)
	if err == nil && len(all.recent) == 0 {
		err = errNoSegment
	}
	if err != nil {
		return nil, err
	}
	view, err := x.next(ctx, tx, from.view, all.newest())
	if err == nil {
		err = all.wantRewards(newest, view)
	}
	if err != nil {
		return nil, err
	}
	return x.publish(columnRead{from: from, changes: changes, all: &all, view: view}, budgets), nil
}

// columnRead is what a transaction read: the batches from the last one on that was known, or all, and the segments.
type columnRead struct {
	from    columnState
	changes int
	later   []rewardBatch
	all     *columnState
	view    *segmentView
}

// publish adds what was read, and returns what is known then; nil when it does not continue that any more.
func (x *columnSegments) publish(r columnRead, budgets string) *keySearch {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changes != r.changes {
		return nil
	}
	if r.all != nil {
		x.state = *r.all
		clear(x.mine)
	} else if r.later = x.state.after(r.later); r.later == nil {
		return nil // a server that took over has other batches
	}
	for i := range r.later {
		x.state.add(&r.later[i])
		x.notice(&r.later[i])
	}
	if r.view != r.from.view {
		if !r.view.same(x.state.view) {
			x.state.know(r.view)
			x.changes++
		}
		if r.from.view == nil || r.from.view.mark != r.view.mark {
			x.fresh.Store(0)
		}
		x.counted.Store(r.view.counted)
	}
	return &keySearch{x, x.state, budgets}
}

// notice notices that others record, too.
func (x *columnSegments) notice(b *rewardBatch) {
	const long = 64
	if len(b.keys) > 0 && !x.mine[b.mark] {
		x.others.Store(long)
	}
	delete(x.mine, b.mark)
}

// same reports whether another view has the same segments, in the same places.
func (v *segmentView) same(o *segmentView) bool {
	return o != nil && v.newest == o.newest && v.mark == o.mark && slices.Equal(v.keys, o.keys) &&
		slices.Equal(v.users, o.users) && slices.Equal(v.rows, o.rows)
}

// readSegments catches up, and reads the segments.
func (s *Store) readSegments(ctx context.Context) (v *segmentView, err error) {
	for v == nil && err == nil {
		err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
			search, err := s.segments.catchUp(ctx, tx, true)
			if search != nil {
				v = search.view
			}
			return err
		})
	}
	return v, err
}

// next reads the segments that a transaction sees after the view v. Filters that are in memory are not read again. It
// fails unless the newest segment has a number.
func (x *columnSegments) next(ctx context.Context, tx Tx, v *segmentView, newest int64) (*segmentView, error) {
	next, same := &segmentView{}, false
	err := tx.Query(ctx, func(row Row) error {
		var keys, users entriesIn
		var rows int64
		err := row.Scan(&next.newest, &next.mark, &next.counted, (*int64)(&keys), (*int64)(&users), &rows)
		same = same || v != nil && next.newest == v.newest && next.mark == v.mark
		next.keys, next.users, next.rows = append(next.keys, keys), append(next.users, users), append(next.rows, rows)
		return err
	}, `SELECT number, mark, size, keys, users, (file = `+fileOfRewards+`)::int::bigint FROM segments ORDER BY number`)
	switch {
	case err != nil:
		return nil, err
	case next.newest != int64(len(next.keys))-1, next.newest != newest:
		return nil, errNoSegment
	case same && !slices.Contains(next.keys[:v.withFilters()], byBatches): // else a fail-over lost their blocks
		next.filters = slices.Clip(v.filters)
	}
	if err := next.readFilters(ctx, tx, x.notes); err != nil {
		return nil, err
	}
	for number := next.withFilters(); number < next.newest; number++ {
		if next.keys[number] != byBatches {
			next.open = append(next.open, number)
		}
	}
	return next, nil
}

// readFilters reads the filters that are not in memory, up to the first segment without one.
func (v *segmentView) readFilters(ctx context.Context, tx Tx, notes *filterNotes) error {
	const some = 32
	for next, size := v.withFilters(), int64(some); next < v.newest; next = v.withFilters() {
		damage, err := tryQuery(ctx, tx, func(row Row) error {
			var number, checksum int64
			var stored []byte
			if err := row.Scan(&number, &checksum, toBytes{&stored}); err != nil || number != v.withFilters() {
				return err
			}
			v.filters = append(v.filters, notes.parse(number, number, stored, checksum))
			return nil
		}, `SELECT number, checksum, filter FROM segments
			WHERE number >= ?1 AND number < ?2 AND filter <> '' AND keys <> 1 ORDER BY number`, next, next+size)
		switch {
		case err != nil:
			return err
		case damage != nil && size > 1: // of one of them
			size = 1
			continue
		case damage != nil:
			v.filters = append(v.filters, notes.unknown(next, next, damage))
		case v.withFilters() == next:
			return nil
		}
		size = some
	}
	return nil
}

// beside reports whether another process has recorded lately.
func (x *columnSegments) beside() bool { return x.others.Load() > 0 }

// followOthers reads what other processes recorded, when they do, before they wait for this one. What it cannot add,
// the recording finds out.
func (s *Store) followOthers(ctx context.Context) {
	if !s.segments.beside() {
		return
	}
	s.segments.others.Add(-1)
	from, changes := s.segments.now()
	later, err := read(ctx, s, func(ctx context.Context, tx Tx) ([]rewardBatch, error) {
		return from.later(ctx, only(tx))
	})
	if n := len(later); err == nil && n > 0 && later[n-1].segment == from.newest() {
		s.segments.publish(columnRead{from: from, changes: changes, later: later, view: from.view}, "")
	}
}

// expect notes a batch that this process is about to store: somebody may read it before the recording has ended.
func (x *columnSegments) expect(b *rewardBatch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mine[b.mark] = true
}

// expectNoMore forgets a batch that was not stored.
func (x *columnSegments) expectNoMore(b *rewardBatch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.mine, b.mark)
}

// recorded adds the batch that a recording stored. It reports whether the newest segment is full.
func (x *columnSegments) recorded(r *recording) (full bool) {
	if r.stored == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.stored.number > 0 && x.state.last == r.known.last { // else it will be read, or was
		x.state.add(r.stored)
		delete(x.mine, r.stored.mark)
	}
	x.fresh.Add(int64(len(r.created)))
	return x.full()
}

// full reports whether the newest segment is full. Others may have recorded more than its row says.
func (x *columnSegments) full() bool { return x.counted.Load()+x.fresh.Load() >= x.size }

// merge merges the filters in memory. It takes about 50 ms for each new one, so no transaction waits for it.
func (x *columnSegments) merge() {
	state, _ := x.now()
	merged := *state.view
	merged.filters = mergeAll(merged.filters)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.view == state.view {
		x.state.view = &merged
	}
}

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

// readCaughtUp reads in a transaction that sees no more than what search knows.
func readCaughtUp[T any](
	ctx context.Context, s *Store, f func(ctx context.Context, tx Tx, search *keySearch) (T, error),
) (value T, err error) {
	for done := false; !done && err == nil; {
		err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
			search, err := s.segments.catchUp(ctx, tx, false)
			if done = search != nil; !done || err != nil {
				return err
			}
			value, err = f(ctx, tx, search)
			return err
		})
	}
	return value, err
}
