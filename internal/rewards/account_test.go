package rewards_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

func TestJudgeAccount(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		pinned, reported string
		rightAt          time.Time
		want             rewards.AccountVerdict
	}{
		"the right one":           {"a", "a", time.Time{}, rewards.AccountRight},
		"another one":             {"a", "b", now, rewards.AccountOther},
		"not pinned yet":          {"", "b", time.Time{}, rewards.AccountRight},
		"nothing known of it":     {"", "", time.Time{}, rewards.AccountRight},
		"silent since seconds":    {"a", "", now.Add(-59 * time.Second), rewards.AccountRight},
		"silent since a minute":   {"a", "", now.Add(-time.Minute), rewards.AccountUnknown},
		"silent since the start":  {"a", "", time.Time{}, rewards.AccountUnknown},
		"another one, right once": {"a", "b", now.Add(-time.Second), rewards.AccountOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rewards.JudgeAccount(test.pinned, test.reported, test.rightAt, now); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
