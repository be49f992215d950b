package rewards

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrClockAhead reports that recording now would store a time in the future.
var ErrClockAhead = errors.New("a clock is ahead")

var errClockBehind = errors.New("a clock is behind")

// ClockReading is a reading of another clock.
type ClockReading struct {
	Shown time.Time
	Asked time.Time // by our own clock
}

// at extrapolates the other clock to our time now. It uses the monotonic clock when both
// times have one, so a jump of our wall clock does not matter.
func (r ClockReading) at(now time.Time) time.Time { return r.Shown.Add(now.Sub(r.Asked)) }

// maxReadingAge is how long a reading is fresh.
const maxReadingAge = time.Minute

// counts reports whether to compare with a reading: it is fresh, or the other clock has no
// fresh reading either, as after the machine slept.
func (r *ClockReading) counts(other *ClockReading, now time.Time) bool {
	return r != nil && (other == nil || r.fresh(now) || !other.fresh(now))
}

func (r *ClockReading) fresh(now time.Time) bool {
	return now.Round(0).Sub(r.Asked.Round(0)) <= maxReadingAge
}

// ClockGuard keeps times in the future out of the store: ids order all rows permanently, so
// an id from a wrong clock cannot be taken back. It compares our clock and the next id with
// the last readings of the broker's clock and of the database's. Without a reading it allows
// everything. It is safe for concurrent use.
type ClockGuard struct {
	now              func() time.Time
	allowFutureIDs   bool
	broker, database atomic.Pointer[ClockReading]
}

// NewClockGuard returns a guard. allowFutureIDs accepts a store whose newest id is ahead of
// the clocks: the operator has decided to continue from it.
func NewClockGuard(now func() time.Time, allowFutureIDs bool) *ClockGuard {
	return &ClockGuard{now: now, allowFutureIDs: allowFutureIDs}
}

// ReadBroker takes a reading of the broker's clock. A simulated clock is not compared.
func (g *ClockGuard) ReadBroker(c MarketClock, asked time.Time) {
	if c.Simulated {
		g.broker.Store(nil)
		return
	}
	g.broker.Store(&ClockReading{Shown: c.Now, Asked: asked})
}

// ReadDatabase takes a reading of the database's clock.
func (g *ClockGuard) ReadDatabase(shown, asked time.Time) {
	g.database.Store(&ClockReading{Shown: shown, Asked: asked})
}

// Database returns the time of the database's clock, as far as it was read; ours before.
func (g *ClockGuard) Database() time.Time {
	now := g.now()
	if r := g.database.Load(); r != nil {
		return r.at(now)
	}
	return now
}

// CheckLeader fails with CodeUnavailable when our clock is wrong: it is more than MaxClockSkew ahead of the database's,
// or behind both that and the broker's. Such a process would keep others from leading and order nothing, because it
// refuses the broker's clock. Behind the database's alone it may lead: that one may be wrong for every process.
func (g *ClockGuard) CheckLeader() error {
	now, broker := g.now(), g.broker.Load()
	off := now.Sub(g.Database())
	switch {
	case off > MaxClockSkew:
		return Unavailable("cannot lead", fmt.Errorf("%w: this machine's, by %s", ErrClockAhead, off))
	case off < -MaxClockSkew && broker != nil && broker.at(now).Sub(now) > MaxClockSkew:
		return Unavailable("cannot lead", fmt.Errorf("%w: this machine's, by %s", errClockBehind, -off))
	}
	return nil
}

// Check fails with CodeUnavailable and ErrClockAhead when our clock or the next id is more
// than MaxClockSkew ahead of another clock.
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
	case !g.allowFutureIDs && nextID.After(latest):
		return ahead(fmt.Sprintf("the newest id in the store is of %s, %s shows %s; "+
			"see \"Clock ahead\" in docs/incidents.md", clockText(nextID), name, clockText(shown)))
	}
	return nil
}

func ahead(detail string) error {
	return Unavailable("cannot record anything now", fmt.Errorf("%w: %s", ErrClockAhead, detail))
}
