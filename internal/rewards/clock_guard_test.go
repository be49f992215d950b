package rewards_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// What is ahead of another clock by more than two minutes is not recorded.
func TestNothingIsRecordedAheadOfTheClocks(t *testing.T) {
	t.Parallel()
	truth := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		ours, broker, database time.Duration // from the truth; 1: not read
		id                     time.Duration
		moved, allow           bool
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
		"a broker's clock set on purpose": {broker: -time.Hour, database: 1, moved: true},
		"the same, ahead of the database": {broker: -time.Hour, ours: time.Hour, id: time.Hour, moved: true, refused: true},
	} {
		ours := truth.Add(c.ours)
		g := rewards.NewClockGuard(func() time.Time { return ours }, c.allow)
		if c.broker != 1 {
			g.ReadBroker(rewards.MarketClock{Now: truth.Add(c.broker), Simulated: c.moved}, ours)
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

// Our clock jumps ahead: nothing is recorded until the other clock confirms the jump, as
// it does when a machine slept. Time that passes is no jump.
func TestAJumpThatTheOtherClockConfirms(t *testing.T) {
	t.Parallel()
	began := time.Now() // with a monotonic clock
	now := began
	g := rewards.NewClockGuard(func() time.Time { return now }, false)
	g.ReadBroker(rewards.MarketClock{Now: began}, began)
	if now = began.Add(time.Hour); g.Check(now) != nil {
		t.Error("an hour that passed was refused")
	}
	const slept = 3 * time.Hour
	now = began.Round(0).Add(slept)
	g.ReadBroker(rewards.MarketClock{Now: began}, now)
	if g.Check(now) == nil {
		t.Error("a jump was accepted that the broker's clock does not show")
	}
	g.ReadBroker(rewards.MarketClock{Now: began.Add(slept)}, now)
	if err := g.Check(now); err != nil {
		t.Errorf("a confirmed jump was refused: %v", err)
	}
	// The broker is away since before the sleep, so what its clock would show by now lacks
	// the hours slept.
	g.ReadBroker(rewards.MarketClock{Now: began.Add(-slept)}, began.Round(0))
	g.ReadDatabase(began.Add(slept), now)
	if err := g.Check(now); err != nil {
		t.Errorf("a jump that the database's clock confirms was refused by an old reading: %v", err)
	}
}
