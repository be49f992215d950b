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

// A lease that is older than the one that the process knows is of a store that went back in time. The next epoch is one
// that nobody had. A lease that its holder ended early is not older.
func TestALeaseOfTheStoreOfBefore(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	known := rewards.Lease{Holder: "a", Epoch: 4, Until: now.Add(5)}
	for name, test := range map[string]struct {
		stored rewards.Lease
		loss   rewards.Loss
		epoch  int64 // that "a" gets next; 0: none
	}{
		"the same":              {known, rewards.NoLoss, 4},
		"renewed since":         {rewards.Lease{Holder: "a", Epoch: 4, Until: now.Add(9)}, rewards.NoLoss, 4},
		"ended early":           {rewards.Lease{Holder: "a", Epoch: 4}, rewards.NoLoss, 4},
		"another's, later":      {rewards.Lease{Holder: "b", Epoch: 5, Until: now}, rewards.NoLoss, 6},
		"another's, same epoch": {rewards.Lease{Holder: "b", Epoch: 4, Until: now}, rewards.NoLoss, 5},
		"not renewed":           {rewards.Lease{Holder: "a", Epoch: 4, Until: now.Add(3)}, rewards.WentBack, 5},
		"of an older epoch":     {rewards.Lease{Holder: "b", Epoch: 3, Until: now}, rewards.WentBack, 5},
		"that still runs":       {rewards.Lease{Holder: "b", Epoch: 3, Until: now.Add(3)}, rewards.WentBack, 0},
		"of a new store":        {rewards.Lease{}, rewards.WentBack, 5},
	} {
		next, ok := test.stored.After(known).Next("a", now, time.Minute, false)
		if next.Loss != test.loss || next.Epoch != test.epoch || ok != (test.epoch > 0) {
			t.Errorf("%s: the next lease is %+v, %t", name, next, ok)
		}
	}
}

// A server of another timeline may lack orders, unless nobody has led yet.
func TestALeaseOfAnotherServer(t *testing.T) {
	t.Parallel()
	led := rewards.Lease{Holder: "a", Epoch: 4, Timeline: "1"}
	for name, test := range map[string]struct {
		stored rewards.Lease
		want   rewards.Lease
	}{
		"the same":         {led, rewards.Lease{Holder: "a", Epoch: 4, Timeline: "1"}},
		"nobody led yet":   {rewards.Lease{}, rewards.Lease{Timeline: "1"}},
		"another":          {rewards.Lease{Holder: "a", Epoch: 4, Timeline: "0"}, rewards.Lease{Epoch: 4, Timeline: "1", Loss: rewards.OtherServer}},
		"one of back then": {rewards.Lease{Epoch: 4, Loss: rewards.WentBack}, rewards.Lease{Epoch: 4, Timeline: "1", Loss: rewards.WentBack}},
	} {
		if got := test.stored.In("1"); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
