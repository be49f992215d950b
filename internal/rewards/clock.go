package rewards

import (
	"errors"
	"fmt"
	"time"
)

// MaxClockSkew is how far another clock may be from ours before one of them counts as wrong.
const MaxClockSkew = 2 * time.Minute

// ErrClockRefused reports that the broker's clock and ours are too far apart, so one of them
// is wrong, or that it contradicts itself. Such a reading is used for nothing.
var ErrClockRefused = errors.New("cannot trust the broker's clock")

// Trust fails with ErrClockRefused when the broker's clock is more than MaxClockSkew before
// asked or after answered, the times of the request and of the answer by our own clock. A
// simulated clock may show any time. It also fails when the next open or close was more than MaxClockSkew ago by the
// broker's clock: such hours are old, and nobody knows whether the market is open.
func (c MarketClock) Trust(asked, answered time.Time) error {
	if c.NextChange().Before(c.Now.Add(-MaxClockSkew)) {
		next := "opens"
		if c.Open {
			next = "closes"
		}
		return fmt.Errorf("%w: at %s it says that the market next %s at %s; ask the broker",
			ErrClockRefused, clockText(c.Now), next, clockText(c.NextChange()))
	}
	tooEarly := c.Now.Before(asked.Add(-MaxClockSkew))
	tooLate := c.Now.After(answered.Add(MaxClockSkew))
	if c.Simulated || !tooEarly && !tooLate {
		return nil
	}
	return fmt.Errorf("%w: it shows %s, this machine's clock %s, more than %s apart; "+
		"check NTP on this machine, then ask the broker",
		ErrClockRefused, clockText(c.Now), clockText(answered), MaxClockSkew)
}

// Present returns the earlier of the broker's time and our time now: both clocks agree that
// it has passed, so progress may be stored up to it. For a simulated clock it is the
// broker's time.
func (c MarketClock) Present(now time.Time) time.Time {
	if c.Simulated || c.Now.Before(now) {
		return c.Now
	}
	return now
}

func clockText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
