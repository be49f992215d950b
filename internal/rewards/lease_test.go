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

// A lease that is older than the one that the process knows is of a store that went back in time. It has ended, and the
// next epoch is one that nobody had.
func TestALeaseOfTheStoreOfBefore(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	known := rewards.Lease{Holder: "a", Epoch: 4, Until: now.Add(5)}
	for name, test := range map[string]struct {
		stored   rewards.Lease
		wentBack bool
	}{
		"the same":              {known, false},
		"renewed since":         {rewards.Lease{Holder: "a", Epoch: 4, Until: now.Add(9)}, false},
		"another's, later":      {rewards.Lease{Holder: "b", Epoch: 5, Until: now.Add(2)}, false},
		"another's, same epoch": {rewards.Lease{Holder: "b", Epoch: 4, Until: now.Add(2)}, false},
		"not renewed":           {rewards.Lease{Holder: "a", Epoch: 4, Until: now.Add(3)}, true},
		"of an older epoch":     {rewards.Lease{Holder: "b", Epoch: 3, Until: now.Add(9)}, true},
		"of a new store":        {rewards.Lease{}, true},
	} {
		got := test.stored.After(known)
		if got.WentBack != test.wentBack || !test.wentBack && got != test.stored {
			t.Errorf("%s: got %+v", name, got)
		}
		if next, ok := got.Next("a", now, time.Minute, false); test.wentBack && (!ok || next.Epoch != 5 || !next.WentBack) {
			t.Errorf("%s: the next lease is %+v, %t", name, next, ok)
		}
	}
}
