package rewards

import (
	"errors"
	"fmt"
	"time"
)

// MaxClockSkew is how far a broker's clock may be from ours before it is refused.
const MaxClockSkew = 2 * time.Minute

// ErrClockRefused says that a broker's clock and ours are too far apart, so that one of
// them is wrong. Nothing is ordered, judged or stored by such a reading.
var ErrClockRefused = errors.New("cannot trust the broker's clock")

// Trust fails with ErrClockRefused when a reading of the broker's clock, requested at
// asked and received at answered by our own clock, is more than MaxClockSkew before the
// one or after the other. A clock that its brokerage declares as set on purpose (Moved)
// is trusted wherever it is.
func (c MarketClock) Trust(asked, answered time.Time) error {
	tooEarly := c.Now.Before(asked.Add(-MaxClockSkew))
	tooLate := c.Now.After(answered.Add(MaxClockSkew))
	if c.Moved || !tooEarly && !tooLate {
		return nil
	}
	return fmt.Errorf("%w: it shows %s and ours %s, more than %s apart; check NTP on this machine, then ask the broker",
		ErrClockRefused, clockText(c.Now), clockText(answered), MaxClockSkew)
}

// Present is the broker's time at the moment now of our own clock, as far as both agree
// that it has come: the earlier of the two. Nothing is stored as done up to a later
// moment. For a clock that was set on purpose it is the broker's time.
func (c MarketClock) Present(now time.Time) time.Time {
	if c.Moved || c.Now.Before(now) {
		return c.Now
	}
	return now
}

func clockText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
