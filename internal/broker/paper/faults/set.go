package faults

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"stockrewards/internal/broker/paper/random"
)

// maxRules is the largest number of faults at a time.
const maxRules = 1_000

// Set holds the active faults, in memory only. It is safe for concurrent use.
type Set struct {
	mu     sync.Mutex
	seed   uint64
	draws  uint64 // from the chances so far
	lastID int
	rules  []*Rule
}

// Rule is an active fault.
type Rule struct {
	Fault

	ID    int
	Added time.Time // by the brokerage's clock
	Seen  int       // candidates so far
	Hits  int       // strikes so far

	target target
}

// over reports whether the rule never strikes again.
func (r *Rule) over(now time.Time) bool {
	return r.Times > 0 && r.Hits >= r.Times || r.For > 0 && !now.Before(r.Added.Add(r.For))
}

// affects reports whether the rule strikes requests for an operation.
func (r *Rule) affects(op string) bool {
	return slices.Contains(r.On, op) || slices.Contains(r.On, opAll) ||
		op != OpPrices && op != OpActions && slices.Contains(r.On, opTrading)
}

// NewSet returns a set without faults. The same requests in the same order meet the same
// chances when the seed is the same.
func NewSet(seed uint64) *Set { return &Set{seed: seed} }

// Add activates all of the faults or none. Where several could strike, the one that was
// added first does. It fails when a kind is unknown and when the set would exceed a
// thousand faults.
func (s *Set) Add(now time.Time, list ...Fault) ([]Rule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rules)+len(list) > maxRules {
		return nil, fmt.Errorf("cannot have more than %d faults: remove some of the %d", maxRules, len(s.rules))
	}
	table := kinds()
	for _, f := range list {
		if _, known := table[f.Kind]; !known {
			return nil, fmt.Errorf("fault %q: unknown kind", f.Kind)
		}
	}
	added := make([]Rule, len(list))
	for i, f := range list {
		s.lastID++
		added[i] = Rule{Fault: f, ID: s.lastID, Added: now, target: table[f.Kind].target}
		rule := added[i]
		s.rules = append(s.rules, &rule)
	}
	return added, nil
}

// Rules returns the active faults in the order in which they were added.
func (s *Set) Rules() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Rule, len(s.rules))
	for i, r := range s.rules {
		list[i] = *r
	}
	return list
}

// Remove removes the fault with that id, or all when the id is 0, and returns how many
// it removed. An order that was struck keeps its fault.
func (s *Set) Remove(id int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rules)
	s.rules = slices.DeleteFunc(s.rules, func(r *Rule) bool { return id == 0 || r.ID == id })
	return before - len(s.rules)
}

// Empty reports whether there are no faults.
func (s *Set) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rules) == 0
}

// StrikeRequest returns the fault that strikes a request for an operation, and false for
// none. It asks for the symbol only when a fault is limited to one.
func (s *Set) StrikeRequest(op string, symbol func() string, now time.Time) (Fault, bool) {
	return s.strike(now, func(r *Rule) bool {
		return r.target == targetRequest && r.affects(op) && (r.Symbol == "" || r.Symbol == symbol())
	})
}

// StrikeOrder returns the fault of an order's life, without a kind for none.
func (s *Set) StrikeOrder(symbol string, now time.Time) Fault {
	return s.strikeStock(targetOrder, symbol, now)
}

// StrikeVisibility returns the fault that hides an order, without a kind for none.
func (s *Set) StrikeVisibility(symbol string, now time.Time) Fault {
	return s.strikeStock(targetVisibility, symbol, now)
}

// StrikeQuote returns the fault that strikes a price, without a kind for none.
func (s *Set) StrikeQuote(symbol string, now time.Time) Fault {
	return s.strikeStock(targetQuote, symbol, now)
}

// StrikeAction returns the faults of a corporate action, each kind once. applies reports
// whether a kind can be combined with those that struck before.
func (s *Set) StrikeAction(symbol string, now time.Time, applies func(kind string, struck []Fault) bool) []Fault {
	var struck []Fault
	for {
		f, found := s.strike(now, func(r *Rule) bool {
			return r.target == targetAction && (r.Symbol == "" || r.Symbol == symbol) && applies(r.Kind, struck)
		})
		if !found {
			return struck
		}
		struck = append(struck, f)
	}
}

func (s *Set) strikeStock(t target, symbol string, now time.Time) Fault {
	f, _ := s.strike(now, func(r *Rule) bool { return r.target == t && (r.Symbol == "" || r.Symbol == symbol) })
	return f
}

// strike returns the fault of the first rule that strikes a candidate.
func (s *Set) strike(now time.Time, candidate func(*Rule) bool) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if r.over(now) || !candidate(r) {
			continue
		}
		r.Seen++
		if r.Seen <= r.Skip || r.Chance > 0 && !s.draw(r.Chance) {
			continue
		}
		r.Hits++
		return r.Fault, true
	}
	return Fault{}, false
}

// draw reports true with a probability in millionths. The n-th draw depends on nothing
// but the seed and n.
func (s *Set) draw(chance int64) bool {
	const million = 1_000_000
	s.draws++
	return int64(random.Mix(random.Mix(s.seed)+s.draws)>>1)%million < chance
}
