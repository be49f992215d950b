package market

import (
	"encoding/json"
	"time"

	"stockrewards/internal/rewards"
)

// sessions are the market's hours as far as the broker's clock has shown them: the previous
// session, the current or upcoming one, and the start of the next.
type sessions struct {
	PastOpen  time.Time `json:"pastOpen"`
	PastClose time.Time `json:"pastClose"`

	Open  time.Time `json:"open"`
	Close time.Time `json:"close"`
	Next  time.Time `json:"next"`
}

// update returns the sessions after a reading of the clock. During a session the clock does
// not report its start: it is the one announced before, or else the time of this reading.
func (s sessions) update(c rewards.MarketClock) sessions {
	known := sessions{PastOpen: s.PastOpen, PastClose: s.PastClose}
	if !s.Close.IsZero() && !s.Close.After(c.Now) {
		known.PastOpen, known.PastClose = s.Open, s.Close
	}
	if !c.Open {
		if !s.Next.IsZero() && s.Next.Before(c.Now) { // nothing was read since it began, so its end is not known
			known.PastOpen, known.PastClose = s.Next, c.Now
		}
		known.Open, known.Close = c.NextOpen, c.NextClose
		return known
	}
	known.Open, known.Close, known.Next = c.Now, c.NextClose, c.NextOpen
	switch {
	case !s.Open.IsZero() && !c.Now.Before(s.Open) && c.Now.Before(s.Close):
		known.Open = s.Open
	case !s.Next.IsZero() && !c.Now.Before(s.Next):
		known.Open = s.Next
	}
	return known
}

// openBetween returns how long the market was open between two times. From the start of the
// next session on it counts as open, because its end is unknown.
func (s sessions) openBetween(from, to time.Time) time.Duration {
	if s.Open.IsZero() {
		return to.Sub(from) // unknown hours count as open
	}
	total := overlap(from, to, s.PastOpen, s.PastClose) + overlap(from, to, s.Open, s.Close)
	if !s.Next.IsZero() {
		total += overlap(from, to, s.Next, to)
	}
	return total
}

func overlap(from, to, start, end time.Time) time.Duration {
	if start.After(from) {
		from = start
	}
	if end.Before(to) {
		to = end
	}
	return max(0, to.Sub(from))
}

// same reports whether both have the same hours, up to the jitter of clocks.
func (s sessions) same(other sessions) bool {
	const jitter = 2 * time.Second
	return s.Open.Sub(other.Open).Abs() < jitter && s.Close.Sub(other.Close).Abs() < jitter &&
		s.Next.Sub(other.Next).Abs() < jitter
}

// decodeSessions reads the stored form of the hours. An empty string is the zero sessions.
func decodeSessions(text string) (sessions, error) {
	var s sessions
	if text == "" {
		return s, nil
	}
	err := json.Unmarshal([]byte(text), &s)
	return s, err
}
