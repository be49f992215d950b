package audit

import (
	"encoding/binary"

	"github.com/bits-and-blooms/bloom/v3"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// filter is a filter of a sealed segment's keys.
type filter struct {
	segment int64
	bits    string
}

// filterStream reads each sealed segment with its filter.
func filterStream() reader.Stream[filter] {
	return reader.Stream[filter]{
		What: "filters of segments",
		Query: `SELECT s.number, f.bits FROM segments s JOIN segment_filters f ON f.first <= s.number
			AND f.last >= s.number ORDER BY s.number`,
		Bind: func(f *filter) []any { return []any{&f.segment, &f.bits} },
		Key:  func(f *filter) reader.Key { return reader.Key{ordered(f.segment)} },
	}
}

// readFilters checks that filters are of sealed segments only.
func (s *segments) readFilters() error {
	type covered struct{ first, last int64 }
	return reader.Each(s.a.r, reader.Stream[covered]{
		What: "segments of filters", Query: `SELECT first, last FROM segment_filters`,
		Bind: func(f *covered) []any { return []any{&f.first, &f.last} },
	}, func(f *covered) {
		s.a.t.row(checkSegments)
		if f.first < 0 || f.last < f.first || f.last >= s.sealed {
			s.a.t.fail(checkSegments, "the filter from "+segmentName(f.first),
				"of the segments to "+value.Int(f.last), "sealed segments, of which there are "+value.Int(s.sealed))
		}
	})
}

// checkFilter checks that the current segment has one filter, which has its keys.
func (s *segments) checkFilter() error {
	found := int64(0)
	ignore := func(*filter) {} // of a segment without rewards
	err := s.filters.Claim(reader.Key{ordered(s.current)}, func(f *filter) {
		found++
		s.checkKeys(f)
	}, ignore)
	if found != 1 {
		s.a.t.fail(checkSegments, segmentName(s.current), value.Int(found)+" filters", "one")
	}
	return err
}

func (s *segments) checkKeys(f *filter) {
	keys, err := parseFilter(f.bits)
	if err != "" {
		s.a.t.fail(checkSegments, "the filter of "+segmentName(f.segment), err, "a filter that `serve` can read")
		return
	}
	for i := range s.keys.want {
		e := &s.keys.want[i]
		if !keys.Test(binary.LittleEndian.AppendUint64(nil, uint64(e.hash))) {
			s.a.t.fail(checkSegmentEntries, s.keys.name(e), "not in the filter", "in the filter of the segment")
		}
	}
}

// parseFilter reads a filter: the number of bits, the probes of a key, the number of bits again,
// and the bits. It returns what is wrong with it, or "".
func parseFilter(stored string) (*bloom.BloomFilter, string) {
	const word, head, probes = 8, 3, 8
	if len(stored)%word != 0 || len(stored) <= head*word {
		return nil, value.Int(int64(len(stored))) + " bytes"
	}
	words := make([]uint64, len(stored)/word)
	for i := range words {
		words[i] = binary.BigEndian.Uint64([]byte(stored[i*word : (i+1)*word]))
	}
	size, bits := words[0], words[head:]
	if size != words[2] || size == 0 || (size-1)/64 != uint64(len(bits)-1) || words[1] != probes {
		return nil, "another shape"
	}
	return bloom.FromWithM(bits, uint(size), probes), ""
}
