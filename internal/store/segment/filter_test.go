package segment_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"stockrewards/internal/store/segment"
)

// hashesOf returns random hashes.
func hashesOf(seed uint64, n int) []int64 {
	random, hashes := rand.New(rand.NewPCG(seed, 0)), make([]int64, n)
	for i := range hashes {
		hashes[i] = int64(random.Uint64())
	}
	return hashes
}

// filterOf returns the filter of a segment with those keys.
func filterOf(number int64, keys []int64) *segment.Filter {
	f := segment.NewFilter(number, len(keys))
	for _, k := range keys {
		f.Add(number, k)
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

// TestFilter finds every key of its segment, also after it was stored, and few others.
func TestFilter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 1000, 20_000} {
		keys := hashesOf(1, n)
		f := filterOf(3, keys)
		read, err := segment.ParseFilter(3, 3, stored(t, f), segment.Unchecked)
		if err != nil || read.First != 3 || read.Last != 3 || read.Outdated(n) || !read.Outdated(n+1) && n > 0 {
			t.Fatalf("%d keys: got %+v, %v", n, read, err)
		}
		for _, k := range keys {
			p := segment.NewProbe(k)
			for _, f := range []*segment.Filter{f, read} {
				if got, may := f.Newest(p, 4); got != 3 || !may {
					t.Fatalf("%d keys: the filter forgets %d", n, k)
				}
				if _, may := f.Newest(p, 3); may {
					t.Fatalf("%d keys: a segment before the first one", n)
				}
			}
		}
		mistakes := 0
		for _, k := range hashesOf(2, 10_000) {
			if _, may := read.Newest(segment.NewProbe(k), 4); may {
				mistakes++
			}
		}
		if n >= 1000 && mistakes > 20 { // 6 are expected
			t.Errorf("%d keys: %d of 10,000 foreign keys pass", n, mistakes)
		}
	}
}

// candidates lists the segments that may have a key, newest first.
func candidates(f *segment.Filter, hash int64) (list []int64) {
	p := segment.NewProbe(hash)
	number, may := f.Newest(p, f.Last+1)
	for ; may; number, may = f.Newest(p, number) {
		list = append(list, number)
	}
	return list
}

// TestMergedFilter finds the segment of every key, also after it was stored, and few other segments.
func TestMergedFilter(t *testing.T) {
	t.Parallel()
	const each = 100
	for _, width := range []int64{8, 64, 512} {
		first := 2 * width
		f := segment.NewMerged(first, first+width-1, each)
		for number := range width {
			for _, k := range hashesOf(uint64(number), each) {
				f.Add(first+number, k)
			}
		}
		read, err := segment.ParseFilter(f.First, f.Last, stored(t, f), segment.Unchecked)
		if err != nil || read.Width() != width || read.Outdated(each) {
			t.Fatalf("%d segments: got %d, %v", width, read.Width(), err)
		}
		mistakes := 0
		for number := range width {
			for _, k := range hashesOf(uint64(number), each) {
				for _, f := range []*segment.Filter{f, read} {
					found := candidates(f, k)
					if !slices.Contains(found, first+number) {
						t.Fatalf("%d segments: segment %d is not among %v", width, number, found)
					}
					if !slices.IsSortedFunc(found, func(a, b int64) int { return int(b - a) }) {
						t.Fatalf("%d segments: not the newest first: %v", width, found)
					}
					mistakes += len(found) - 1
				}
			}
		}
		if most := 12 * 2 * each * int(width*width) / 10_000; mistakes > most { // 6 of 10,000 are expected
			t.Errorf("%d segments: %d mistakes, want at most %d", width, mistakes, most)
		}
	}
}

// TestFilterOfSegmentsTogether reads a filter as versions before 24 merged them: any of its segments may have the key.
func TestFilterOfSegmentsTogether(t *testing.T) {
	t.Parallel()
	keys := hashesOf(1, 80)
	read, err := segment.ParseFilter(8, 15, stored(t, filterOf(8, keys)), segment.Unchecked)
	if err != nil || !read.Outdated(10) {
		t.Fatalf("got %+v, %v", read, err)
	}
	for _, k := range keys {
		if got := candidates(read, k); !slices.Equal(got, []int64{15, 14, 13, 12, 11, 10, 9, 8}) {
			t.Fatalf("found %v, want all segments", got)
		}
	}
}

