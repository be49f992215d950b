package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/bits-and-blooms/bloom/v3"
)

// The shape of a filter. With 16 bits for each key it finds 6 of 10,000 foreign keys by mistake, each of which costs a
// look into the segment's entries, and mostly a page that is not in memory. With 12 bits, as earlier
// versions had, they were 3 of 1,000: one for every ninth new key with 10 million rewards.
const (
	bitsPerKey = 16
	probes     = 8
)

// MostSegments is how many segments a filter has at most. Their bits of a probe are one line of the processor's
// cache.
const MostSegments = 512

// Filter says which keys no reward of some sealed segments has. A filter of many segments has their bits side by
// side, so that a key is looked for in all of them at once, and the answer says in which segments it may be.
// Once it is in use it never changes.
type Filter struct {
	First, Last int64 // the segments

	together *bloom.BloomFilter // of one segment, or of several together, as versions before 24 merged them
	side     []byte             // for each location a bit of each segment; nil: together has the bits
	size     uint64             // number of locations
	unknown  bool               // the stored filter was damaged: each segment may have any key
}

// NewFilter returns an empty filter for a number of keys of a segment.
func NewFilter(number int64, keys int) *Filter {
	return &Filter{First: number, Last: number, together: bloom.New(uint(locationsFor(keys)), probes)}
}

func locationsFor(keys int) uint64 { return uint64(max(1, keys)) * bitsPerKey }

// NewMerged returns an empty filter of the segments first to last with that number of keys each. They are one, 8, or
// a multiple of 64.
func NewMerged(first, last int64, keys int) *Filter {
	if first == last {
		return NewFilter(first, keys)
	}
	f := &Filter{First: first, Last: last, size: locationsFor(keys)}
	f.side = make([]byte, f.size*f.stride())
	return f
}

// Unknown returns a filter in the place of a damaged one: any of its segments may have a key. It is never stored.
func Unknown(first, last int64) *Filter {
	all := bloom.New(1, probes)
	all.BitSet().Set(0)
	return &Filter{First: first, Last: last, together: all, unknown: true}
}

// Known reports whether the filter says anything, as those that Unknown returns do not.
func (f *Filter) Known() bool { return !f.unknown }

// Alike reports whether filters can be merged: they are known, with equal numbers of segments and of locations.
func Alike(filters []*Filter) bool {
	for _, f := range filters {
		if f.unknown || f.Width() != filters[0].Width() || f.locations() != filters[0].locations() {
			return false
		}
	}
	return true
}

// Merge returns one filter of neighboring filters that are alike. Together they have 8 segments, or a multiple of 64.
func Merge(parts []*Filter) *Filter {
	first := parts[0]
	merged := &Filter{First: first.First, Last: parts[len(parts)-1].Last, size: first.locations()}
	merged.side = make([]byte, merged.size*merged.stride())
	for _, part := range parts {
		lane := uint64(part.First - merged.First)
		if part.side == nil {
			all := part.together.BitSet()
			for at, set := all.NextSet(0); set; at, set = all.NextSet(at + 1) {
				merged.side[uint64(at)*merged.stride()+lane/byteBits] |= 1 << (lane % byteBits)
			}
			continue
		}
		for at, width := uint64(0), part.stride(); at < merged.size; at++ {
			copy(merged.side[at*merged.stride()+lane/byteBits:], part.side[at*width:(at+1)*width])
		}
	}
	return merged
}

// locations is the number of locations.
func (f *Filter) locations() uint64 {
	if f.side == nil {
		return uint64(f.together.Cap())
	}
	return f.size
}

// Add adds a key of a segment by its hash.
func (f *Filter) Add(number, hash int64) {
	if f.side == nil {
		f.together.Add(bytesOf(hash))
		return
	}
	lane := uint64(number - f.First)
	for _, location := range NewProbe(hash) {
		f.side[location%f.size*f.stride()+lane/byteBits] |= 1 << (lane % byteBits)
	}
}

// Width is the number of segments.
func (f *Filter) Width() int64 { return f.Last - f.First + 1 }

// Outdated reports whether a filter of segments with that number of keys is better made again, because it has no bits
// for each of its segments, or too few.
func (f *Filter) Outdated(keys int) bool {
	return f.side == nil && f.Width() > 1 || f.locations() < locationsFor(keys)
}

const byteBits, wordBits, wordBytes = 8, 64, 8

// stride is the number of bytes of a location.
func (f *Filter) stride() uint64 { return uint64(f.Width()) / byteBits }

