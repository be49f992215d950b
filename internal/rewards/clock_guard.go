package rewards

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrClockAhead says that recording now would store a time of the future.
var ErrClockAhead = errors.New("nothing is recorded")

// ClockReading is what another clock showed.
type ClockReading struct {
	Shown time.Time
	Asked time.Time // by our own clock
}

// at is what the other clock shows at a moment of our own. While both moments have
// a monotonic clock, it goes on by that one: a jump of ours does not move it.
func (r ClockReading) at(now time.Time) time.Time { return r.Shown.Add(now.Sub(r.Asked)) }

// maxReadingAge is how long a reading counts beside a newer one of another clock.
const maxReadingAge = time.Minute

// counts tells whether a reading is to be compared with: it is fresh, or there is no
// fresh one of the other clock. A machine that slept has no fresh reading at first.
func (r *ClockReading) counts(other *ClockReading, now time.Time) bool {
	return r != nil && (other == nil || r.fresh(now) || !other.fresh(now))
}

func (r *ClockReading) fresh(now time.Time) bool {
	return now.Round(0).Sub(r.Asked.Round(0)) <= maxReadingAge
}

// ClockGuard keeps times of the future out of the books: ids order everything for ever,
// so one from a wrong clock cannot be taken back. It compares our clock and the next id
// with the last reading of the broker's clock and of the database's. While there is no
// reading of either, everything is recorded. It is safe for concurrent use.
type ClockGuard struct {
	now func() time.Time
	// allowIDs accepts ids that are ahead of the clocks already.
	allowIDs         bool
	broker, database atomic.Pointer[ClockReading]
}

// NewClockGuard makes a guard. With allowFutureIDs it accepts books whose newest id is
// ahead of the clocks: an operator has decided to go on after it.
func NewClockGuard(now func() time.Time, allowFutureIDs bool) *ClockGuard {
	return &ClockGuard{now: now, allowIDs: allowFutureIDs}
}

// ReadBroker notes a reading of the broker's clock. One that its brokerage declares as
// set on purpose is compared with nothing.
func (g *ClockGuard) ReadBroker(c MarketClock, asked time.Time) {
	if c.Moved {
		g.broker.Store(nil)
		return
	}
	g.broker.Store(&ClockReading{Shown: c.Now, Asked: asked})
}

// ReadDatabase notes a reading of the database's clock.
func (g *ClockGuard) ReadDatabase(shown, asked time.Time) {
	g.database.Store(&ClockReading{Shown: shown, Asked: asked})
}

// Check fails with CodeUnavailable and ErrClockAhead when our clock, or the next id, is
// more than MaxClockSkew ahead of another clock.
func (g *ClockGuard) Check(nextID time.Time) error {
	now, database, broker := g.now(), g.database.Load(), g.broker.Load()
	if database.counts(broker, now) {
		if err := g.compare(now, nextID, "the database's clock", *database); err != nil {
			return err
		}
	}
	if broker.counts(database, now) {
		return g.compare(now, nextID, "the broker's clock", *broker)
	}
	return nil
}

func (g *ClockGuard) compare(now, nextID time.Time, name string, r ClockReading) error {
	shown := r.at(now)
	latest := shown.Add(MaxClockSkew)
	switch {
	case now.Round(0).After(latest):
		return ahead(fmt.Sprintf("this machine's clock shows %s, %s %s; check NTP on both",
			clockText(now), name, clockText(shown)))
	case !g.allowIDs && nextID.After(latest):
		return ahead(fmt.Sprintf("the newest id in the books is of %s, %s shows %s; "+
			"see \"A clock that was ahead\" in the operations guide", clockText(nextID), name, clockText(shown)))
	}
	return nil
}

func ahead(detail string) error {
	message := ErrClockAhead.Error() + ": " + detail
	return Unavailable(message, ErrClockAhead)
}
