package segment

import (
	"bytes"
	"encoding/binary"
)

// Gap lies between two neighbors of a sealed segment: the first 32 bits of their hashes. It begins with 0 before the
// first entry, and ends with the highest hash after the last one.
type Gap struct{ After, Before uint32 }

const lastStart = 1<<32 - 1

// maxGap is the longest gap as a multiple of the mean one. Hashes are random: a longer one has a chance of 1 to 10^17.
const maxGap = 40

// LacksBlock reports whether the gap is longer than chance makes it in a segment with a number of keys. Then a block is
// missing there.
func (g Gap) LacksBlock(keys int64) bool {
	return uint64(g.Before-g.After)*uint64(keys) > maxGap*lastStart
}

// start is the first 32 bits of the hash, as far as the entry has them.
func (e Entry) start() uint32 { return uint32(e>>afterPrefix) << (afterPrefix - (64 - 32)) }

// Neighbors returns the gap between two blocks of a segment. One without entries is beyond the ends of the segment.
func Neighbors(before, after Block) Gap {
	g := Gap{Before: lastStart}
	if n := len(before.Entries); n > 0 {
		g.After = Entry(binary.BigEndian.Uint64(before.Entries[n-entryBytes:])).start()
	}
	if len(after.Entries) > 0 {
		g.Before = Entry(binary.BigEndian.Uint64(after.Entries)).start()
	}
	return g
}

// LastID returns the start of the hash of the last entry of IDBlocks, and whether that hash is before another one.
func (b *Block) LastID(hash int64) (start uint32, before bool) {
	last := b.Entries[len(b.Entries)-IDEntryBytes:]
	return binary.BigEndian.Uint32(last), bytes.Compare(last[:partBytes], KeyPart(hash)) < 0
}

// KeyStart is the start of the hash with which a block begins, by its place as of KeyPlace.
func KeyStart(place int64) uint32 { return uint32(place) }

// SameKey reports whether the entries of two hashes are alike.
func SameKey(a, b int64) bool { return NewEntry(a, 0) == NewEntry(b, 0) }

// SameKeyPart is SameKey for the entries of IDBlocks.
func SameKeyPart(a, b int64) bool { return bytes.Equal(KeyPart(a), KeyPart(b)) }
