package rewards_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

func TestNewOrderIsPlanned(t *testing.T) {
	t.Parallel()
	plan := rewards.Plan{Members: []rewards.Member{{RewardID: rewards.RewardID{1}, Amount: 5}}, Notional: 10_000, House: 9_995}
	got := rewards.NewOrder(rewards.OrderID{7}, "sr-1", rewards.Asset{ID: 3, BrokerID: "b", Symbol: "AAPL", Name: "Apple"}, plan)
	want := rewards.Order{
		ID: rewards.OrderID{7}, ClientOrderID: "sr-1", AssetID: 3, AssetBrokerID: "b", Symbol: "AAPL",
		Notional: 10_000, House: 9_995, MembersHash: rewards.HashMembers(plan.Members), State: rewards.OrderPlanned,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An adopted order is one whose only attempt has an unknown outcome. A clock that was set
// back does not shorten the time in which it is looked up.
func TestAdopted(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	created := time.UnixMilli(1_790_000_000_000).UTC()
	o := rewards.Order{ID: orderIDAt(created), State: rewards.OrderPlanned}
	for name, test := range map[string]struct{ now, attempted time.Time }{
		"later":               {created.Add(time.Hour), created.Add(time.Hour)},
		"by a clock set back": {created.Add(-time.Hour), created},
	} {
		got := o.Adopted(test.now)
		want := o
		want.State, want.Attempts = rewards.OrderSubmitted, 1
		want.FirstAttemptAt, want.Deadline = test.attempted, test.attempted.Add(day)
		if diff := cmp.Diff(want, got); diff != "" || !got.Ambiguous() {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// orderIDAt is an order id of a moment: the first 48 bits are its Unix milliseconds.
func orderIDAt(at time.Time) (id rewards.OrderID) {
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return id
}

func TestHoldAt(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	doubt, held := rewards.Doubt{Since: now}, rewards.ActionHold{From: now}
	for name, test := range map[string]struct {
		asset rewards.Asset
		want  rewards.Hold
	}{
		"free":                    {rewards.Asset{}, rewards.NoHold},
		"price in doubt":          {rewards.Asset{Doubt: doubt}, rewards.HoldDoubt},
		"corporate action":        {rewards.Asset{Hold: held}, rewards.HoldAction},
		"corporate action, later": {rewards.Asset{Hold: rewards.ActionHold{From: now.Add(1)}}, rewards.NoHold},
		"both":                    {rewards.Asset{Doubt: doubt, Hold: held}, rewards.HoldDoubt},
	} {
		if got := test.asset.HoldAt(now); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

func TestMergePools(t *testing.T) {
	t.Parallel()
	first := time.Unix(1_790_000_000, 0)
	a, b := rewards.AppID{1}, rewards.AppID{2}
	pool := func(asset rewards.AssetID, oldest time.Time, apps ...rewards.AppID) rewards.Pool {
		return rewards.Pool{Asset: rewards.Asset{ID: asset}, Oldest: oldest, Apps: apps}
	}
	got := rewards.MergePools([]rewards.Pool{pool(2, first, a), pool(1, first.Add(1), a), pool(2, first.Add(2), b)})
	want := []rewards.Pool{pool(2, first, a, b), pool(1, first.Add(1), a)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := rewards.MergePools(nil); len(got) != 0 {
		t.Errorf("got %v from nothing", got)
	}
}
