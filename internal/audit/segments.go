package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// segmentSize is the number of rewards in a segment. Only tests have smaller segments.
const segmentSize = 1 << 18

// segments compares the segments with the rewards that they find. In memory are the entries of
// one segment, and one filter.
type segments struct {
	a       *auditor
	size    int64             // rewards in a segment
	sealed  int64             // the number of sealed segments
	inRows  map[int64]bool    // sealed segments whose entries are rows, as earlier versions stored them
	last    int64             // number of the last reward
	newest  map[string]string // id of the last reward, by app
	current int64             // the segment of the last reward
	keys    segmentIndex
	users   segmentIndex
	hashes  []int64 // of the keys of the current segment
	filters *reader.Cursor[filter]
}

// ordered encodes a number so that strings compare as the numbers do.
func ordered(n int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63))
}

func segmentName(number int64) string { return "segment " + value.Int(number) }

// openSegments checks the segments alone, and starts to read their entries and filters.
func (a *auditor) openSegments() (*segments, error) {
	s := &segments{a: a, size: segmentSize, newest: make(map[string]string), inRows: make(map[int64]bool)}
	if !a.inSegments {
		return s, nil
	}
	err := errors.Join(s.readSegments(), s.readFilters())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.keys.open(a.r, "key"), s.users.open(a.r, "user")); err != nil {
		return nil, err
	}
	s.filters, err = reader.Open(a.r, filterStream())
	return s, err
}

// readSegments checks that the segments have one size and follow each other.
func (s *segments) readSegments() error {
	type segment struct {
		number, first, last int64
		inBlocks            bool
	}
	return reader.Each(s.a.r, reader.Stream[segment]{
		What: "segments", Query: `SELECT number, first_reward, last_reward, in_blocks FROM segments ORDER BY number`,
		Bind: func(g *segment) []any { return []any{&g.number, &g.first, &g.last, &g.inBlocks} },
	}, func(g *segment) {
		if s.sealed == 0 && g.last > 0 && g.last < segmentSize {
			s.size = g.last
		}
		s.a.t.row(checkSegments)
		s.inRows[g.number] = !g.inBlocks
		first := s.sealed*s.size + 1
		s.sealed++
		if last := s.sealed * s.size; g.number != s.sealed-1 || g.first != first || g.last != last {
			s.a.t.fail(checkSegments, segmentName(g.number),
				"the rewards "+value.Int(g.first)+" to "+value.Int(g.last),
				segmentName(s.sealed-1)+" with the rewards "+value.Int(first)+" to "+value.Int(last))
		}
	})
}

// add checks the number of a reward, and what finds the rewards of the segment before it.
func (s *segments) add(r *reward) error {
	s.a.t.row(checkRewardNumbers)
	switch newest := s.newest[r.app]; {
	case r.number != s.last+1:
		s.a.t.fail(checkRewardNumbers, r.name(), "number "+value.Int(r.number), "number "+value.Int(s.last+1))
	case r.id <= newest:
		s.a.t.fail(checkRewardNumbers, r.name(), "number "+value.Int(r.number),
			"a number before that of "+rewardName(r.app, newest))
	}
	s.last, s.newest[r.app] = r.number, max(s.newest[r.app], r.id)
	if number := (r.number - 1) / s.size; number > s.current {
		if err := s.compare(); err != nil {
			return err
		}
		s.current = number
	}
	if s.current <= s.sealed {
		key, user := sha256.Sum256([]byte(r.app+r.key)), []byte(r.user)
		position := (r.number - 1) % s.size
		s.hashes = append(s.hashes, hashOf(key[:8]))
		s.keys.expect(hashOf(key[:8]), position)
		s.users.expect(hashOf(user[max(0, len(user)-8):]), position)
	}
	return nil
}

func hashOf(b []byte) int64 {
	var whole [8]byte
	copy(whole[:], b)
	return int64(binary.BigEndian.Uint64(whole[:]))
}

// compare compares the current segment with its rewards. It may have some entries before it is sealed.
func (s *segments) compare() error {
	if s.current > s.sealed {
		return nil
	}
	err := errors.Join(s.compareIndex(&s.keys), s.compareIndex(&s.users))
	if err == nil && s.current < s.sealed {
		err = s.checkFilter()
	}
	s.hashes, s.keys.want, s.users.want = s.hashes[:0], s.keys.want[:0], s.users.want[:0]
	return err
}

// compareIndex compares the entries of the current segment with those that its rewards have. Where the entries are
// rows there may be blocks too, but those of a segment in blocks are all.
func (s *segments) compareIndex(x *segmentIndex) error {
	rows, err := x.readRows(s)
	if err != nil {
		return err
	}
	blocks, err := x.readBlocks(s)
	if err != nil {
		return err
	}
	slices.Sort(x.want)
	complete := s.current < s.sealed
	x.compareWith(s, blocks, complete && !s.inRows[s.current])
	if s.inRows[s.current] {
		x.compareWith(s, rows, complete)
	}
	return nil
}

// end checks what is left after the last reward.
func (s *segments) end() error {
	err := errors.Join(s.compare(), s.keys.rest(s), s.users.rest(s))
	if newest := s.sealed * s.size; s.last < newest {
		s.a.t.fail(checkSegments, "the newest segment", "the last reward "+value.Int(newest),
			"at most "+value.Int(s.last)+", the newest reward")
	}
	return err
}
