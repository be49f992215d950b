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
	if err := f.bloom.UnmarshalBinary(stored); err != nil {
		return nil, fmt.Errorf("segment: cannot read the filter of the segments %d to %d: %w", first, last, err)
	}
	if f.bloom.K() != probes {
		return nil, fmt.Errorf("segment: cannot read the filter of the segments %d to %d: %d probes, want %d",
			first, last, f.bloom.K(), probes)
	}
	return f, nil
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
