package store //nolint:testpackage // what is in memory

import (
	"testing"

	"stockrewards/internal/store/segment"
)

// A sealed segment leaves memory as soon as its filter is known; the newest one never does.
func TestSealedKeysLeaveMemory(t *testing.T) {
	t.Parallel()
	s := columnState{recent: []*segment.Recent{segment.NewRecent(3), segment.NewRecent(4), segment.NewRecent(5)}}
	for _, want := range []struct {
		keys []entriesIn
		left int
	}{
		{[]entriesIn{2, 2, 0, 1, 1, 1}, 3},
		{[]entriesIn{2, 2, 2, 2, 1, 1}, 2},
		{[]entriesIn{2, 2, 2, 2, 2, 2}, 1},
	} {
		v := &segmentView{keys: want.keys}
		s.know(v)
		if len(s.recent) != want.left || s.newest() != 5 || s.view != v {
			t.Errorf("with the keys of segments in %v %d are in memory, want %d", want.keys, len(s.recent), want.left)
		}
	}
}

// Two reads, one of the server before a fail-over and one of that after it, begin with the same batch. What the second one
// has is not added to what the first one had.
func TestHistoriesAreNotMixed(t *testing.T) {
	t.Parallel()
	x, id := newColumnSegments(new(filterNotes)), make([]byte, uuidBytes)
	batch := func(number, mark int64) rewardBatch {
		return rewardBatch{batchPoint: batchPoint{number, mark}, keys: make([]byte, hashBytes), ids: id}
	}
	known := batch(5, 5)
	x.state.add(&known)
	x.state.view = &segmentView{}
	from, changes := x.now()
	read := func(later ...rewardBatch) bool {
		return x.publish(columnRead{from: from, changes: changes, later: later, view: from.view}, "") != nil
	}
	if !read(known, batch(6, 61), batch(7, 71)) || !read(known, batch(6, 61)) || x.state.last.mark != 71 {
		t.Errorf("after batches of one server the last one is %v", x.state.last)
	}
	if read(known, batch(6, 62), batch(7, 72), batch(8, 82)) || x.state.last.mark != 71 {
		t.Errorf("after batches of another server the last one is %v", x.state.last)
	}
	if !read(known, batch(6, 61), batch(7, 71), batch(8, 81)) || x.state.last.mark != 81 || x.state.recent[0].Len() != 4 {
		t.Errorf("after another batch the last one is %v of %d", x.state.last, x.state.recent[0].Len())
	}
}

// A batch that this process stores is not taken for one of another process, whoever reads it first. One that it did not
// store is.
func TestWhoseBatchesAreRead(t *testing.T) {
	t.Parallel()
	x, id := newColumnSegments(new(filterNotes)), make([]byte, uuidBytes)
	batch := func(number, mark int64) *rewardBatch {
		return &rewardBatch{batchPoint: batchPoint{number, mark}, keys: make([]byte, hashBytes), ids: id}
	}
	x.state.add(batch(1, 11))
	x.state.view = &segmentView{}
	read := func(b *rewardBatch) {
		from, changes := x.now()
		known := rewardBatch{batchPoint: from.last}
		x.publish(columnRead{from: from, changes: changes, later: []rewardBatch{known, *b}, view: from.view}, "")
	}
	own := batch(2, 22)
	from, _ := x.now()
	x.expect(own)
	read(own)
	x.recorded(&recording{stored: own, known: from})
	if x.beside() || len(x.mine) > 0 || x.state.last.number != 2 || x.state.recent[0].Len() != 2 {
		t.Errorf("after its own batch was read: beside others %t, %d expected, the last one %v", x.beside(), len(x.mine), x.state.last)
	}
	lost := batch(3, 33)
	x.expect(lost)
	x.expectNoMore(lost)
	read(batch(3, 34))
	if !x.beside() || len(x.mine) > 0 {
		t.Errorf("after a batch of others: beside others %t, %d expected", x.beside(), len(x.mine))
	}
}
