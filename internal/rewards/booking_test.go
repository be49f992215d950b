package rewards_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func TestCostBasis(t *testing.T) {
	t.Parallel()
	const dollar = money.Dollar
	for name, test := range map[string]struct {
		status  rewards.Status
		bought  rewards.Allocation
		booked  money.USD
		cost    money.USD
		changes bool
	}{
		"bought at once":          {rewards.Executed, rewards.Allocation{Amount: 10 * dollar, Shares: 5}, 0, 10 * dollar, true},
		"last lot of a split":     {rewards.Executed, rewards.Allocation{Amount: 4 * dollar, Shares: 2}, 6 * dollar, 10 * dollar, true},
		"last lot without shares": {rewards.Executed, rewards.Allocation{Amount: 1}, 10*dollar - 1, 10 * dollar, true},
		"first lot of a split":    {rewards.Executing, rewards.Allocation{Amount: 6 * dollar, Shares: 3}, 0, 0, true},
		"lot without shares":      {rewards.Executing, rewards.Allocation{Amount: 1}, 0, 0, false},
		"nothing bought":          {rewards.Executing, rewards.Allocation{}, 0, 0, false},
		"too small":               {rewards.Failed, rewards.Allocation{Amount: 10 * dollar}, 0, 0, false},
		"refused":                 {rewards.Failed, rewards.Allocation{}, 0, 0, false},
	} {
		r := rewards.Result{Status: test.status, Bought: test.bought}
		r.RewardAmount, r.Booked = 10*dollar, test.booked
		if got := r.Cost(); got != test.cost {
			t.Errorf("%s: cost %s, want %s", name, got, test.cost)
		}
		if got := r.ChangesHolding(); got != test.changes {
			t.Errorf("%s: changes the holding: %t", name, got)
		}
	}
}

func TestWithSettlement(t *testing.T) {
	t.Parallel()
	attempt := time.Unix(1_790_000_000, 0)
	o := rewards.Order{State: rewards.OrderOpen, FirstAttemptAt: attempt, FilledQty: 9}
	s := rewards.Settlement{State: rewards.OrderSettled, HouseShares: 2, FilledAt: attempt.Add(1)}
	for name, test := range map[string]struct{ now, want time.Time }{
		"after the attempt":       {attempt.Add(time.Hour), attempt.Add(time.Hour)},
		"by a clock set back":     {attempt.Add(-time.Hour), attempt},
		"at the attempt's moment": {attempt, attempt},
	} {
		want := o
		want.State, want.HouseShares, want.FilledAt, want.SettledAt = rewards.OrderSettled, 2, s.FilledAt, test.want
		if diff := cmp.Diff(want, o.WithSettlement(s, test.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
