package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/bits-and-blooms/bloom/v3"
)

// The shape of a filter. With 12 bits for each key it finds 3 of 1,000 foreign keys by mistake,
// each of which costs a look into the segment's entries.
const (
	bitsPerKey = 12
	probes     = 8
)

// Filter says which keys no reward of some sealed segments has. Once it is in use it never changes.
type Filter struct {
	First, Last int64 // the segments
	bloom       *bloom.BloomFilter
}

// NewFilter returns an empty filter for a number of keys of the segments first to last.
func NewFilter(first, last int64, keys int) *Filter {
	return &Filter{First: first, Last: last, bloom: bloom.New(uint(max(1, keys))*bitsPerKey, probes)}
}

// Add adds a key by its hash.
func (f *Filter) Add(hash int64) { f.bloom.Add(bytesOf(hash)) }

// Width is the number of segments.
func (f *Filter) Width() int64 { return f.Last - f.First + 1 }

// ParseFilter returns a filter as Bytes stored it.
func ParseFilter(first, last int64, stored []byte) (*Filter, error) {
	f := &Filter{First: first, Last: last, bloom: new(bloom.BloomFilter)}
	if wrong := checkShape(stored); wrong != "" {
		return nil, fmt.Errorf("segment: cannot read the filter of the segments %d to %d: %s", first, last, wrong)
	}
	if err := f.bloom.UnmarshalBinary(stored); err != nil {
		return nil, fmt.Errorf("segment: cannot read the filter of the segments %d to %d: %w", first, last, err)
	}
	return f, nil
}

// checkShape checks what the library trusts: the numbers of bits and of probes, the number of bits
// again, and the bits. A damaged number would make it reserve any memory, or forget keys. It returns
// what is wrong, or "".
func checkShape(stored []byte) string {
	const word, head = 8, 24
	if len(stored) <= head || len(stored)%word != 0 {
		return fmt.Sprintf("it has %d bytes, want the bits in words of %d bytes", len(stored), word)
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64(stored[at:]) }
	bits, hashes, words := number(0), number(word), uint64(len(stored)-head)/word
	if hashes != probes {
		return fmt.Sprintf("it has %d probes, want %d", hashes, probes)
	}
	if bits != number(2*word) || bits == 0 || (bits-1)/64 != words-1 {
		return fmt.Sprintf("it has %d bits in %d words of 64 bits", bits, words)
	}
	return ""
}

// Bytes returns the filter as it is stored.
func (f *Filter) Bytes() ([]byte, error) { return f.bloom.MarshalBinary() }

// Probe is a hash that is looked for in many filters.
type Probe []uint64

// NewProbe prepares a hash.
func NewProbe(hash int64) Probe { return bloom.Locations(bytesOf(hash), probes) }

// MayHave reports whether a reward of the segments may have the key. It is right when it says
// no, and wrong in 3 of 1,000 cases when it says yes.
func (f *Filter) MayHave(p Probe) bool { return f.bloom.TestLocations(p) }

func bytesOf(hash int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(hash)) }
