package store

import "time"

// trial finds out whether clients record less while others write in full. Clients who send their next request
// after an answer do: the others give way to them. Clients who send at their own rate do not, as long as the
// service keeps up with both: then fulfillment is not held back. It compares spans of time with few writes of
// others to spans in full. They come in turn until it is known what clients do, and from then on now and then.
type trial struct {
	full bool // in this span others write in full

	began    time.Time     // the span
	requests int           // recorded in it
	held     time.Duration // of the writes of others in it

	few, many spans // with few writes of others and in full, since the last comparison
	known     bool  // there was a comparison
	same      bool  // by the last one clients record as much while others write in full
	usual     int   // spans since the last one of the kind that is only tried
}

const (
	trialSpan     = 150 * time.Millisecond
	trialEvery    = 32              // spans of which one is tried, once it is known what clients do
	trialCompared = 3               // spans of each kind; a single one may have a pause of the disk
	trialHeld     = 20              // percent of a full span that others must write, for it to count
	trialSame     = 90              // percent of the rate that count as the same
	trialFor      = 3 * time.Second // without requests it is forgotten what clients did
)

// spans are some spans together.
type spans struct {
	number   int
	requests int
	took     time.Duration
}

// add adds a span. After many of them older ones count less.
func (s *spans) add(requests int, took time.Duration) {
	const many = 4 * trialEvery
	if s.number >= many {
		s.number, s.requests, s.took = s.number/2, s.requests/2, s.took/2
	}
	s.number++
	s.requests += requests
	s.took += took
}

// rate returns the requests in a thousand seconds.
func (s *spans) rate() int64 { return int64(s.requests) * 1000 * int64(time.Second) / int64(s.took) }

// recorded notes requests of clients that are recorded.
func (t *trial) recorded(now time.Time, requests int) {
	t.requests += requests
	took := now.Sub(t.began)
	switch {
	case took < trialSpan:
		return
	case took > trialFor:
		*t = trial{}
	case took < 2*trialSpan: // a longer one had a pause
		t.end(took)
	}
	t.began, t.requests, t.held = now, 0, 0
}

// end counts the span that ends, and chooses the kind of the next one.
func (t *trial) end(took time.Duration) {
	switch {
	case !t.full:
		t.few.add(t.requests, took)
	case 100*t.held >= trialHeld*took:
		t.many.add(t.requests, took)
	}
	if t.few.number >= trialCompared && t.many.number >= trialCompared {
		t.known, t.same = true, 100*t.many.rate() >= trialSame*t.few.rate()
		t.few, t.many = spans{}, spans{}
	}
	t.usual++
	switch {
	case !t.known:
		t.full = !t.full
	case t.usual >= trialEvery:
		t.full, t.usual = !t.same, 0
	default:
		t.full = t.same
	}
}
