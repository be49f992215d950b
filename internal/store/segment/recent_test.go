package segment_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"stockrewards/internal/store/segment"
)

// Every key of a segment is found in memory, and then in the one block that its place names, also when many keys have
// the same first bytes, and the first or the last ones.
func TestRecentAndItsBlocks(t *testing.T) {
	t.Parallel()
	const number = 7
	recent, random := segment.NewRecent(number), rand.New(rand.NewPCG(1, 2))
	ids := make(map[segment.ID]int64)
	for i := range 5_000 {
		hash := int64(random.Uint64())
		switch i % 10 {
		case 0:
			hash = 3<<32 | int64(i/10%50) // 500 keys have the same first bytes, and ten are equal
		case 1:
			hash = int64(i / 10 % 50) // at the beginning
		case 2:
			hash = -1 - int64(i/10%50) // and at the end
		}
		var id segment.ID
		binary.BigEndian.PutUint64(id[:], random.Uint64())
		binary.BigEndian.PutUint64(id[8:], uint64(i))
		recent.Add(hash, id)
		ids[id] = hash
	}
	blocks := recent.Blocks()
	for i := range blocks[1:] {
		if blocks[i].Place >= blocks[i+1].Place {
			t.Fatalf("block %d has the place %d, the next one %d", i, blocks[i].Place, blocks[i+1].Place)
		}
	}
	for id, hash := range ids {
		if found := recent.Find(nil, hash); !slices.Contains(found, id) || len(found) > 100 {
			t.Fatalf("in memory the hash %x finds %d rewards, and not %x", hash, len(found), id)
		}
		at, exact := slices.BinarySearchFunc(blocks, segment.KeyPlace(number, hash), func(b segment.Block, place int64) int {
			return int(max(-1, min(1, b.Place-place)))
		})
		if !exact {
			at--
		}
		if found := blocks[at].IDs(hash); !slices.Contains(found, id) {
			t.Fatalf("the block for the hash %x lacks %x", hash, id)
		}
	}
	if n := recent.Len(); n != len(ids) || recent.Segment() != number || recent.Find(nil, 99) != nil {
		t.Errorf("%d rewards of segment %d; another hash finds %v", n, recent.Segment(), recent.Find(nil, 99))
	}
}
