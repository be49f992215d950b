package segment

import (
	"encoding/binary"
	"sort"
)

// Entry finds a reward of a sealed segment by a hash, in 8 bytes: 26 bits of the hash from the third on, the position
// of the reward in its segment, from 0, and 20 more bits of the hash. So entries are in the order of the hash, and
// those of one hash in the order of the rewards. Two hashes may be equal in these 46 bits: whoever finds a reward
// compares it.
type Entry uint64

const (
	positionBits = 18 // Size is 1 << positionBits
	restBits     = 20
	fixedBits    = 2 // the first bits of the hash, which those of all users have: the variant of their ids
	afterPrefix  = positionBits + restBits
	entryBytes   = 8
)

// NewEntry returns the entry of the reward at a position of its segment.
func NewEntry(hash, position int64) Entry {
	h, at := Entry(hash)<<fixedBits, Entry(position)
	return h>>afterPrefix<<afterPrefix | at<<restBits | (h >> positionBits).rest()
}

func (e Entry) position() int64 { return int64(e >> restBits & (1<<positionBits - 1)) }

// prefix and rest are what an entry has of its hash.
func (e Entry) prefix() Entry { return e >> afterPrefix }

func (e Entry) rest() Entry { return e & (1<<restBits - 1) }

const (
	groupBits    = 12  // of the hash, which the entries of a block share: 64 entries of a segment, on average
	blockEntries = 500 // at most in a block: as many as fit in a page of the store
)

// group is the beginning of the hash that the entries of a block share.
func (e Entry) group() Entry { return e >> (64 - groupBits) }

// Block has entries of a segment, in order, whose hashes begin alike. Its place is in the order of segments and of
// entries.
type Block struct {
	Place   int64
	Entries []byte // 8 for each entry, the highest byte first
}

const placeBits = 64 - restBits

// PlacesPerSegment is the distance between the places of two segments.
const PlacesPerSegment = 1 << placeBits

// place is that of a block that begins with an entry.
func place(number int64, first Entry) int64 { return number*PlacesPerSegment + int64(first>>restBits) }

// Places returns between which places are the blocks of a segment that may have entries of a hash, for rewards up to a
// position.
func Places(number, hash, newest int64) (first, last int64) {
	e := NewEntry(hash, min(max(newest, 0), Size-1))
	return place(number, e.group()<<(64-groupBits)), place(number, e)
}

// Segment is the number of the block's segment.
func (b *Block) Segment() int64 { return b.Place >> placeBits }

// Blocks cuts the sorted entries of a segment.
func Blocks(number int64, entries []Entry) (blocks []Block) {
	for from, until := 0, 0; from < len(entries); from = until {
		first := entries[from]
		b := Block{Place: place(number, first)}
		for until < len(entries) && until-from < blockEntries && entries[until].group() == first.group() {
			b.Entries = binary.BigEndian.AppendUint64(b.Entries, uint64(entries[until]))
			until++
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// Sound reports whether the block has whole entries in their order, whose hashes begin alike, and the place of the
// first one. Damage of the disk breaks this, mostly: an entry would be missed.
func (b *Block) Sound() bool {
	if len(b.Entries) == 0 || len(b.Entries)%entryBytes != 0 {
		return false
	}
	before := Entry(binary.BigEndian.Uint64(b.Entries))
	group := before.group()
	if place(b.Segment(), before) != b.Place {
		return false
	}
	for at := entryBytes; at < len(b.Entries); at += entryBytes {
		e := Entry(binary.BigEndian.Uint64(b.Entries[at:]))
		if e <= before || e.group() != group {
			return false
		}
		before = e
	}
	return true
}

// Find appends the numbers below a bound of the rewards whose entries have a hash, newest first. first is the number
// of the segment's first reward.
func (b *Block) Find(numbers []int64, hash, first, below int64) []int64 {
	at := func(i int) Entry { return Entry(binary.BigEndian.Uint64(b.Entries[i*entryBytes:])) }
	wanted := NewEntry(hash, 0)
	end := sort.Search(len(b.Entries)/entryBytes, func(i int) bool { return at(i).prefix() > wanted.prefix() })
	for i := end - 1; i >= 0 && at(i).prefix() == wanted.prefix(); i-- {
		e := at(i)
		if number := first + e.position(); e.rest() == wanted.rest() && number < below {
			numbers = append(numbers, number)
		}
	}
	return numbers
}
