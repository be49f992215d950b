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
		"the pinned account":                 {"a", "a", time.Time{}, rewards.AccountRight},
		"another account":                    {"a", "b", now, rewards.AccountOther},
		"not pinned yet":                     {"", "b", time.Time{}, rewards.AccountRight},
		"not pinned, not reported":           {"", "", time.Time{}, rewards.AccountRight},
		"not reported for seconds":           {"a", "", now.Add(-59 * time.Second), rewards.AccountRight},
		"not reported for a minute":          {"a", "", now.Add(-time.Minute), rewards.AccountUnknown},
		"never reported":                     {"a", "", time.Time{}, rewards.AccountUnknown},
		"another account, pinned one before": {"a", "b", now.Add(-time.Second), rewards.AccountOther},
	} {
		if got := rewards.JudgeAccount(test.pinned, test.reported, test.rightAt, now); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
