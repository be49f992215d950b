package store

// generations is a bounded cache of what was used most recently. Entries live in two maps. When
// the young map reaches its limit it becomes the old one, and the former old map is dropped. It
// is not safe for concurrent use.
type generations[K comparable, V any] struct {
	young, old map[K]V
	limit      int // weight of each map
	weight     int // of the young map
	weigh      func(V) int
}

// newGenerations returns a cache whose maps weigh up to half of limit each.
func newGenerations[K comparable, V any](limit int, weigh func(V) int) generations[K, V] {
	return generations[K, V]{young: make(map[K]V), old: make(map[K]V), limit: limit / 2, weigh: weigh}
}

// get returns an entry and keeps it for longer.
func (g *generations[K, V]) get(key K) (value V, found bool) {
	if value, found = g.young[key]; found {
		return value, true
	}
	if value, found = g.old[key]; found {
		g.put(key, value)
	}
	return value, found
}

// put adds or replaces an entry.
func (g *generations[K, V]) put(key K, value V) {
	g.drop(key)
	if g.weight += g.weigh(value); g.weight > g.limit {
		clear(g.old)
		g.young, g.old = g.old, g.young
		g.weight = g.weigh(value)
	}
	g.young[key] = value
}

// drop removes an entry.
func (g *generations[K, V]) drop(key K) {
	if value, found := g.young[key]; found {
		g.weight -= g.weigh(value)
		delete(g.young, key)
	}
	delete(g.old, key)
}

// clear removes every entry.
func (g *generations[K, V]) clear() {
	clear(g.young)
	clear(g.old)
	g.weight = 0
}
