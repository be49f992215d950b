package segment //nolint:testpackage // the length of chains

import (
	"math/rand/v2"
	"testing"
)

// Hashes that somebody chose, with the same low bits, are spread over the buckets.
func TestChosenHashesAreSpread(t *testing.T) {
	t.Parallel()
	const entries, most = 20_000, 40
	c, random := newChains(), rand.New(rand.NewPCG(3, 4))
	for range entries {
		c.add(int64(random.Uint64() &^ (1<<32 - 1)))
	}
	found := 0
	for _, at := range c.newest {
		length := 0
		for ; at >= 0; at = c.older[at] {
			length++
		}
		if found += length; length > most {
			t.Fatalf("a chain has %d of %d entries", length, entries)
		}
	}
	if found != entries {
		t.Errorf("the chains have %d entries, want %d", found, entries)
	}
}
