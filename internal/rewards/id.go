package rewards

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

// ID is the UUID of a T; ids of different types cannot be mixed up. New ids are of version 7
// and sort by the millisecond of their creation.
type ID[T any] [16]byte

// The id types.
type (
	// AppID identifies an app.
	AppID = ID[App]
	// KeyID identifies an API key.
	KeyID = ID[Key]
	// UserID identifies a user.
	UserID = ID[User]
	// RewardID identifies a reward.
	RewardID = ID[Reward]
	// OrderID identifies an order.
	OrderID = ID[Order]
)

// idLength is the length of an id in characters.
const idLength = 36

// ErrBadID reports a string that is not a UUID in its 36-character form.
var ErrBadID = errors.New("must be a UUID")

// ParseID reads a UUID in its 36-character form, in upper or lower case. It fails with
// ErrBadID.
func ParseID[T any](text string) (ID[T], error) {
	var id ID[T]
	if len(text) != idLength {
		return id, ErrBadID
	}
	var digits [2 * len(id)]byte
	n := 0
	for i := range len(text) {
		switch i {
		case 8, 13, 18, 23:
			if text[i] != '-' {
				return id, ErrBadID
			}
		default:
			digits[n] = text[i]
			n++
		}
	}
	if _, err := hex.Decode(id[:], digits[:]); err != nil {
		return ID[T]{}, ErrBadID
	}
	return id, nil
}

// String returns the id in lower case with hyphens.
func (id ID[T]) String() string { return string(id.Append(nil)) }

// Append appends the id in lower case with hyphens.
func (id ID[T]) Append(b []byte) []byte {
	const digits = "0123456789abcdef"
	b = slices.Grow(b, idLength)
	for i, c := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}

// FirstID returns an id that sorts before every one made at t or later.
func FirstID[T any](t time.Time) (id ID[T]) {
	const bits = 16
	binary.BigEndian.PutUint64(id[:8], uint64(max(0, t.UnixMilli()))<<bits)
	return id
}

// IsZero reports whether the id is the zero id.
func (id ID[T]) IsZero() bool { return id == ID[T]{} }

// Time returns the millisecond in which the id was made, in UTC.
func (id ID[T]) Time() time.Time {
	var ms [8]byte
	copy(ms[2:], id[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC()
}

// IDs makes ids that only grow, even if the clock is set back. It is safe for concurrent
// use.
type IDs struct {
	now    func() time.Time
	random io.Reader

	mu   sync.Mutex
	last uint64 // the newest id's milliseconds and 12-bit counter
}

// NewIDs returns a source of ids that reads the clock now and the random source random.
func NewIDs(now func() time.Time, random io.Reader) *IDs {
	return &IDs{now: now, random: random}
}

// counterBits is the size of the counter within a millisecond. When it overflows, ids use
// the next millisecond.
const counterBits = 12

// StartAfter makes every further id later than t. Called with the time of a store's newest
// id, it keeps ids growing across a restart with the clock set back.
func (s *IDs) StartAfter(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, uint64(t.UnixMilli()+1)<<counterBits)
}

// Next returns the time that the next id would have.
func (s *IDs) Next() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := max(s.last+1, uint64(s.now().UnixMilli())<<counterBits) >> counterBits
	return time.UnixMilli(int64(next)).UTC()
}

// NewID returns a new id. It panics if the random source fails, because an id must not be
// predictable.
func NewID[T any](s *IDs) ID[T] {
	var id ID[T]
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.random, id[8:]); err != nil {
		panic("rewards: no randomness for an id: " + err.Error())
	}
	s.last = max(s.last+1, uint64(s.now().UnixMilli())<<counterBits)
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], s.last>>counterBits<<16)
	copy(id[:6], stamp[:6])
	counter := s.last & (1<<counterBits - 1)
	id[6] = 0x70 | byte(counter>>8)
	id[7] = byte(counter)
	id[8] = 0x80 | id[8]&0x3f
	return id
}
