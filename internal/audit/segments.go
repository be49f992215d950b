package audit

import (
	"cmp"
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
	last    int64             // number of the last reward
	newest  map[string]string // id of the last reward, by app
	current int64             // the segment of the last reward
	keys    segmentIndex
	users   segmentIndex
	filters *reader.Cursor[filter]
}

// segmentIndex is one index of all segments.
type segmentIndex struct {
	by   string // what it finds rewards by
	rows *reader.Cursor[indexEntry]
	want []indexEntry // of the current segment
}

// indexEntry is a row of reward_keys or of reward_users.
type indexEntry struct{ segment, hash, number int64 }

func (e *indexEntry) key() reader.Key {
	return reader.Key{ordered(e.segment), ordered(e.hash) + ordered(e.number)}
}

// ordered encodes a number so that strings compare as the numbers do.
func ordered(n int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63))
}

func segmentName(number int64) string { return "segment " + value.Int(number) }

func indexStream(by, table string) reader.Stream[indexEntry] {
	return reader.Stream[indexEntry]{
		What:  "rewards by " + by,
		Query: `SELECT segment, hash, number FROM ` + table + ` ORDER BY segment, hash, number`,
		Bind:  func(e *indexEntry) []any { return []any{&e.segment, &e.hash, &e.number} },
		Key:   (*indexEntry).key,
	}
}

// openSegments checks the segments alone, and starts to read their entries and filters.
func (a *auditor) openSegments() (*segments, error) {
	s := &segments{a: a, size: segmentSize, newest: make(map[string]string)}
	s.keys.by, s.users.by = "key", "user"
	if !a.inSegments {
		return s, nil
	}
	err := errors.Join(s.readSegments(), s.readFilters())
	if err != nil {
		return nil, err
	}
	if s.keys.rows, err = reader.Open(a.r, indexStream(s.keys.by, "reward_keys")); err != nil {
		return nil, err
	}
	if s.users.rows, err = reader.Open(a.r, indexStream(s.users.by, "reward_users")); err != nil {
		return nil, err
	}
	s.filters, err = reader.Open(a.r, filterStream())
	return s, err
}

// readSegments checks that the segments have one size and follow each other.
func (s *segments) readSegments() error {
	type segment struct{ number, first, last int64 }
	return reader.Each(s.a.r, reader.Stream[segment]{
		What: "segments", Query: `SELECT number, first_reward, last_reward FROM segments ORDER BY number`,
		Bind: func(g *segment) []any { return []any{&g.number, &g.first, &g.last} },
	}, func(g *segment) {
		if s.sealed == 0 && g.last > 0 && g.last < segmentSize {
			s.size = g.last
		}
		s.a.t.row(checkSegments)
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
		key := sha256.Sum256([]byte(r.app + r.key))
		s.keys.expect(s.current, key[:8], r.number)
		user := []byte(r.user)
		s.users.expect(s.current, user[max(0, len(user)-8):], r.number)
	}
	return nil
}

// expect notes that the reward must be found by a hash.
func (x *segmentIndex) expect(segment int64, hash []byte, number int64) {
	var whole [8]byte
	copy(whole[:], hash)
	x.want = append(x.want, indexEntry{segment, int64(binary.BigEndian.Uint64(whole[:])), number})
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
	s.keys.want, s.users.want = s.keys.want[:0], s.users.want[:0]
	return err
}

func (s *segments) compareIndex(x *segmentIndex) error {
	slices.SortFunc(x.want, func(a, b indexEntry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.number, b.number))
	})
	for i := range x.want {
		e, found := &x.want[i], int64(0)
		err := x.rows.Claim(e.key(), func(*indexEntry) {
			s.a.t.row(checkSegmentEntries)
			found++
		}, x.stray(s.a))
		if err != nil {
			return err
		}
		if found > 1 || found == 0 && s.current < s.sealed {
			s.a.t.fail(checkSegmentEntries, x.name(e), value.Int(found)+" entries", "one")
		}
	}
	return nil
}

// stray reports an entry that no reward has.
func (x *segmentIndex) stray(a *auditor) func(*indexEntry) {
	return func(e *indexEntry) {
		a.t.row(checkSegmentEntries)
		a.t.fail(checkSegmentEntries, x.name(e), "an entry", "an entry of a reward of the segment, with its hash")
	}
}

func (x *segmentIndex) name(e *indexEntry) string {
	return segmentName(e.segment) + ": reward " + value.Int(e.number) + " by " + x.by + ", hash " + value.Int(e.hash)
}

// end checks what is left after the last reward.
func (s *segments) end() error {
	if !s.a.inSegments {
		return nil
	}
	err := errors.Join(s.compare(), s.keys.rows.Rest(s.keys.stray(s.a)), s.users.rows.Rest(s.users.stray(s.a)))
	if newest := s.sealed * s.size; s.last < newest {
		s.a.t.fail(checkSegments, "the newest segment", "the last reward "+value.Int(newest),
			"at most "+value.Int(s.last)+", the newest reward")
	}
	return err
}
