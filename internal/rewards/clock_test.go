package rewards_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// A broker's clock is trusted near our time; a simulated clock always.
func TestABrokersClockIsTrustedNearOurs(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	answered := asked.Add(5 * time.Second)
	for name, test := range map[string]struct {
		now       time.Time
		simulated bool
		trusted   bool
	}{
		"ours":                  {now: asked, trusted: true},
		"during the request":    {now: asked.Add(3 * time.Second), trusted: true},
		"two minutes behind":    {now: asked.Add(-2 * time.Minute), trusted: true},
		"more than that behind": {now: asked.Add(-2*time.Minute - time.Nanosecond)},
		"two minutes ahead":     {now: answered.Add(2 * time.Minute), trusted: true},
		"more than that ahead":  {now: answered.Add(2*time.Minute + time.Nanosecond)},
		"2099":                  {now: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)},
		"the year one":          {now: time.Time{}},
		"2099, simulated":       {now: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), simulated: true, trusted: true},
		"years ago, simulated":  {now: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), simulated: true, trusted: true},
	} {
		err := rewards.MarketClock{Now: test.now, Simulated: test.simulated}.Trust(asked, answered)
		if (err == nil) != test.trusted || err != nil && !errors.Is(err, rewards.ErrClockRefused) {
			t.Errorf("%s: trusted: %v, want %t", name, err, test.trusted)
		}
	}
}

func TestThePresentIsTheEarlierClock(t *testing.T) {
	t.Parallel()
	ours := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		theirs, want time.Time
		simulated    bool
	}{
		{theirs: ours.Add(time.Minute), want: ours},
		{theirs: ours.Add(-time.Minute), want: ours.Add(-time.Minute)},
		{theirs: ours.Add(time.Hour), simulated: true, want: ours.Add(time.Hour)},
	} {
		if got := (rewards.MarketClock{Now: test.theirs, Simulated: test.simulated}).Present(ours); !got.Equal(test.want) {
			t.Errorf("theirs %s, simulated %t: got %s, want %s", test.theirs, test.simulated, got, test.want)
		}
	}
}
