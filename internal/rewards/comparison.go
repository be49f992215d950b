package rewards

import "time"

// How far back the broker's orders are compared with the store.
const (
	compareBack    = 36 * time.Hour // an order may become visible, or fill, a day later
	compareFarBack = 5 * 24 * time.Hour
)

// CompareSince returns the broker's time from which its orders are compared with the store.
// until is the time up to which all orders were compared before (zero: never), present the
// broker's time now. far asks for at least five days, to see a correction over a long
// weekend. If until is in the future, a wrong clock stored it: CompareSince returns the zero
// time, which means all orders.
func CompareSince(until, present time.Time, far bool) time.Time {
	switch {
	case until.IsZero(): // the installation, and so its prefix, is new
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
