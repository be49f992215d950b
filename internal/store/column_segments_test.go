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
		keys []keysIn
		left int
	}{
		{[]keysIn{2, 2, 0, 1, 1, 1}, 3},
		{[]keysIn{2, 2, 2, 2, 1, 1}, 2},
		{[]keysIn{2, 2, 2, 2, 2, 2}, 1},
	} {
		v := &segmentView{keys: want.keys}
		if s.know(v); len(s.recent) != want.left || s.newest() != 5 || s.view != v {
			t.Errorf("with the keys of segments in %v %d are in memory, want %d", want.keys, len(s.recent), want.left)
		}
	}
}
