package admission

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// KeyThrottle delays the responses to addresses that send invalid API keys, longer with each
// invalid key. It never delays a valid key. The number of addresses and of delayed responses
// is bounded. It is safe for concurrent use.
type KeyThrottle struct {
	mu      sync.Mutex
	sources map[netip.Prefix]*source
	delayed int // responses
}

// source is an IPv4 address, or an IPv6 network of /64, which one customer usually has.
type source struct {
	invalid int // recent invalid keys; halved every halfLife
	halved  time.Time
	delayed int // responses
}

// The limits of the delays.
const (
	freeKeys       = 10 // invalid keys without a delay, for someone who tries things out
	firstDelay     = 10 * time.Millisecond
	maxDelay       = time.Second
	halfLife       = 30 * time.Second
	maxInvalid     = 100 // so that a source which stops is free of delays after two minutes
	maxShift       = 16
	maxSources     = 4096
	maxDelayed     = 256
	maxDelayedEach = 16 // per source
	ipv6Network    = 64
	ipv4Address    = 32
)

// Delay counts an invalid key from the address and waits before its response, at most until
// ctx ends. It returns false at once when too many responses are delayed already; the
// connection should then be closed.
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
	s.delayed--
	from.delayed--
	return true
}

// count counts an invalid key and returns the delay of its response. The source is nil when
// too many responses are delayed already.
func (s *KeyThrottle) count(address netip.Addr) (time.Duration, *source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.source(address)
	if halves := time.Since(from.halved) / halfLife; halves > 0 {
		from.invalid >>= min(halves, maxShift)
		from.halved = from.halved.Add(time.Duration(int64(halves) * int64(halfLife)))
	}
	from.invalid = min(from.invalid+1, maxInvalid)
	delay := delayAfter(from.invalid)
	if delay == 0 {
		return 0, nil
	}
	if s.delayed >= maxDelayed || from.delayed >= maxDelayedEach {
		return delay, nil
	}
	s.delayed++
	from.delayed++
	return delay, from
}

// delayAfter returns the delay after the given number of invalid keys.
func delayAfter(invalid int) time.Duration {
	if invalid <= freeKeys {
		return 0
	}
	return min(firstDelay<<min(invalid-freeKeys-1, maxShift), maxDelay)
}

// source returns the source of an address. It forgets any other source when there are too
// many.
func (s *KeyThrottle) source(address netip.Addr) *source {
	address = address.Unmap().WithZone("")
	bits := ipv4Address
	if address.Is6() {
		bits = ipv6Network
	}
	network, _ := address.Prefix(bits) // the zero address has its own entry
	if from := s.sources[network]; from != nil {
		return from
	}
	if s.sources == nil {
		s.sources = make(map[netip.Prefix]*source)
	}
	for other := range s.sources {
		if len(s.sources) < maxSources {
			break
		}
		delete(s.sources, other)
	}
	from := &source{halved: time.Now()}
	s.sources[network] = from
	return from
}
