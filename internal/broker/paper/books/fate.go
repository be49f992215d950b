package books

import (
	"time"

	"stockrewards/internal/broker/paper/faults"
)

// An order's fate is the fault that struck it when it was accepted. Some fates change its
// life in the books. Others change only the answers about it: see package wire.

// openEndedLife replaces the time to the close in a market that never closes.
const openEndedLife = time.Second

// firstDue returns when something first happens to the order, at the latest its expiry,
// given the time that a fill takes.
func (o *Order) firstDue(fill time.Duration) time.Time {
	wait := fill
	switch o.Fate.Kind {
	case faults.RejectLater, faults.Cancel:
		wait = o.Fate.By
	case faults.Expire:
		return o.expiry(o.routedAt)
	case faults.FillAfterCancel:
		wait = fill + o.Fate.By
	}
	return o.byExpiry(o.routedAt.Add(wait))
}

// expiry returns when a fate of expiry strikes: after the fault's delay, or at the close
// when the fault has none.
func (o *Order) expiry(since time.Time) time.Time {
	switch {
	case o.Fate.By > 0:
		return o.byExpiry(since.Add(o.Fate.By))
	case !o.ExpiresAt.IsZero():
		return o.ExpiresAt
	}
	return since.Add(openEndedLife)
}

// byExpiry returns the time, or the order's expiry when that is earlier.
func (o *Order) byExpiry(at time.Time) time.Time {
	if !o.ExpiresAt.IsZero() && o.ExpiresAt.Before(at) {
		return o.ExpiresAt
	}
	return at
}

// partial reports whether the first fill is only a part of the order.
func (o *Order) partial() bool {
	switch o.Fate.Kind {
	case faults.PartialThenFilled, faults.PartialThenCanceled, faults.PartialThenExpired, faults.ShrinkingFill:
		return o.FilledQty == 0
	}
	return false
}

// ending returns the final state of an order that falls due without a further fill, and
// false when it is filled.
func (o *Order) ending() (State, bool) {
	switch o.Fate.Kind {
	case faults.RejectLater:
		return StateRejected, true
	case faults.Cancel:
		return StateCanceled, true
	case faults.Expire:
		return StateExpired, true
	case faults.PartialThenCanceled, faults.ShrinkingFill:
		return StateCanceled, o.FilledQty > 0
	case faults.PartialThenExpired:
		return StateExpired, o.FilledQty > 0
	}
	return "", false
}

// nextDue returns when something happens after a fill, zero when that completes the order.
func (o *Order) nextDue() time.Time {
	switch {
	case !o.partial():
		return time.Time{}
	case o.Fate.Kind == faults.PartialThenExpired:
		return o.expiry(o.DueAt)
	}
	return o.byExpiry(o.DueAt.Add(o.Fate.By))
}
