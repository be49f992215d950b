// Package random makes the paper brokerage's identifiers and pseudo-random numbers.
// All but those of IDs are pure functions of a seed or a name, so runs can be repeated.
package random

import (
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"
)

// IDs makes random identifiers. It is safe for concurrent use.
type IDs struct {
	mu     sync.Mutex
	source io.Reader
}

// NewIDs returns identifiers that are read from the source.
func NewIDs(source io.Reader) *IDs { return &IDs{source: source} }

// Next returns a UUID of version 4. It fails when the source does.
func (s *IDs) Next() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := uuid.NewRandomFromReader(s.source)
	if err != nil {
		return "", fmt.Errorf("cannot make an id: %w", err)
	}
	return id.String(), nil
}

// UUID returns the UUID of version 8 that belongs to a name.
func UUID(name string) string {
	sum := sha256.Sum256([]byte("stockrewards paper " + name))
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 8<<4
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// Hash returns a number that depends on every bit of the seed and the text.
func Hash(seed uint64, text string) uint64 {
	h := Mix(seed)
	for _, c := range []byte(text) {
		h = Mix(h ^ uint64(c))
	}
	return h
}

// Mix is the finalizer of SplitMix64: every bit of its result depends on every bit of x.
func Mix(x uint64) uint64 {
	x += 0x9e37_79b9_7f4a_7c15 // 2^64 divided by the golden ratio
	x = (x ^ x>>30) * 0xbf58_476d_1ce4_e5b9
	x = (x ^ x>>27) * 0x94d0_49bb_1331_11eb
	return x ^ x>>31
}
