package paper

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxFaults bounds how many faults there are at a time.
const maxFaults = 1_000

// faults are the faults that are there. They are kept in memory only; what they
// have done to an order is in the books.
type faults struct {
	mu     sync.Mutex
	seed   uint64
	draws  uint64 // how often chance was asked
	lastID int
	list   []*Rule
}

// Rule is a fault that is there.
type Rule struct {
	Fault

	ID    int
	Added time.Time // by the brokerage's clock
	Seen  int       // how often it could have struck
	Hits  int       // how often it struck

	group group
}

// over tells whether it will never strike again.
func (r *Rule) over(now time.Time) bool {
	return r.Times > 0 && r.Hits >= r.Times || r.For > 0 && !now.Before(r.Added.Add(r.For))
}

// AddFault makes the brokerage misbehave from now on. Of several faults that could
// strike at one request, order or price, the one that was added first does. It
// fails when the kind is unknown and when there are a thousand faults already.
func (b *Brokerage) AddFault(f Fault) (Rule, error) {
	k, known := kinds()[f.Kind]
	if !known {
		return Rule{}, fmt.Errorf("paper: fault %q: unknown kind", f.Kind)
	}
	s := b.faults
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= maxFaults {
		return Rule{}, errors.New("paper: there are a thousand faults already: remove some")
	}
	s.lastID++
	r := &Rule{Fault: f, ID: s.lastID, Added: b.clock.micros(), group: k.group}
	s.list = append(s.list, r)
	return *r, nil
}

// Faults lists the faults that are there, with how often each struck.
func (b *Brokerage) Faults() []Rule {
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	list := make([]Rule, len(b.faults.list))
	for i, r := range b.faults.list {
		list[i] = *r
	}
	return list
}

// RemoveFault removes the fault with that id, or all when the id is zero, and
// tells how many it removed. Orders that a fault has struck stay so.
func (b *Brokerage) RemoveFault(id int) int {
	s := b.faults
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(r *Rule) bool { return id == 0 || r.ID == id })
	return before - len(s.list)
}

// strike is the fault of the group that strikes now, if one does. The symbol is
// asked for only when a fault is about one.
func (s *faults) strike(g group, op string, symbol func() string, now time.Time) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.list {
		if r.group != g || r.over(now) || g == groupWire && !befalls(r.On, op) ||
			r.Symbol != "" && r.Symbol != symbol() {
			continue
		}
		r.Seen++
		if r.Seen <= r.Skip || r.Chance > 0 && !s.happens(r.Chance) {
			continue
		}
		r.Hits++
		return r.Fault, true
	}
	return Fault{}, false
}

// any tells cheaply whether there are faults at all.
func (s *faults) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list) > 0
}

func befalls(on []string, op string) bool {
	return slices.Contains(on, op) || slices.Contains(on, opAll) ||
		op != opPrices && op != opActions && slices.Contains(on, opTrading)
}

// happens draws with a chance in millionths. The draws follow from the seed and
// their number alone.
func (s *faults) happens(chance int64) bool {
	const million = 1_000_000
	s.draws++
	return signed(mix(mix(s.seed)+s.draws)>>1)%million < chance
}
