package paper

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
)

// idSource makes random identifiers.
type idSource struct {
	mu     sync.Mutex
	random io.Reader
}

// next is a random UUID (version 4).
func (s *idSource) next() (string, error) {
	var b [16]byte
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.random, b[:]); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return formatUUID(b, 4), nil
}

// AssetID is the identifier of the asset with that symbol. It is derived from the
// symbol (a UUID of version 8), so that it is the same in all books for ever.
func AssetID(symbol string) string {
	sum := sha256.Sum256([]byte("stockrewards paper asset " + symbol))
	return formatUUID([16]byte(sum[:16]), 8)
}

func formatUUID(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
