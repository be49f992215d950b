package store

import "time"

// Generations is the bounded cache, whose entries weigh as much as their values.
type Generations struct{ g generations[int, int] }

// NewGenerations returns a cache of that weight.
func NewGenerations(limit int) *Generations {
	return &Generations{newGenerations[int](limit, func(weight int) int { return weight })}
}

// Get returns an entry.
func (c *Generations) Get(key int) (int, bool) { return c.g.get(key) }

// Put adds or replaces an entry.
func (c *Generations) Put(key, value int) { c.g.put(key, value) }

// Drop removes an entry.
func (c *Generations) Drop(key int) { c.g.drop(key) }

// Weight sums the weights of all entries.
func (c *Generations) Weight() (sum int) {
	for _, entries := range []map[int]int{c.g.young, c.g.old} {
		for _, weight := range entries {
			sum += weight
		}
	}
	return sum
}

// Planned notes an order with that many members.
func (s *Store) Planned(members int) { s.engine.pacer.planned(members) }

// MemberLimit is the limit of orders after writes for clients of that many requests, and then after some bookings of
// 200 members that took a time for each.
func MemberLimit(requests, bookings int, each time.Duration) int {
	const members = 200
	p := newPacer(nil)
	for range 4 * recentWrites {
		p.recorded(requests)
	}
	for range bookings {
		p.booked(members, members*each)
	}
	return p.memberLimit()
}
