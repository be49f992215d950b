package rewards

import "time"

// Ambiguous reports whether an attempt with an unknown outcome may have reached the broker,
// so that the order may have been bought. It stays ambiguous until the broker shows it or
// its session closes. A sent order that is not ambiguous bought nothing so far: every
// attempt was refused, and a refusal of the next one proves that too.
func (o Order) Ambiguous() bool { return !o.Deadline.IsZero() }

// MayHaveBought reports whether a live order may have bought something: it was sent, and not every attempt was refused.
func (o Order) MayHaveBought() bool {
	return o.State != OrderPlanned && (o.State != OrderSubmitted || o.Ambiguous())
}

// lost reports whether the order is ambiguous and its session has closed at the broker's
// time now, so that an order which the broker does not show can no longer fill.
func (o Order) lost(now time.Time) bool { return o.Ambiguous() && now.After(o.Deadline) }

// ambiguousUntil returns the order with an unknown outcome in a session that closes at
// deadline. An earlier deadline stays.
func (o Order) ambiguousUntil(deadline time.Time) Order {
	if !o.Ambiguous() {
		o.Deadline = deadline
	}
	return o
}

// Unambiguous returns the order once the outcome of every attempt is known.
func (o Order) Unambiguous() Order {
	o.Deadline = time.Time{}
	return o
}

// Attempt returns the order right before it is sent at the time now, in a session that
// closes at deadline: it is ambiguous until an answer arrives. next is the earliest time of
// another look-up or send.
func (o Order) Attempt(now, next, deadline time.Time) Order {
	o.State = OrderSubmitted
	o.Attempts++
	o.NextAttemptAt = next
	if o.FirstAttemptAt.IsZero() {
		o.FirstAttemptAt = now
		if created := o.CreatedAt(); now.Before(created) { // the clock was ahead when it was planned
			o.FirstAttemptAt = created
		}
	}
	return o.ambiguousUntil(deadline)
}

// maxRefusedSessions is the number of sessions with a lasting refusal after which an operator
// must decide about the order.
const maxRefusedSessions = 3

// refusedFor counts a lasting refusal in the session that closes at sessionClose, once per
// session.
func (o Order) refusedFor(sessionClose time.Time) Order {
	if !sessionClose.Equal(o.RefusedUntil) {
		o.RefusedSessions++
		o.RefusedUntil = sessionClose
	}
	return o
}

// refusedTooOften reports whether the broker has refused the order in maxRefusedSessions
// sessions that have closed at the broker's time now.
func (o Order) refusedTooOften(now time.Time) bool {
	return o.State == OrderSubmitted && !o.Ambiguous() &&
		o.RefusedSessions >= maxRefusedSessions && now.After(o.RefusedUntil)
}
