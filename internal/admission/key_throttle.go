package admission

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// KeyThrottle delays the answers to addresses that send wrong keys: the longer, the more they
// send. It never delays a valid key, and holds a bounded number of addresses and of
// answers. It is safe for concurrent use.
type KeyThrottle struct {
	mu   sync.Mutex
	seen map[netip.Prefix]*stranger
	held int // answers
}

// stranger is an address, or for IPv6 a network of /64, which one customer usually has.
type stranger struct {
	wrong  int // keys, of which half are forgotten in each forgetHalf
	halved time.Time
	held   int
}

// The bounds of the delays.
const (
	freeKeys      = 10 // wrong keys without a delay: somebody tries things out
	firstDelay    = 10 * time.Millisecond
	mostDelay     = time.Second
	forgetHalf    = 30 * time.Second
	mostCounted   = 100 // wrong keys: who stops is nobody again after two minutes
	mostShift     = 16
	maxStrangers  = 4096
	maxHeld       = 256
	maxHeldOfOne  = 16
	ipv6Network   = 64
	ipv4Addresses = 32
)

// Wrong counts a wrong key of the address and waits as long as its answer is to be
// delayed, or until ctx ends. It reports false when too many answers wait already: then
// it does not wait, and the connection should be closed.
func (s *KeyThrottle) Delay(ctx context.Context, address netip.Addr) bool {
	delay, from := s.count(address)
	if delay == 0 {
		return true
	}
	if from == nil {
		return false
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
	from.held--
	return true
}

// count counts a wrong key. It returns the stranger whose answer is held, nil when there
// are too many.
func (s *KeyThrottle) count(address netip.Addr) (time.Duration, *stranger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.stranger(address)
	if halves := time.Since(from.halved) / forgetHalf; halves > 0 {
		from.wrong >>= min(halves, mostShift)
		from.halved = from.halved.Add(time.Duration(int64(halves) * int64(forgetHalf)))
	}
	from.wrong = min(from.wrong+1, mostCounted)
	delay := delayAfter(from.wrong)
	if delay == 0 {
		return 0, nil
	}
	if s.held >= maxHeld || from.held >= maxHeldOfOne {
		return delay, nil
	}
	s.held++
	from.held++
	return delay, from
}

// delayAfter is how long the answer to the last of so many wrong keys is delayed.
func delayAfter(wrong int) time.Duration {
	if wrong <= freeKeys {
		return 0
	}
	return min(firstDelay<<min(wrong-freeKeys-1, mostShift), mostDelay)
}

// stranger finds who is behind an address. When there are too many any other one is
// forgotten.
func (s *KeyThrottle) stranger(address netip.Addr) *stranger {
	address = address.Unmap().WithZone("")
	bits := ipv4Addresses
	if address.Is6() {
		bits = ipv6Network
	}
	network, _ := address.Prefix(bits) // the zero address is one of its own
	if from := s.seen[network]; from != nil {
		return from
	}
	if s.seen == nil {
		s.seen = make(map[netip.Prefix]*stranger)
	}
	for other := range s.seen {
		if len(s.seen) < maxStrangers {
			break
		}
		delete(s.seen, other)
	}
	from := &stranger{halved: time.Now()}
	s.seen[network] = from
	return from
}
