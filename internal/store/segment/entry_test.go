package segment_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"stockrewards/internal/store/segment"
)

// TestBlocks finds each reward of a full tail in its blocks, by hashes of which many are equal and others begin alike.
func TestBlocks(t *testing.T) {
	t.Parallel()
	const size, number, first = 5000, 3, 3*5000 + 1
	random := rand.New(rand.NewPCG(2, 0))
	tail := segment.NewTail(first)
	var keys, users []entry
	for range size {
		key, user := int64(random.Uint64()), random.Int64N(4)<<61|random.Int64N(3)<<20|random.Int64N(1<<18)
		if random.IntN(10) == 0 {
			user = 7 // more than a block has
		}
		keys, users = append(keys, entry{key, tail.Next()}), append(users, entry{user, tail.Next()})
		tail.Add(key, user)
	}
	for what, index := range map[string]struct {
		entries []segment.Entry
		want    []entry
	}{"keys": {tail.Keys(), keys}, "users": {tail.Users(), users}} {
		blocks := segment.Blocks(number, index.entries)
		if !slices.IsSortedFunc(blocks, func(a, b segment.Block) int { return int(min(1, max(-1, a.Place-b.Place))) }) {
			t.Errorf("the blocks of %s are not in the order of their places", what)
		}
		for _, e := range append(index.want[:1000:1000], entry{7, 0}, entry{-1, 0}, entry{math.MinInt64, 0}) {
			below := first + random.Int64N(size+2)
			for _, below := range []int64{below, math.MaxInt64} {
				wantNumbers(t, what, find(blocks, number, e.hash, first, below), alike(index.want, e.hash), e.hash, below)
			}
		}
	}
}

// find finds the rewards with a hash as package store does.
func find(blocks []segment.Block, number, hash, first, below int64) (numbers []int64) {
	from, last := segment.Places(number, hash, min(below-1-first, segment.Size))
	for _, b := range slices.Backward(blocks) {
		if b.Place >= from && b.Place <= last && b.Segment() == number {
			numbers = b.Find(numbers, hash, first, below)
		}
	}
	return numbers
}

// alike lists entries, those whose hash differs only where an entry does not have it with that hash.
func alike(entries []entry, hash int64) []entry {
	list := slices.Clone(entries)
	for i := range list {
		if list[i].hash<<2>>18 == hash<<2>>18 {
			list[i].hash = hash
		}
	}
	return list
}
