package audit

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/bits-and-blooms/bloom/v3"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// filter is a filter of a sealed segment's keys.
type filter struct {
	segment     int64
	first, last int64 // segments of the filter
	checksum    int64
	bits        string
}

// soundFilter is what is expected in the place of a damaged filter.
const soundFilter = "a filter that `serve` can read"

// filterStream reads each sealed segment with its filter.
func filterStream() reader.Stream[filter] {
	return reader.Stream[filter]{
		What: "filters of segments",
		Query: `SELECT s.number, f.first, f.last, f.checksum, f.bits FROM segments s
			JOIN segment_filters f ON f.first <= s.number AND f.last >= s.number ORDER BY s.number`,
		Bind: func(f *filter) []any { return []any{&f.segment, &f.first, &f.last, &f.checksum, &f.bits} },
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
	has, err := parseFilter(f)
	if err != "" {
		s.a.t.fail(checkSegments, "the filter of "+segmentName(f.segment), err, soundFilter)
		return
	}
	for i, hash := range s.hashes {
		if !has(bloom.Locations(binary.LittleEndian.AppendUint64(nil, uint64(hash)), filterProbes)) {
			reward := s.keys.name(s.current, "reward "+value.Int(s.current*s.size+1+int64(i)))
			s.a.t.fail(checkSegmentEntries, reward, "not in the filter", "in the filter of the segment")
		}
	}
}

const (
	filterProbes = 8
	unchecked    = 1 // the checksum of a filter that an earlier version stored, until it is known
)

// checksumOf is the checksum of a filter: 2^32 and its CRC-32C.
func checksumOf(bits string) int64 {
	return 1<<32 | int64(crc32.Checksum([]byte(bits), crc32.MakeTable(crc32.Castagnoli)))
}

// parseFilter reads a filter: the number of locations, the probes of a key, the number of segments side by side, and
// for each location a bit of each of them. With the first number again instead, a location has one bit for all
// segments. It returns whether the filter has the locations of a key in its segment, or what is wrong with it.
func parseFilter(f *filter) (has func(locations []uint64) bool, wrong string) {
	const word, head = 8, 3
	if len(f.bits)%word != 0 || len(f.bits) <= head*word {
		return nil, value.Int(int64(len(f.bits))) + " bytes"
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64([]byte(f.bits[at*word : (at+1)*word])) }
	size, side, content, words := number(0), number(2), f.bits[head*word:], uint64(len(f.bits)/word-head)
	switch {
	case f.checksum != unchecked && f.checksum != checksumOf(f.bits):
		return nil, "other bytes than its checksum is of"
	case size == 0 || size > 1<<40 || number(1) != filterProbes:
		return nil, "another shape"
	case size == side && (size-1)/64 == words-1:
		bits := make([]uint64, words)
		for i := range bits {
			bits[i] = number(head + i)
		}
		return bloom.FromWithM(bits, uint(size), filterProbes).TestLocations, ""
	case side != uint64(f.last-f.first+1) || side%word != 0 || (size*side/word+word-1)/word != words:
		return nil, "another shape"
	}
	lane := uint64(f.segment - f.first)
	return func(locations []uint64) bool {
		for _, l := range locations {
			if content[l%size*(side/word)+lane/word]>>(lane%word)&1 == 0 {
				return false
			}
		}
		return true
	}, ""
}
