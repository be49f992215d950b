package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// A lot takes 12 bytes: the last 48 bits of its user's id, and its place.
const (
	lotBytes        = 12
	lotUserBits     = 48
	lotsOfBlock     = 64
	blocksOfSegment = 1 << 20
	placesOfOrder   = 1024
)

// storedLot is a lot as it is stored: in past_lots, in order_lots, or in the blocks of a segment.
type storedLot struct{ user, place, in, hash, at int64 }

// The values of storedLot.in that are no segment.
const (
	inPast   = -2 // with its hash and time
	inOrders = -1 // with its time
)

func (l *storedLot) columns() []any { return []any{&l.user, &l.place, &l.in, &l.hash, &l.at} }

// lotStore compares the stored lots with what the awards bought.
type lotStore struct {
	a        *auditor
	stored   *reader.Sorter
	segments []*lotSegment
	unmoved  int64 // from this order on, an earlier version's lots may be in past_lots only; 0: all are moved
}

// lotSegment is a row of lot_segments, and what its blocks have.
type lotSegment struct {
	number, last, lots, earliest, latest int64

	blocks, found int64 // blocks and lots
	newest        string
	first, final  int64 // when the first and the last of its orders were settled
}

// orderLots is a row of order_lots with the id of its order.
type orderLots struct {
	number, order, at, lots, mark int64
	entries, id                   string
}

// lotBlock is a row of lot_blocks.
type lotBlock struct {
	place, segment, user int64
	entries              string
}

