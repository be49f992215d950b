package rewards_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

func TestCompareSince(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	present := time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		until time.Time
		far   bool
		want  time.Time
	}{
		"never compared":           {time.Time{}, false, present.Add(-36 * time.Hour)},
		"an hour ago":              {present.Add(-time.Hour), false, present.Add(-37 * time.Hour)},
		"an hour ago, far":         {present.Add(-time.Hour), true, present.Add(-5 * day)},
		"ten days ago":             {present.Add(-10 * day), false, present.Add(-10*day - 36*time.Hour)},
		"ten days ago, far":        {present.Add(-10 * day), true, present.Add(-10*day - 36*time.Hour)},
		"by a clock a little fast": {present.Add(2 * time.Minute), false, present.Add(2*time.Minute - 36*time.Hour)},
		"in the future":            {present.Add(2*time.Minute + 1), false, time.Time{}},
		"in 2099":                  {time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), true, time.Time{}},
	} {
		if got := rewards.CompareSince(test.until, present, test.far); !got.Equal(test.want) {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