// TestDamagedFilter refuses a filter whose shape is damaged, without reserving memory for it.
func TestDamagedFilter(t *testing.T) {
	t.Parallel()
	whole := stored(t, filterOf(0, hashesOf(1, 10))) // 160 bits
	with := func(word int, number uint64) []byte {
		b := bytes.Clone(whole)
		binary.BigEndian.PutUint64(b[8*word:], number)
		return b
	}
	for what, damaged := range map[string][]byte{
		"nothing": nil, "a part of a word": whole[:len(whole)-1], "a word less": whole[:len(whole)-8],
		"a word more": append(bytes.Clone(whole), make([]byte, 8)...), "no bits": whole[:24],
		"0 bits": with(0, 0), "fewer bits": with(0, 159), "more bits": with(0, 1<<63), "7 probes": with(1, 7),
		"fewer stored bits": with(2, 64), "more stored bits": with(2, 1<<63), "all stored bits": with(2, 1<<64-1),
	} {
		if _, err := segment.ParseFilter(0, 0, damaged, segment.Unchecked); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestChecksum refuses a filter of which a byte changed, unless its checksum is not known.
func TestChecksum(t *testing.T) {
	t.Parallel()
	whole := stored(t, filterOf(0, hashesOf(1, 1000)))
	sum := segment.Checksum(whole)
	if _, err := segment.ParseFilter(0, 0, whole, sum); err != nil {
		t.Fatal(err)
	}
	for at := 24; at < len(whole); at++ {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 4
		if _, err := segment.ParseFilter(0, 0, damaged, sum); err == nil {
			t.Fatalf("no error after byte %d changed", at)
		}
	}
	for _, other := range []int64{0, -1, sum ^ 1} {
		if _, err := segment.ParseFilter(0, 0, whole, other); err == nil {
			t.Errorf("no error with the checksum %d", other)
		}
	}
}

// TestUnknownFilter: each of its segments may have any key, and it is not merged.
func TestUnknownFilter(t *testing.T) {
	t.Parallel()
	unknown := segment.Unknown(8, 15)
	for _, k := range hashesOf(1, 10) {
		if got := candidates(unknown, k); !slices.Equal(got, []int64{15, 14, 13, 12, 11, 10, 9, 8}) {
			t.Fatalf("found %v, want all segments", got)
		}
	}
	if unknown.Known() || !unknown.Outdated(1) || segment.Alike([]*segment.Filter{unknown, segment.Unknown(16, 23)}) {
		t.Error("it is merged, or not made again")
	}
	if known := filterOf(8, nil); !known.Known() {
		t.Error("a filter is unknown")
	}
}

// TestDamagedMergedFilter refuses a filter of several segments whose shape is damaged.
func TestDamagedMergedFilter(t *testing.T) {
	t.Parallel()
	whole := stored(t, segment.NewMerged(8, 15, 10)) // 160 locations of 8 segments
	with := func(word int, number uint64) []byte {
		b := bytes.Clone(whole)
		binary.BigEndian.PutUint64(b[8*word:], number)
		return b
	}
	if _, err := segment.ParseFilter(8, 15, whole, segment.Unchecked); err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string][]byte{
		"a word less": whole[:len(whole)-8], "a word more": append(bytes.Clone(whole), make([]byte, 8)...),
		"no locations": with(0, 0), "fewer locations": with(0, 152), "more locations": with(0, 1<<40),
		"all locations": with(0, 1<<64-1), "7 probes": with(1, 7), "no segments": with(2, 0), "64 segments": with(2, 64),
	} {
		if _, err := segment.ParseFilter(8, 15, damaged, segment.Unchecked); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := segment.ParseFilter(8, 14, whole, segment.Unchecked); err == nil {
		t.Error("of seven segments: no error")
	}
}

// TestMerge merges filters by their bits, twice. The result is the filter to which all keys were added.
func TestMerge(t *testing.T) {
	t.Parallel()
	const keys, first = 200, 64
	var parts, eights []*segment.Filter
	want := segment.NewMerged(first, first+63, keys)
	for number := int64(first); number < first+64; number++ {
		list := hashesOf(uint64(number), keys)
		parts = append(parts, filterOf(number, list))
		for _, k := range list {
			want.Add(number, k)
		}
	}
	for eight := range slices.Chunk(parts, 8) {
		if !segment.Alike(eight) {
			t.Fatal("equal filters are not alike")
		}
		eights = append(eights, segment.Merge(eight))
	}
	if !bytes.Equal(stored(t, segment.Merge(eights)), stored(t, want)) {
		t.Error("the merged filter has other bits")
	}
	larger := filterOf(first, hashesOf(1, keys+1))
	if segment.Alike([]*segment.Filter{parts[0], larger}) || segment.Alike([]*segment.Filter{parts[0], eights[0]}) {
		t.Error("filters of other sizes are alike")
	}
}
