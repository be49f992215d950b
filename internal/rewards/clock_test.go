package rewards_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// A broker's clock is trusted near our time; a simulated clock at any time. A clock whose next open or close has passed
// is refused.
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
		c := rewards.MarketClock{
			Now: test.now, Open: true, NextClose: test.now.Add(time.Hour), NextOpen: test.now.Add(18 * time.Hour),
			Simulated: test.simulated,
		}
		wantTrust(t, name, c, asked, answered, test.trusted)
		c.NextClose = c.Now.Add(-2 * time.Minute)
		wantTrust(t, name+", to close two minutes ago", c, asked, answered, test.trusted)
		c.NextClose = c.NextClose.Add(-time.Second)
		wantTrust(t, name+", to close before", c, asked, answered, false)
		c.Open = false
		wantTrust(t, name+", closed since", c, asked, answered, test.trusted)
		c.NextOpen = c.NextClose
		wantTrust(t, name+", to open before", c, asked, answered, false)
	}
}

func wantTrust(t *testing.T, name string, c rewards.MarketClock, asked, answered time.Time, want bool) {
	t.Helper()
	err := c.Trust(asked, answered)
	if (err == nil) != want || err != nil && !errors.Is(err, rewards.ErrClockRefused) {
		t.Errorf("%s: trusted: %v, want %t", name, err, want)
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
