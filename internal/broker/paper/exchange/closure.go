package exchange

import "time"

// Closure is a time for which the market closes in the middle of a session: from From until
// before Until, at the latest the open of the next session.
type Closure struct{ From, Until time.Time }

// contains reports whether the market is closed at a time.
func (c Closure) contains(at time.Time) bool { return !at.Before(c.From) && at.Before(c.Until) }

// ClosedUntil returns when a closure that contains a time ends, the zero time for none.
func (x *Exchange) ClosedUntil(at time.Time) time.Time {
	for _, c := range x.market.Load().closures {
		if c.contains(at) {
			return c.Until
		}
	}
	return time.Time{}
}

// SessionAt returns the session that contains t, or the next one when the market is closed.
// A closure divides a session in two.
func (x *Exchange) SessionAt(t time.Time) Session {
	s := x.Timetable.SessionAt(t)
	for _, c := range x.market.Load().closures {
		switch {
		case c.contains(t):
			s = x.Timetable.SessionAt(c.Until)
			s.Open = latest(s.Open, c.Until)
		case t.Before(c.From) && s.Contains(c.From):
			s.Close = c.From
		case !t.Before(c.Until) && s.Contains(c.Until):
			s.Open = latest(s.Open, c.Until)
		}
	}
	return s
}

// sessionBefore returns the last session that closed at t or earlier, also by a closure.
func (x *Exchange) sessionBefore(t time.Time) Session {
	s := x.Timetable.sessionBefore(t)
	for _, c := range x.market.Load().closures {
		if c.From.After(t) {
			break
		}
		whole := x.Timetable.SessionAt(c.From)
		switch {
		case whole.Close.After(t):
			s = Session{whole.Open, c.From}
		case s.Open.Equal(whole.Open) && !c.Until.Before(whole.Close):
			s.Close = c.From
		}
	}
	return s
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
