package rewards_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// Nothing is recorded while our clock or the next id is more than two minutes ahead of
// another clock.
func TestNothingIsRecordedAheadOfTheClocks(t *testing.T) {
	t.Parallel()
	truth := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		ours, broker, database time.Duration // ahead of the truth; 1: not read
		id                     time.Duration
		simulated, allow       bool
		refused                bool
	}{
		"all agree":                       {},
		"nothing was read":                {ours: time.Hour, broker: 1, database: 1, id: time.Hour},
		"ahead of both":                   {ours: time.Hour, id: time.Hour, refused: true},
		"ahead of the broker alone":       {database: 1, ours: time.Hour, id: time.Hour, refused: true},
		"ahead of the database alone":     {broker: 1, ours: time.Hour, id: time.Hour, refused: true},
		"the database is behind":          {database: -time.Hour, refused: true},
		"the broker is behind":            {broker: -time.Hour, refused: true},
		"ahead by little":                 {ours: 2 * time.Minute, id: 2 * time.Minute},
		"ahead by a little more":          {ours: 2*time.Minute + time.Second, id: 2 * time.Minute, refused: true},
		"behind":                          {ours: -time.Hour, id: -time.Hour},
		"both others ahead":               {broker: time.Hour, database: time.Hour},
		"an id of the future":             {id: time.Hour, refused: true},
		"an id of the future, accepted":   {id: time.Hour, allow: true},
		"an id of the near future":        {id: 2 * time.Minute},
		"our clock is not accepted":       {ours: time.Hour, id: time.Hour, allow: true, refused: true},
		"a simulated broker's clock":      {broker: -time.Hour, database: 1, simulated: true},
		"the same, ahead of the database": {broker: -time.Hour, ours: time.Hour, id: time.Hour, simulated: true, refused: true},
	} {
		ours := truth.Add(c.ours)
		g := rewards.NewClockGuard(func() time.Time { return ours }, c.allow)
		if c.broker != 1 {
			g.ReadBroker(rewards.MarketClock{Now: truth.Add(c.broker), Simulated: c.simulated}, ours)
		}
		if c.database != 1 {
			g.ReadDatabase(truth.Add(c.database), ours)
		}
		err := g.Check(truth.Add(c.id))
		refused := errors.Is(err, rewards.ErrClockAhead) && rewards.CodeOf(err) == rewards.CodeUnavailable
		if refused != c.refused || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A process whose clock is wrong leads nothing. Where the broker's clock does not contradict it, the database's may be the
// wrong one, and then somebody must lead.
func TestWhoMayLead(t *testing.T) {
	t.Parallel()
	truth := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		ours, broker, database time.Duration // ahead of the truth; 1: not read
		refused                bool
	}{
		"all agree":                    {},
		"nothing was read":             {ours: time.Hour, broker: 1, database: 1},
		"ahead of the database":        {ours: time.Hour, broker: 1, refused: true},
		"ahead by little":              {ours: 2 * time.Minute},
		"behind both":                  {ours: -time.Hour, refused: true},
		"behind both by little":        {ours: -2 * time.Minute},
		"behind the database, alone":   {ours: -time.Hour, broker: 1},
		"the database is ahead":        {database: time.Hour},
		"the broker alone is ahead":    {broker: time.Hour},
		"the broker is further behind": {ours: -time.Hour, broker: -2 * time.Hour},
	} {
		ours := truth.Add(c.ours)
		g := rewards.NewClockGuard(func() time.Time { return ours }, false)
		if c.broker != 1 {
			g.ReadBroker(rewards.MarketClock{Now: truth.Add(c.broker)}, ours)
		}
		if c.database != 1 {
			g.ReadDatabase(truth.Add(c.database), ours)
		}
		if err := g.CheckLeader(); (rewards.CodeOf(err) == rewards.CodeUnavailable) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// After a jump of our clock nothing is recorded until another clock confirms it, as after a
// machine slept. Elapsed time is not a jump.
func TestAJumpThatTheOtherClockConfirms(t *testing.T) {
	t.Parallel()
	began := time.Now() // with a monotonic clock
	now := began
	g := rewards.NewClockGuard(func() time.Time { return now }, false)
	g.ReadBroker(rewards.MarketClock{Now: began}, began)
	if now = began.Add(time.Hour); g.Check(now) != nil {
		t.Error("an elapsed hour was refused")
	}
	const slept = 3 * time.Hour
	now = began.Round(0).Add(slept)
	g.ReadBroker(rewards.MarketClock{Now: began}, now)
	if g.Check(now) == nil {
		t.Error("a jump that the broker's clock does not confirm was accepted")
	}
	g.ReadBroker(rewards.MarketClock{Now: began.Add(slept)}, now)
	if err := g.Check(now); err != nil {
		t.Errorf("a confirmed jump was refused: %v", err)
	}
	// The last reading of the broker is from before the sleep, so its extrapolation lacks the
	// hours slept.
	g.ReadBroker(rewards.MarketClock{Now: began.Add(-slept)}, began.Round(0))
	g.ReadDatabase(began.Add(slept), now)
	if err := g.Check(now); err != nil {
		t.Errorf("a jump that the database's clock confirms was refused by an old reading: %v", err)
	}
}
