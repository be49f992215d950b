package rewards

import (
	"time"
)

// Ambiguous reports whether an attempt to send the order may have reached the broker with
// an outcome that is not known. The order may then have been bought: only a broker that
// shows it, or the close of its session, ends that. While it is false nothing was ever
// bought under the order, and a refusal of its next attempt proves so.
func (o Order) Ambiguous() bool { return !o.Deadline.IsZero() }

// Lost reports whether an ambiguous order that the broker does not show at the moment now
// of the broker's time will never be filled any more: its session has closed.
func (o Order) Lost(now time.Time) bool { return o.Ambiguous() && now.After(o.Deadline) }

// AmbiguousUntil is the order once an outcome is not known, in a session that closes at
// the deadline. An earlier deadline stays.
func (o Order) AmbiguousUntil(deadline time.Time) Order {
	if !o.Ambiguous() {
		o.Deadline = deadline
	}
	return o
}

// Unambiguous is the order once the outcome of every attempt is known.
func (o Order) Unambiguous() Order {
	o.Deadline = time.Time{}
	return o
}

// Attempt is the order right before it is sent at the moment now, in a session that closes
// at the deadline: ambiguous until an answer comes. It is not looked up or sent again
// before next.
func (o Order) Attempt(now, next, deadline time.Time) Order {
	o.State = OrderSubmitted
	o.Attempts++
	o.NextAttemptAt = next
	if o.FirstAttemptAt.IsZero() {
		o.FirstAttemptAt = now
		if created := o.CreatedAt(); now.Before(created) { // planned by a clock that was ahead
			o.FirstAttemptAt = created
		}
	}
	return o.AmbiguousUntil(deadline)
}

// RefusedSessions is how many of the market's sessions may end with the order refused for
// a reason that nobody mends, before an operator must decide about it.
const RefusedSessions = 3

// RefusedFor notes that an attempt was refused, in a session that closes at the moment
// given, for a reason that can pass. Nothing was bought if nothing was ambiguous before.
func (o Order) RefusedFor(sessionClose time.Time) Order {
	if !sessionClose.Equal(o.RefusedUntil) {
		o.RefusedSessions++
		o.RefusedUntil = sessionClose
	}
	return o
}

// Hopeless reports whether the broker has refused the order in so many sessions, all of
// them over at the moment now of the broker's time, that waiting longer is pointless.
func (o Order) RefusedTooOften(now time.Time) bool {
	return o.State == OrderSubmitted && !o.Ambiguous() &&
		o.RefusedSessions >= RefusedSessions && now.After(o.RefusedUntil)
}
