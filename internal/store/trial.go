package store

import "time"

// trial finds out whether clients record less while others write in full. Clients who send their next request
// after an answer do: the others give way to them. Clients who send at their own rate do not, as long as the
// service keeps up with both: then fulfillment is not held back. It compares spans of time with few writes of
// others to their neighbors in full. They come in turn until it is known what clients do. From then on one of the
// other kind comes now and then; if it contradicts what is known, they come in turn again.
type trial struct {
	full bool // in this span others write in full

	began    time.Time     // the span
	requests int64         // recorded in it
	held     time.Duration // of the writes of others in it, while fulfillment was behind
	longest  time.Duration // of their last writes: a span is several times as long

	last      span // the span before, if it counts
	few, many span // the sums of neighbors until it is known: with few writes of others, and in full
	pairs     int  // of such neighbors
	known     bool // what clients do
	same      bool // they record as much while others write in full
	usual     int  // spans since the last one of the other kind
}

const (
	trialSpan     = 150 * time.Millisecond // the shortest span
	trialWrites   = 4                      // times of the longest write that a span takes at least
	trialSteady   = 32                     // spans of which one has few writes, if clients record as much in full ones
	trialWaiting  = 96                     // spans of which one is full, if clients record less in full ones
	trialPairs    = 5                      // compared at once; a single span may have a pause of the disk
	trialClear    = 2                      // pairs that suffice when clients record less than half as much
	trialRequests = 2000                   // compared at once, in the spans of both kinds together
	trialEnough   = 100                    // requests in two neighbors that say something about what clients do
	trialHeld     = 30                     // percent of a full span that others must write, for it to count
	trialSame     = 90                     // percent of the rate that count as the same
	trialDoubt    = 75                     // percent of the rate in one span with which they may be the same no more
	trialFor      = 3 * time.Second        // the longest span; after a longer one it is forgotten what clients did
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

// recorded notes requests of clients that are recorded.
func (t *trial) recorded(now time.Time, requests int) {
	t.requests += int64(requests)
	took, least := now.Sub(t.began), max(trialSpan, trialWrites*t.longest)
	switch {
	case took < min(least, trialFor/2):
		return
	case took > trialFor:
		*t = trial{}
	default:
		ended := span{full: t.full, requests: t.requests, took: took}
		if paused := took >= 2*least; paused || t.full && 100*t.held < trialHeld*took {
			ended.took = 0
		}
		t.compare(ended)
		t.next()
	}
	t.began, t.requests, t.held, t.longest = now, 0, 0, t.longest/2
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
		if t.doubts(few, many) {
			t.known, t.few, t.many, t.pairs = false, few, many, 1
		}
		return
	}
	t.few.add(few)
	t.many.add(many)
	t.pairs++
	pairs, usual, full := trialPairs, t.few.rate(), t.many.rate()
	if 2*full < usual {
		pairs = trialClear
	}
	if t.pairs < pairs || t.few.requests+t.many.requests < trialRequests {
		return
	}
	t.known, t.same = true, 100*full >= trialSame*usual
	t.few, t.many, t.pairs = span{}, span{}, 0
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
	if t.same {
		return trialSteady
	}
	return trialWaiting
}
