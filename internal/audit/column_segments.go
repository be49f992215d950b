package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// columnSegments checks over PostgreSQL that each reward's segment exists, and that its filter and its entries have the
// keys of its rewards. Rewards are read in about the order of their segments, so that a few filters are in memory.
type columnSegments struct {
	a     *auditor
	count int64
	bytes map[int64]int64 // of the filters, by segment
	keys  map[int64]int64 // where those of a segment are
	users map[int64]int64 // the same for users
	used  []keyFilter     // the last one used comes last

	entries *columnEntries
}

// keyFilter is the filter of a segment.
type keyFilter struct {
	segment int64
	has     func(locations []uint64) bool // nil: it has none
}

// mostFilters is how many filters are in memory, of 1.5 MB each.
const mostFilters = 16

// openColumnSegments checks the segments alone.
func (a *auditor) openColumnSegments() (*columnSegments, error) {
	s := &columnSegments{
		a: a, bytes: make(map[int64]int64), keys: make(map[int64]int64), users: make(map[int64]int64),
	}
	type row struct{ number, bytes, keys, users int64 }
	err := reader.Each(a.r, reader.Stream[row]{
		What: "segments",
		Query: `SELECT number, octet_length(filter)::bigint, keys::bigint, users::bigint FROM segments
			ORDER BY number`,
		Bind: func(r *row) []any { return []any{&r.number, &r.bytes, &r.keys, &r.users} },
	}, func(r *row) {
		a.t.row(checkSegments)
		if r.number != s.count {
			a.t.fail(checkSegments, segmentName(r.number), "this number", "the number "+value.Int(s.count))
		}
		s.count = r.number + 1
		s.bytes[r.number], s.keys[r.number], s.users[r.number] = r.bytes, r.keys, r.users
		if r.keys == inBlocks && r.bytes == 0 || r.keys < 0 || r.keys > inBlocks {
			a.t.fail(checkSegments, segmentName(r.number), "keys in place "+value.Int(r.keys)+" and a filter of "+
				value.Int(r.bytes)+" bytes", "a place that `serve` knows, and a filter when they are in blocks")
		}
		if r.users < 0 || r.users > inBlocks || r.users == inBatches && r.keys != inBatches {
			a.t.fail(checkSegments, segmentName(r.number), "users in place "+value.Int(r.users)+", keys in "+
				value.Int(r.keys), "a place that `serve` knows, and users in batches only with their keys")
		}
	})
	if err != nil {
		return nil, err
	}
	if s.count == 0 {
		a.t.fail(checkSegments, "segments", "none", "at least "+segmentName(0))
	}
	if s.bytes[s.count-1] > 0 {
		a.t.fail(checkSegments, segmentName(s.count-1), "a filter", "none, because it gets more rewards")
	}
	s.entries, err = s.openEntries()
	return s, err
}

// add checks the segment of a reward.
func (s *columnSegments) add(r *reward) error {
	s.a.t.row(checkSegmentEntries)
	if _, exists := s.bytes[r.number]; !exists {
		s.a.t.fail(checkSegmentEntries, r.name(), segmentName(r.number), "one of the "+value.Int(s.count)+" segments")
		return nil
	}
	f, err := s.filter(r.number)
	if err = errors.Join(err, s.entries.add(r)); err != nil || f.has == nil {
		return err
	}
	sum := sha256.Sum256([]byte(r.app + r.key))
	hash := binary.BigEndian.Uint64(sum[:])
	if !f.has(bloom.Locations(binary.LittleEndian.AppendUint64(nil, hash), filterProbes)) {
		s.a.t.fail(checkSegmentEntries, r.name()+" by key", "not in the filter of "+segmentName(r.number), "in it")
	}
	return nil
}

// filter returns the filter of a segment.
func (s *columnSegments) filter(number int64) (keyFilter, error) {
	last := len(s.used) - 1
	if last >= 0 && s.used[last].segment == number {
		return s.used[last], nil
	}
	f := keyFilter{segment: number}
	at := slices.IndexFunc(s.used, func(f keyFilter) bool { return f.segment == number })
	switch {
	case at >= 0:
		f = s.used[at]
		s.used = slices.Delete(s.used, at, at+1)
	case s.bytes[number] > 0:
		if err := s.load(&f); err != nil {
			return f, err
		}
	}
	if len(s.used) == mostFilters {
		s.used = slices.Delete(s.used, 0, 1)
	}
	s.used = append(s.used, f)
	return f, nil
}

func (s *columnSegments) load(f *keyFilter) error {
	stored := filter{segment: f.segment, first: f.segment, last: f.segment}
	return reader.Each(s.a.r, reader.Stream[filter]{
		What:  "the filter of a segment",
		Query: `SELECT checksum, filter FROM segments WHERE number = ` + value.Int(f.segment),
		Bind:  func(r *filter) []any { return []any{&r.checksum, &r.bits} },
	}, func(r *filter) {
		stored.checksum, stored.bits = r.checksum, r.bits
		has, wrong := parseFilter(&stored)
		if f.has = has; wrong != "" {
			s.a.t.fail(checkSegments, "the filter of "+segmentName(f.segment), wrong, soundFilter)
		}
	})
}
