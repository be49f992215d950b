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
// 200 members that took a time for each. steady: the clients are known not to wait.
func MemberLimit(requests, bookings int, each time.Duration, steady bool) int {
	const members = 200
	p := newPacer(nil)
	for range 4 * recentWrites {
		p.recorded(requests)
	}
	for range bookings {
		p.booked(members, members*each)
	}
	p.trial.known, p.trial.same, p.trial.full = steady, steady, steady
	return p.memberLimit()
}

// FullShare is the share of a minute in which a trial lets others write in full, beside clients who send at their own
// rate. In full spans the disk pauses every so often for a time, and then the clients catch up.
func FullShare(every, pause time.Duration) float64 {
	const step, others, rate, most = time.Millisecond, 5, 10, 12
	var t trial
	var waiting int
	var full time.Duration
	now, end := time.Unix(0, 0), time.Unix(60, 0)
	for next := now; now.Before(end); now = now.Add(step) {
		waiting += rate
		if t.full {
			full += step
			t.othersWrote(now, step*others/10, true)
			if now.Sub(next) >= every+pause {
				next = now
			}
		}
		if now.Sub(next) < pause {
			continue
		}
		n := min(waiting, most)
		waiting -= n
		t.recorded(now, n)
	}
	return full.Seconds() / end.Sub(time.Unix(0, 0)).Seconds()
}
