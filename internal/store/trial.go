package store

import "time"

// trial finds out whether clients record less while others write in full. Clients who send their next request
// after an answer do: the others give way to them. Clients who send at their own rate do not, as long as the
// service keeps up with both: then fulfillment is not held back. It compares spans of time with few writes of
// others to their neighbors in full. They come in turn until it is known what clients do. From then on one of the
// other kind comes now and then; if it contradicts what is known, they come in turn again. That may be a pause of the
// disk, after which clients who send at their own rate catch up: so most pairs of neighbors decide, not their sums.
type trial struct {
	full bool // in this span others write in full

	began    time.Time     // the span, or the part of it that counts
	settled  bool          // the span has come to that part
	requests int64         // recorded in it
	held     time.Duration // of the writes of others in it, while fulfillment was behind
	longest  time.Duration // of their last writes: a span is several times as long

	last      span // the span before, if it counts
	few, many span // the sums of neighbors until it is known: with few writes of others, and in full
	pairs     int  // of such neighbors
	alike     int  // of these, the ones in which clients recorded as much
	known     bool // what clients do
	same      bool // they record as much while others write in full
	lost      int  // pairs that must still confirm that they no longer do
	usual     int  // spans since the last one of the other kind
}

const (
	trialSpan      = 120 * time.Millisecond // the shortest span that is counted
	trialSettling  = 60 * time.Millisecond  // before it, because clients may be late from the span before
	trialWrites    = 4                      // times of the longest write that a span takes at least
	trialSteady    = 32                     // spans of which one has few writes, if clients record as much in full ones
	trialWaiting   = 96                     // spans of which one is full, if clients record less in full ones
	trialLost      = 8                      // the same after they recorded as much, until it is confirmed
	trialConfirmed = 8                      // pairs of spans that confirm it, two for each full one
	trialAgreed    = 4                      // pairs that agree decide, so at most seven: a pause changes up to three
	trialClear     = 3                      // pairs that suffice when clients record less than half as much
	trialRequests  = 2000                   // compared at once, in the spans of both kinds together
	trialEnough    = 100                    // requests in two neighbors that say something about what clients do
	trialHeld      = 20                     // percent of a full span that others must write, for it to count
	trialSame      = 90                     // percent of the rate that count as the same
	trialDoubt     = 75                     // percent of the rate in one span with which they may be the same no more
	trialFor       = 3 * time.Second        // the longest span; after a longer one it is forgotten what clients did
)

// span is a span of time, or the sum of several.
type span struct {
	full     bool
	requests int64
	took     time.Duration // 0: the span does not count
}

func (s *span) add(other span) {
	s.requests += other.requests
	s.took += other.took
}

// rate returns the requests in a million seconds.
func (s *span) rate() int64 { return s.requests * int64(time.Second) / s.took.Milliseconds() }

// steady reports whether clients are known to record as much while others write in full, as they do now.
func (t *trial) steady() bool { return t.known && t.same && t.full }

// recorded notes requests of clients that are recorded.
func (t *trial) recorded(now time.Time, requests int) {
	t.requests += int64(requests)
	took, least := now.Sub(t.began), max(trialSpan, trialWrites*t.longest)
	switch {
	case took > trialFor:
		*t = trial{}
	case !t.settled && took < max(trialSettling, t.longest):
		return
	case !t.settled:
		t.settled = true
	case took < min(least, trialFor/2):
		return
	default:
		ended := span{full: t.full, requests: t.requests, took: took}
		if paused := took >= 2*least; paused || t.full && 100*t.held < trialHeld*took {
			ended.took = 0
		}
		t.compare(ended)
		t.next()
	}
	t.began, t.requests, t.held = now, 0, 0
}

// othersWrote notes a write of others that has just ended.
func (t *trial) othersWrote(now time.Time, held time.Duration, behind bool) {
	t.longest = max(t.longest, held)
	if behind {
		t.held += min(held, now.Sub(t.began)) // the rest was in the span before
	}
}

// compare compares a span to the one before, if both count and differ in kind.
func (t *trial) compare(s span) {
	before := t.last
	t.last = s
	if s.took == 0 || before.took == 0 || s.full == before.full {
		return
	}
	few, many := s, before
	if s.full {
		few, many = before, s
	}
	if t.known {
		t.known, t.lost = !t.doubts(few, many), max(0, t.lost-1)
		return
	}
	t.few.add(few)
	t.many.add(many)
	t.pairs++
	if 100*many.rate() >= trialSame*few.rate() {
		t.alike++
	}
	agreed := max(t.alike, t.pairs-t.alike) >= trialAgreed
	obvious := t.pairs >= trialClear && 2*t.many.rate() < t.few.rate()
	if !agreed && !obvious || t.few.requests+t.many.requests < trialRequests {
		return
	}
	if t.same {
		t.lost = trialConfirmed
	}
	t.known, t.same = true, 2*t.alike > t.pairs
	t.few, t.many, t.pairs, t.alike = span{}, span{}, 0, 0
}

// doubts reports whether two neighbors contradict what is known, so that it is found out again.
func (t *trial) doubts(few, many span) bool {
	if few.requests+many.requests < trialEnough {
		return false
	}
	if t.same {
		return 100*many.rate() < trialDoubt*few.rate()
	}
	return 100*many.rate() >= trialSame*few.rate()
}

// next chooses the kind of the next span.
func (t *trial) next() {
	t.settled, t.longest = false, t.longest/2
	t.usual++
	switch {
	case !t.known:
		t.full = !t.full
	case t.usual >= t.every():
		t.full, t.usual = !t.same, 0
	default:
		t.full = t.same
	}
}

// every is the number of spans of which one is of the other kind.
func (t *trial) every() int {
	switch {
	case t.same:
		return trialSteady
	case t.lost > 0:
		return trialLost
	default:
		return trialWaiting
	}
}