func (a *auditor) activityLots() error {
	s := &lotStore{a: a, stored: a.r.NewSorter()}
	for _, part := range []func() error{
		s.readProgress, s.readSegments, s.readBlocks, s.readOrders, s.readPast, s.compare,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	s.checkTimes()
	return nil
}

func (s *lotStore) fail(source, is, want string) {
	s.a.t.row(checkLots)
	s.a.t.fail(checkLots, source, is, want)
}

func (s *lotStore) readProgress() error {
	return reader.Each(s.a.r, reader.Stream[string]{
		What: "settings", Query: `SELECT value FROM settings WHERE name = 'next_past_lots'`,
		Bind: func(v *string) []any { return []any{v} },
	}, func(v *string) {
		next, err := strconv.ParseInt(*v, 10, 64)
		if err != nil || next < 1 {
			s.fail("the setting next_past_lots", *v, "the number of an order")
		}
		s.unmoved = next
	})
}

func (s *lotStore) readSegments() error {
	before := &lotSegment{}
	return reader.Each(s.a.r, reader.Stream[lotSegment]{
		What:  "segments of lots",
		Query: `SELECT number, last, lots, earliest, latest FROM lot_segments ORDER BY number`,
		Bind:  func(g *lotSegment) []any { return []any{&g.number, &g.last, &g.lots, &g.earliest, &g.latest} },
	}, func(g *lotSegment) {
		if g.number != int64(len(s.segments)) || g.last <= before.last {
			s.fail(g.name(), "the number "+value.Int(g.number)+", until the booking "+value.Int(g.last),
				"the number "+value.Int(int64(len(s.segments)))+", and bookings after "+value.Int(before.last))
		}
		row := *g
		s.segments, before = append(s.segments, &row), &row
	})
}

func (g *lotSegment) name() string { return "segment of lots " + value.Int(g.number) }

func (s *lotStore) segment(number int64) *lotSegment {
	if number < 0 || number >= int64(len(s.segments)) {
		return nil
	}
	return s.segments[number]
}

func (s *lotStore) readBlocks() error {
	err := readEach(s.a.r, reader.Stream[lotBlock]{
		What: "blocks of lots", Query: `SELECT place, segment, first_user, entries FROM lot_blocks ORDER BY place`,
		Bind: func(b *lotBlock) []any { return []any{&b.place, &b.segment, &b.user, &b.entries} },
	}, s.addBlock)
	for _, g := range s.segments {
		if g.found != g.lots {
			s.fail(g.name(), value.Int(g.found)+" lots in its blocks", value.Int(g.lots))
		}
	}
	return err
}

// readEach reads all rows of a stream, until f fails.
func readEach[R any](r *reader.Reader, s reader.Stream[R], f func(*R) error) error {
	c, err := reader.Open(r, s)
	if err != nil {
		return err
	}
	return c.Each(f)
}

func (s *lotStore) addBlock(b *lotBlock) error {
	name := "block of lots " + value.Int(b.place)
	if b.segment == int64(len(s.segments)) && b.place/blocksOfSegment == b.segment {
		return nil // it is being sealed: order_lots still has its lots
	}
	g := s.segment(b.segment)
	if g == nil || b.place != b.segment*blocksOfSegment+g.blocks {
		s.fail(name, "a block of the segment "+value.Int(b.segment), "a block of a segment, after the one before")
		return nil
	}
	g.blocks++
	switch {
	case b.entries == "" || len(b.entries)%lotBytes != 0 || len(b.entries) > lotsOfBlock*lotBytes:
		s.fail(name, value.Int(int64(len(b.entries)))+" bytes", "12 for each lot, of at most 64")
		return nil
	case lotUser(b.entries) != b.user:
		s.fail(name, "the first user "+value.Int(b.user), value.Int(lotUser(b.entries)))
	}
	before := g.newest
	for at := 0; at < len(b.entries); at += lotBytes {
		entry := b.entries[at : at+lotBytes]
		if entry <= g.newest {
			s.fail(name, "lots in another order", "the order of users and places")
			g.newest = before
			return nil
		}
		g.newest, g.found = entry, g.found+1
		if err := s.add(storedLot{user: lotUser(entry), place: lotPlace(entry), in: b.segment}); err != nil {
			return err
		}
	}
	return nil
}

func (s *lotStore) add(l storedLot) error { return s.stored.Add(l.columns()) }

// lotUser and lotPlace are the parts of an entry.
func lotUser(entry string) int64 {
	return int64(binary.BigEndian.Uint64([]byte(entry[:8])) >> 16)
}

func lotPlace(entry string) int64 {
	return int64(binary.BigEndian.Uint64([]byte(entry[lotBytes-8:lotBytes])) & (1<<48 - 1))
}

func (s *lotStore) readOrders() error {
	last := int64(0)
	if n := len(s.segments); n > 0 {
		last = s.segments[n-1].last
	}
	err := readEach(s.a.r, reader.Stream[orderLots]{
		What: "lots of orders",
		Query: `SELECT l.number, l.order_number, l.at, l.lots, l.mark, l.entries, o.id FROM order_lots l
			JOIN orders o ON o.number > 0 AND o.number = l.order_number ORDER BY l.number`,
		Bind: func(o *orderLots) []any {
			return []any{&o.number, &o.order, &o.at, &o.lots, &o.mark, &o.entries, &o.id}
		},
	}, func(o *orderLots) error {
		if o.number != last+1 {
			s.fail(o.name(), "the number "+value.Int(o.number), value.Int(last+1))
		}
		last = o.number
		return s.addOrder(o)
	})
	if err != nil {
		return err
	}
	return reader.Each(s.a.r, reader.Stream[int64]{
		What: "lots of orders", Query: `SELECT coalesce(max(number), 0) FROM order_lots`,
		Bind: func(newest *int64) []any { return []any{newest} },
	}, func(newest *int64) {
		if *newest > last {
			s.fail("lots of the booking "+value.Int(*newest), "no order", "an order of its number")
		}
	})
}

func (o *orderLots) name() string { return "lots of order " + value.Int(o.order) }

func (s *lotStore) addOrder(o *orderLots) error {
	if int64(len(o.entries)) != o.lots*lotBytes {
		s.fail(o.name(), value.Int(int64(len(o.entries)))+" bytes", "12 for each of "+value.Int(o.lots))
		return nil
	}
	at := string(binary.BigEndian.AppendUint64(nil, uint64(o.at)))
	sum := sha256.Sum256([]byte(o.id + at + o.entries))
	if mark := int64(binary.BigEndian.Uint64(sum[:])); mark != o.mark {
		s.fail(o.name(), "the mark "+value.Int(o.mark), value.Int(mark)+", by the order, its time and its lots")
	}
	before := ""
	for at := 0; at < len(o.entries); at += lotBytes {
		entry := o.entries[at : at+lotBytes]
		if entry <= before || lotPlace(entry)/placesOfOrder != o.order {
			s.fail(o.name(), "a lot of place "+value.Int(lotPlace(entry)), "its members, in the order of their users")
		}
		before = entry
		err := s.add(storedLot{user: lotUser(entry), place: lotPlace(entry), in: inOrders, at: o.at})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *lotStore) readPast() error {
	return readEach(s.a.r, reader.Stream[storedLot]{
		What: "lots of an earlier version", Query: `SELECT user_hash, at, place FROM past_lots ORDER BY user_hash`,
		Bind: func(l *storedLot) []any { return []any{&l.hash, &l.at, &l.place} },
	}, func(l *storedLot) error {
		l.user, l.in = l.hash&(1<<lotUserBits-1), inPast
		return s.add(*l)
	})
}

// compare compares the stored lots with those that must be.
func (s *lotStore) compare() error {
	want, err := reader.OpenSorted(s.a.r, reader.Stream[activityLot]{
		What: "expected lots", Bind: (*activityLot).columns, Key: (*activityLot).key,
	}, s.a.activity)
	if err != nil {
		return err
	}
	stored, err := reader.OpenSorted(s.a.r, reader.Stream[storedLot]{
		What: "lots", Bind: (*storedLot).columns,
		Key: func(l *storedLot) reader.Key { return reader.Key{ordered(l.user), ordered(l.place)} },
	}, s.stored)
	if err != nil {
		return err
	}
	stray := func(l *storedLot) {
		s.fail(lotName(l.user, l.place), "a lot", "no lot: no part that changed a holding has this place and user")
	}
	err = want.Each(func(w *activityLot) error {
		var found []storedLot
		err := stored.Claim(w.key(), func(l *storedLot) { found = append(found, *l) }, stray)
		s.a.t.row(checkLots)
		s.check(w, found)
		return err
	})
	if err != nil {
		return err
	}
	return stored.Rest(stray)
}

// check checks what is stored of a lot. While those of an earlier version are moved, it may be there and in past_lots.
func (s *lotStore) check(w *activityLot, found []storedLot) {
	moved, past := 0, 0
	for _, l := range found {
		if l.in == inPast {
			past++
		} else {
			moved++
		}
		if g := s.segment(l.in); g != nil {
			g.see(w.at)
		} else if l.at != w.at {
			s.a.t.fail(checkLots, lotName(w.user, w.place), "at "+value.Time(l.at), value.Time(w.at)+", as its order")
		}
		if l.in == inPast && l.hash != w.hash {
			s.a.t.fail(checkLots, lotName(w.user, w.place), "the hash "+value.Int(l.hash), value.Int(w.hash))
		}
	}
	waits := past == 1 && s.unmoved > 0 && w.place/placesOfOrder >= s.unmoved
	if moved > 1 || past > 1 || moved == 0 && !waits {
		s.a.t.fail(checkLots, lotName(w.user, w.place),
			value.Int(int64(moved))+" lots, and "+value.Int(int64(past))+" of an earlier version", "one")
	}
}

// see notes when an order of the segment was settled.
func (g *lotSegment) see(at int64) {
	if g.first == 0 || at < g.first {
		g.first = at
	}
	g.final = max(g.final, at)
}

// checkTimes checks the times of segments, by which readers pass over them.
func (s *lotStore) checkTimes() {
	latest := int64(0)
	for _, g := range s.segments {
		latest = max(latest, g.final)
		s.a.t.row(checkLots)
		if g.earliest != g.first || g.latest != latest {
			s.a.t.fail(checkLots, g.name(), "orders from "+value.Time(g.earliest)+" until "+value.Time(g.latest),
				"from "+value.Time(g.first)+" until "+value.Time(latest))
		}
	}
}
