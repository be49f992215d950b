package audit

import (
	"encoding/binary"
	"slices"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// segmentIndex is one index of all segments.
type segmentIndex struct {
	by     string // what it finds rewards by
	rows   *reader.Cursor[entryRow]
	blocks *reader.Cursor[entryBlock]
	want   []uint64 // the entries of the current segment
}

// entryRow is a row of reward_keys or of reward_users, as earlier versions stored an entry.
type entryRow struct{ segment, hash, number int64 }

// entryBlock is a row of key_blocks or of user_blocks.
type entryBlock struct {
	place   int64
	entries string
}

// The parts of an entry: 26 bits of the hash after the first two, which are equal for all users, the position of the
// reward in its segment, and 20 more bits of the hash.
const (
	entryBytes = 8
	restBits   = 20
	prefixBits = 26
	groupBits  = 12 // of the hash, which the entries of a block share
)

func segmentEntry(hash, position int64) uint64 {
	const shift = 64 - prefixBits
	h := uint64(hash) << 2
	prefix, rest := h>>shift, h>>(shift-restBits)&(1<<restBits-1)
	return prefix<<shift | uint64(position)<<restBits | rest
}

// segmentOf is the segment of a block's place.
func segmentOf(place int64) int64 { return place >> (64 - restBits) }

func (x *segmentIndex) open(r *reader.Reader, by string) (err error) {
	x.by = by
	x.rows, err = reader.Open(r, reader.Stream[entryRow]{
		What:  "rewards by " + by + ", in rows",
		Query: `SELECT segment, hash, number FROM reward_` + by + `s ORDER BY segment`,
		Bind:  func(e *entryRow) []any { return []any{&e.segment, &e.hash, &e.number} },
		Key:   func(e *entryRow) reader.Key { return reader.Key{ordered(e.segment)} },
	})
	if err != nil {
		return err
	}
	x.blocks, err = reader.Open(r, reader.Stream[entryBlock]{
		What:  "rewards by " + by,
		Query: `SELECT place, entries FROM ` + by + `_blocks ORDER BY place`,
		Bind:  func(b *entryBlock) []any { return []any{&b.place, &b.entries} },
		Key:   func(b *entryBlock) reader.Key { return reader.Key{ordered(segmentOf(b.place))} },
	})
	return err
}

// expect notes that a reward of the current segment must be found by a hash.
func (x *segmentIndex) expect(hash, position int64) {
	x.want = append(x.want, segmentEntry(hash, position))
}

// readRows reads the entries of the current segment that are rows, in the order of entries. Those of other segments
// are removed while an older store is upgraded.
func (x *segmentIndex) readRows(s *segments) (entries []uint64, err error) {
	ignore := func(*entryRow) {}
	err = x.rows.Claim(reader.Key{ordered(s.current)}, func(e *entryRow) {
		position := e.number - 1 - s.current*s.size
		if position < 0 || position >= s.size {
			if s.inRows[s.current] {
				s.a.t.row(checkSegmentEntries)
				s.a.t.fail(checkSegmentEntries, x.name(s.current, "reward "+value.Int(e.number)), "an entry",
					"an entry of a reward of the segment")
			}
			return
		}
		entries = append(entries, segmentEntry(e.hash, position))
	}, ignore)
	slices.Sort(entries)
	return entries, err
}

// readBlocks reads the entries of the current segment that are in blocks, and checks the blocks.
func (x *segmentIndex) readBlocks(s *segments) (entries []uint64, err error) {
	err = x.blocks.Claim(reader.Key{ordered(s.current)}, func(b *entryBlock) {
		of := x.parse(s, b)
		if len(of) > 0 && len(entries) > 0 && of[0] <= entries[len(entries)-1] {
			x.failBlock(s, b, "entries that another block has", "entries after those of the block before")
			return
		}
		entries = append(entries, of...)
	}, x.strayBlock(s))
	return entries, err
}

// parse returns the entries of a block, or none when they cannot be found.
func (x *segmentIndex) parse(s *segments, b *entryBlock) (entries []uint64) {
	for at := 0; at+entryBytes <= len(b.entries); at += entryBytes {
		entries = append(entries, binary.BigEndian.Uint64([]byte(b.entries[at:at+entryBytes])))
	}
	switch {
	case b.entries == "" || len(b.entries)%entryBytes != 0:
		x.failBlock(s, b, value.Int(int64(len(b.entries)))+" bytes", "8 for each entry")
	case !slices.IsSorted(entries):
		x.failBlock(s, b, "entries in another order", "the order of the entries")
	case segmentOf(b.place)<<(64-restBits)|int64(entries[0]>>restBits) != b.place:
		x.failBlock(s, b, "another place", "the place of its first entry")
	case entries[0]>>(64-groupBits) != entries[len(entries)-1]>>(64-groupBits):
		x.failBlock(s, b, "entries whose hashes begin differently", "entries whose hashes share 12 bits")
	default:
		return entries
	}
	return nil
}

func (x *segmentIndex) failBlock(s *segments, b *entryBlock, has, want string) {
	s.a.t.fail(checkSegmentEntries, x.name(segmentOf(b.place), "the block "+value.Int(b.place)), has, want)
}

func (x *segmentIndex) strayBlock(s *segments) func(*entryBlock) {
	return func(b *entryBlock) {
		s.a.t.row(checkSegmentEntries)
		x.failBlock(s, b, "entries", "none, as the segment is not full")
	}
}

// compareWith compares entries with those of the rewards, both in order. With complete all must be there.
func (x *segmentIndex) compareWith(s *segments, entries []uint64, complete bool) {
	want := x.want
	for len(want)+len(entries) > 0 {
		switch {
		case len(entries) == 0 || len(want) > 0 && want[0] < entries[0]:
			if complete {
				s.a.t.row(checkSegmentEntries)
				s.a.t.fail(checkSegmentEntries, x.entryName(s, want[0]), "no entry", "one")
			}
			want = want[1:]
		case len(want) == 0 || want[0] > entries[0]:
			s.a.t.row(checkSegmentEntries)
			s.a.t.fail(checkSegmentEntries, x.entryName(s, entries[0]), "an entry",
				"an entry of a reward of the segment, with its hash, once")
			entries = entries[1:]
		default:
			s.a.t.row(checkSegmentEntries)
			want, entries = want[1:], entries[1:]
		}
	}
}

func (x *segmentIndex) entryName(s *segments, e uint64) string {
	const position = 1<<(64-prefixBits-restBits) - 1
	return x.name(s.current, "reward "+value.Int(s.current*s.size+1+int64(e>>restBits&position)))
}

func (x *segmentIndex) name(number int64, what string) string {
	return segmentName(number) + ": " + what + " by " + x.by
}

// rest checks what is left after the last reward.
func (x *segmentIndex) rest(s *segments) error {
	if err := x.rows.Rest(func(*entryRow) {}); err != nil {
		return err
	}
	return x.blocks.Rest(x.strayBlock(s))
}
