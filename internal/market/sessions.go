package market

import (
	"encoding/json"
	"time"

	"stockrewards/internal/rewards"
)

// sessions is what is known of the market's hours from the broker's clock: the
// session that runs or ran last, and the one after it.
type sessions struct {
	PastOpen  time.Time `json:"pastOpen"` // the session before
	PastClose time.Time `json:"pastClose"`

	Open  time.Time `json:"open"`  // when the known session began
	Close time.Time `json:"close"` // when it ends
	Next  time.Time `json:"next"`  // when the one after it begins
}

// learn takes a reading of the clock. Of a session that is seen only while it runs
// the beginning is not told: it counts from the reading that announced it, or
// from this one.
func (s sessions) learn(c rewards.MarketClock) sessions {
	known := sessions{PastOpen: s.PastOpen, PastClose: s.PastClose}
	if !s.Close.IsZero() && !s.Close.After(c.Now) {
		known.PastOpen, known.PastClose = s.Open, s.Close
	}
	if !c.Open {
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

// openBetween is for how long the market was open from one moment to another, as
// far as is known: after the known sessions it counts as open.
func (s sessions) openBetween(from, to time.Time) time.Duration {
	if s.Open.IsZero() {
		return to.Sub(from) // nothing is known: the cautious answer
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

// near tells whether both are the same hours, but for the jitter of clocks.
func (s sessions) near(other sessions) bool {
	const jitter = 2 * time.Second
	return s.Open.Sub(other.Open).Abs() < jitter && s.Close.Sub(other.Close).Abs() < jitter &&
		s.Next.Sub(other.Next).Abs() < jitter
}

// encode is the hours as they are stored.
func (s sessions) encode() (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

func decodeSessions(text string) (sessions, error) {
	var s sessions
	if text == "" {
		return s, nil
	}
	err := json.Unmarshal([]byte(text), &s)
	return s, err
}
