package segment_test

import (
	"bytes"
	"encoding/binary"
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

// TestDamagedBlocks: blocks of true entries are sound, and a block of which a part is zeroed, 0xFF, of another block or
// gone is not.
func TestDamagedBlocks(t *testing.T) {
	t.Parallel()
	const size = 1 << 17
	random := rand.New(rand.NewPCG(3, 0))
	tail, recent := segment.NewTail(1), segment.NewRecent(3)
	for i := range size {
		key, user := int64(random.Uint64()), int64(random.Uint64())
		if i%5 == 0 {
			user = 7 // more than a block has
		}
		tail.Add(key, user)
		if i < 3000 {
			var id segment.ID
			binary.BigEndian.PutUint64(id[:], uint64(1<<40+i)<<16)
			recent.Add(key>>(i%2*24), id) // half of them in a few blocks
			recent.AddUser(segment.NewUserPart(user))
		}
	}
	for what, list := range map[string][]segment.Block{
		"keys": segment.Blocks(2, tail.Keys()), "users": segment.Blocks(2, tail.Users()),
	} {
		for i := 1; i < len(list); i += 97 {
			if b := list[i]; len(b.Entries) > 8 {
				wantSound(t, what, b.Entries, list[i-1].Entries, 8, func(entries []byte) bool {
					return (&segment.Block{Place: b.Place, Entries: entries}).Sound()
				})
			}
			if b := list[i]; (&segment.Block{Place: b.Place + 1, Entries: b.Entries}).Sound() {
				t.Fatalf("%s: a block is sound at another place", what)
			}
		}
	}
	blocks := recent.Blocks()
	for i := range blocks {
		wantSound(t, "ids by keys", blocks[i].Entries, blocks[max(0, i-1)].Entries, 22, func(entries []byte) bool {
			return (&segment.Block{Place: blocks[i].Place, Entries: entries}).SoundIDs()
		})
	}
	users := recent.Users()
	for i := range users {
		wantSound(t, "ids by users", users[i], users[max(0, i-1)], 22, func(entries []byte) bool {
			return segment.UserBlock(entries).Sound()
		})
	}
}

// wantSound damages a block of entries of a length from each of them on, but not the first one. foreign is a block before
// it.
func wantSound(t *testing.T, what string, entries, foreign []byte, length int, sound func([]byte) bool) {
	t.Helper()
	if !sound(entries) {
		t.Fatalf("%s: a true block of %d bytes is not sound", what, len(entries))
	}
	for from := length; from+length < len(entries); from += length {
		for name, damage := range map[string]func([]byte) []byte{
			"zeroed": func(b []byte) []byte {
				clear(b[from:])
				return b
			},
			"0xFF":    func(b []byte) []byte { return append(b[:from], bytes.Repeat([]byte{0xFF}, len(b)-from)...) },
			"foreign": func(b []byte) []byte { return append(b[:from], foreign...) },
			"again":   func(b []byte) []byte { return append(b[:from], b[from-length:]...) },
			"cut":     func(b []byte) []byte { return b[:from+1] },
		} {
			if sound(damage(bytes.Clone(entries))) {
				t.Fatalf("%s: a block of %d bytes is sound, %s from %d on", what, len(entries), name, from)
			}
		}
	}
	if sound(nil) {
		t.Errorf("%s: an empty block is sound", what)
	}
}
