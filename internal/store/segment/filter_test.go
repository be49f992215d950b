package segment_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"stockrewards/internal/store/segment"
)

// entriesOf returns entries with random hashes.
func entriesOf(seed uint64, n int) []segment.Entry {
	random, entries := rand.New(rand.NewPCG(seed, 0)), make([]segment.Entry, n)
	for i := range entries {
		entries[i] = segment.Entry{Hash: int64(random.Uint64()), Number: int64(i + 1)}
	}
	return entries
}

// filterOf returns the filter of segments with those keys.
func filterOf(first, last int64, keys []segment.Entry) *segment.Filter {
	f := segment.NewFilter(first, last, len(keys))
	for _, k := range keys {
		f.Add(k.Hash)
	}
	return f
}

func stored(t *testing.T, f *segment.Filter) []byte {
	t.Helper()
	b, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFilter finds every key of its segments, also after it was stored, and few others.
func TestFilter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 1000, 20_000} {
		keys := entriesOf(1, n)
		f := filterOf(3, 5, keys)
		read, err := segment.ParseFilter(3, 5, stored(t, f))
		if err != nil || read.First != 3 || read.Last != 5 || read.Width() != 3 {
			t.Fatalf("%d keys: got %+v, %v", n, read, err)
		}
		for _, k := range keys {
			if p := segment.NewProbe(k.Hash); !f.MayHave(p) || !read.MayHave(p) {
				t.Fatalf("%d keys: the filter forgets %d", n, k.Hash)
			}
		}
		mistakes := 0
		for _, k := range entriesOf(2, 10_000) {
			if read.MayHave(segment.NewProbe(k.Hash)) {
				mistakes++
			}
		}
		if mistakes > 60 { // 3 of 1,000 are expected
			t.Errorf("%d keys: %d of 10,000 foreign keys pass", n, mistakes)
		}
	}
}

// TestDamagedFilter refuses a filter whose shape is damaged, without reserving memory for it.
func TestDamagedFilter(t *testing.T) {
	t.Parallel()
	whole := stored(t, filterOf(0, 0, entriesOf(1, 10))) // 120 bits
	with := func(word int, number uint64) []byte {
		b := bytes.Clone(whole)
		binary.BigEndian.PutUint64(b[8*word:], number)
		return b
	}
	for what, damaged := range map[string][]byte{
		"nothing": nil, "a part of a word": whole[:len(whole)-1], "a word less": whole[:len(whole)-8],
		"a word more": append(bytes.Clone(whole), make([]byte, 8)...), "no bits": whole[:24],
		"0 bits": with(0, 0), "fewer bits": with(0, 119), "more bits": with(0, 1<<63), "7 probes": with(1, 7),
		"fewer stored bits": with(2, 64), "more stored bits": with(2, 1<<63), "all stored bits": with(2, 1<<64-1),
	} {
		if _, err := segment.ParseFilter(0, 0, damaged); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
