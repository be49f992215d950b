package rewards_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

func TestNextLease(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	runs, ended := now.Add(1), now
	for name, test := range map[string]struct {
		current rewards.Lease
		force   bool
		epoch   int64 // 0: refused
	}{
		"first":                 {rewards.Lease{}, false, 1},
		"renewed":               {rewards.Lease{Holder: "a", Epoch: 4, Until: runs}, false, 4},
		"renewed after its end": {rewards.Lease{Holder: "a", Epoch: 4, Until: ended}, false, 4},
		"another's runs":        {rewards.Lease{Holder: "b", Epoch: 4, Until: runs}, false, 0},
		"another's, by force":   {rewards.Lease{Holder: "b", Epoch: 4, Until: runs}, true, 5},
		"another's ended":       {rewards.Lease{Holder: "b", Epoch: 4, Until: ended}, false, 5},
	} {
		got, ok := test.current.Next("a", now, time.Minute, test.force)
		want := rewards.Lease{}
		if test.epoch > 0 {
			want = rewards.Lease{Holder: "a", Epoch: test.epoch, Until: now.Add(time.Minute)}
		}
		if got != want || ok != (test.epoch > 0) {
			t.Errorf("%s: got %+v, %t", name, got, ok)
		}
	}
}
