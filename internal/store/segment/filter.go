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

// Filter says which keys no reward of some sealed segments has. It never changes.
type Filter struct {
	First, Last int64 // the segments
	bloom       *bloom.BloomFilter
}

// NewFilter returns the filter of the segments first to last with the keys of those hashes.
func NewFilter(first, last int64, keys []Entry) *Filter {
	f := &Filter{First: first, Last: last, bloom: bloom.New(uint(max(1, len(keys)))*bitsPerKey, probes)}
	for _, k := range keys {
		f.bloom.Add(bytesOf(k.Hash))
	}
	return f
}

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
