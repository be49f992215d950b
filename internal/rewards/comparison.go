package rewards

import "time"

// How far the comparison of the broker's orders with our books reaches back.
const (
	compareBack    = 36 * time.Hour // an order may become visible, or fill, on the next day
	compareFarBack = 5 * 24 * time.Hour
)

// CompareSince is the moment of the broker's time since which the broker's orders are
// compared with our books, when all were compared up to until (zero: never) and the
// broker's time is present. far asks for five days, so that a correction over a long
// weekend is seen. It is the zero time, which means all orders, when until is in the
// future: a wrong clock stored it, so nobody knows what was compared.
func CompareSince(until, present time.Time, far bool) time.Time {
	switch {
	case until.IsZero(): // the installation is new: so is its prefix
		until = present
	case until.After(present.Add(MaxClockSkew)):
		return time.Time{}
	}
	since := until.Add(-compareBack)
	if early := present.Add(-compareFarBack); far && early.Before(since) {
		return early
	}
	return since
}