// Unchecked is the checksum of a filter that an earlier version stored: it is not known yet. Neither zeroed nor 0xFF
// bytes in its place look like it.
const Unchecked = 1

// Checksum returns the CRC-32C of a filter as Bytes returns it. It is never Unchecked.
func Checksum(stored []byte) int64 {
	return 1<<32 | int64(crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli)))
}

// ParseFilter returns a filter as Bytes stored it. It fails when the checksum is another one and not Unchecked.
func ParseFilter(first, last int64, stored []byte, checksum int64) (*Filter, error) {
	f := &Filter{First: first, Last: last}
	wrong := f.checkShape(stored)
	if checksum != Unchecked && checksum != Checksum(stored) {
		wrong = "its bytes have another checksum"
	}
	if wrong == "" && f.side == nil {
		f.together = new(bloom.BloomFilter)
		if err := f.together.UnmarshalBinary(stored); err != nil {
			wrong = err.Error()
		}
	}
	if wrong != "" {
		return nil, fmt.Errorf("segment: cannot read the filter of the segments %d to %d: %s", first, last, wrong)
	}
	return f, nil
}

const head = 3 * wordBytes

// checkShape checks the head of a stored filter: the numbers of locations and of probes, then that of segments side by
// side or the first one again. A damaged number would reserve any memory, or forget keys. It returns what is wrong,
// or "". It takes the bits of a filter side by side.
func (f *Filter) checkShape(stored []byte) string {
	if len(stored) <= head || len(stored)%wordBytes != 0 {
		return fmt.Sprintf("it has %d bytes, want the bits in words of %d bytes", len(stored), wordBytes)
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64(stored[at*wordBytes:]) }
	size, hashes, last, words := number(0), number(1), number(2), uint64(len(stored)-head)/wordBytes
	if hashes != probes {
		return fmt.Sprintf("it has %d probes, want %d", hashes, probes)
	}
	if size == 0 || size > 1<<40 {
		return fmt.Sprintf("it has %d locations", size)
	}
	switch {
	case size == last && (size-1)/wordBits == words-1:
		return ""
	case size != last && last == uint64(f.Width()) && f.Width() <= MostSegments && last%byteBits == 0 &&
		(size*f.stride()+wordBytes-1)/wordBytes == words:
		f.size, f.side = size, stored[head:][:size*f.stride()]
		return ""
	}
	return fmt.Sprintf("it has %d locations of %d segments in %d words of 64 bits", size, last, words)
}

// Bytes returns the filter as it is stored.
func (f *Filter) Bytes() ([]byte, error) {
	if f.side == nil {
		return f.together.MarshalBinary()
	}
	stored := make([]byte, 0, head+len(f.side)+wordBytes)
	for _, n := range []uint64{f.size, probes, uint64(f.Width())} {
		stored = binary.BigEndian.AppendUint64(stored, n)
	}
	stored = append(stored, f.side...)
	return append(stored, make([]byte, -len(f.side)&(wordBytes-1))...), nil
}

// Probe is a hash that is looked for in many filters.
type Probe []uint64

// NewProbe prepares a hash.
func NewProbe(hash int64) Probe { return bloom.Locations(bytesOf(hash), probes) }

// Newest finds the newest of the segments before a number that may have the key. It is right when it finds none. For
// each segment without the key it is wrong in 6 of 10,000 cases.
func (f *Filter) Newest(p Probe, before int64) (number int64, found bool) {
	lanes := min(before, f.Last+1) - f.First // the segments that come into question
	switch {
	case lanes <= 0:
		return 0, false
	case f.side == nil:
		return f.First + lanes - 1, f.together.TestLocations(p)
	}
	for word := (lanes - 1) / wordBits; word >= 0; word-- {
		in := min(wordBits, lanes-word*wordBits) // segments of the word that come into question
		if may := f.word(p, uint64(word)) << (wordBits - in); may != 0 {
			return f.First + word*wordBits + in - 1 - int64(bits.LeadingZeros64(may)), true
		}
	}
	return 0, false
}

// word returns which of 64 segments may have the key.
func (f *Filter) word(p Probe, word uint64) uint64 {
	may, stride := ^uint64(0), f.stride()
	for _, location := range p {
		at := f.side[location%f.size*stride+word*wordBytes:]
		if stride == 1 {
			may &= uint64(at[0])
		} else {
			may &= binary.LittleEndian.Uint64(at)
		}
		if may == 0 {
			return 0
		}
	}
	return may
}

func bytesOf(hash int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(hash)) }
