package rewards_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// amounts draws the amounts of an order's members: often tiny, sometimes the maximum.
func amounts(t *rapid.T) []money.USD {
	amount := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 10_000_000), rapid.Int64Range(1, 1_000_000_000_000))
	list := rapid.SliceOfN(amount, 1, 1000).Draw(t, "amounts")
	out := make([]money.USD, len(list))
	for i, a := range list {
		out[i] = money.USD(a)
	}
	return out
}

// The allocations and the house's shares add up to the fill, at most one reward is split,
// dollars go to rewards in order of arrival, and shares are rounded down.
func TestAllocateConservesEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := amounts(t)
		var sum money.USD
		for _, a := range list {
			sum += a
		}
		filled := money.Shares(rapid.Int64Range(0, 1<<62).Draw(t, "filled"))
		carried := money.USD(rapid.Int64Range(0, int64(sum)+2_000_000).Draw(t, "carried"))
		parts, house, err := rewards.Allocate(list, filled, carried, 0)
		check(t, err)
		var shares money.Shares
		var dollars money.USD
		split := 0
		for i, p := range parts {
			shares += p.Shares
			dollars += p.Amount
			if p.Amount > list[i] || p.Amount < 0 || p.Shares < 0 {
				t.Fatalf("part %+v of %s", p, list[i])
			}
			if p.Amount > 0 && p.Amount < list[i] {
				split++
			}
			if i > 0 && p.Amount > 0 && parts[i-1].Amount < list[i-1] {
				t.Fatalf("member %d got dollars before %d was complete", i, i-1)
			}
			if want, err := money.Portion(filled, p.Amount, max(carried, 1)); err != nil || want != p.Shares {
				t.Fatalf("member %d got %s shares, want %s, %v", i, p.Shares, want, err)
			}
		}
		if shares+house != filled || dollars != min(sum, carried) || split > 1 || house < 0 {
			t.Fatalf("%s + %s of %s shares, %s of %s dollars, %d split", shares, house, filled, dollars, carried, split)
		}
		if carried <= sum && carried > 0 && house >= money.Shares(len(list)) {
			t.Fatalf("the house got %d of %d members", house, len(list))
		}
	})
}

func TestAllocateRejectsNegativeArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amounts []money.USD
		filled  money.Shares
		carried money.USD
		given   money.USD
	}{
		{[]money.USD{1}, -1, 1, 0}, {[]money.USD{1}, 1, -1, 0}, {[]money.USD{-1}, 1, 1, 0}, {[]money.USD{1}, 1, 1, -1},
	} {
		if _, _, err := rewards.Allocate(test.amounts, test.filled, test.carried, test.given); !errors.Is(err, money.ErrOverflow) {
			t.Errorf("%+v: %v, want an overflow", test, err)
		}
	}
}

// claim returns a member; earlier orders booked the rest of whole.
func claim(ids *rewards.IDs, amount, whole money.USD) rewards.Claim {
	return rewards.Claim{
		Member:       rewards.Member{RewardID: rewards.NewID[rewards.Reward](ids), Amount: amount},
		RewardAmount: whole, Booked: whole - amount,
	}
}

// For any sequence of fills the parts of all rewards add up to their amounts exactly.
func TestSettleBooksEveryReward(t *testing.T) {
	t.Parallel()
	ids := testIDs(time.UnixMilli(1_790_000_000_000))
	rapid.Check(t, func(t *rapid.T) {
		list := amounts(t)
		var claims []rewards.Claim
		for _, a := range list {
			claims = append(claims, claim(ids, a, a))
		}
		var booked money.USD
		var bought, house money.Shares
		for round := 0; len(claims) > 0; round++ {
			var sum money.USD
			for _, c := range claims {
				sum += c.Amount
			}
			o := rewards.Order{Notional: sum, BrokerStatus: "canceled", FilledAvgPrice: 250_000_000_000}
			share := rapid.Int64Range(0, int64(sum)).Draw(t, "spent")
			if round > 3 {
				share, o.BrokerStatus = int64(sum), "filled"
			}
			qty, err := money.SharesFor(money.USD(share), o.FilledAvgPrice)
			check(t, err)
			if o.FilledQty = qty; qty == 0 {
				o.FilledQty, o.BrokerStatus = 1, "filled"
			}
			s, err := rewards.Settle(o, claims, 0, time.UnixMilli(1_790_000_000_001))
			check(t, err)
			house += s.HouseShares
			claims = nil
			for _, r := range s.Results {
				booked += r.Bought.Amount
				bought += r.Bought.Shares
				if r.Waits() {
					r.Amount -= r.Bought.Amount
					r.Booked += r.Bought.Amount
					r.BookedShares += r.Bought.Shares
					claims = append(claims, r.Claim)
					continue
				}
				if got := r.BookedShares + r.Bought.Shares; (r.Status == rewards.Executed) != (got > 0) {
					t.Fatalf("%s with %s shares", r.Status, got)
				}
			}
		}
		var want money.USD
		for _, a := range list {
			want += a
		}
		if booked != want {
			t.Fatalf("%s booked of %s", booked, want)
		}
	})
}

func TestSettleTimesAndReasons(t *testing.T) {
	t.Parallel()
	created := time.UnixMilli(1_790_000_000_000).UTC()
	ids := testIDs(created)
	now := created.Add(time.Minute)
	c := claim(ids, 1_000_000, 1_000_000)
	type settlement struct {
		order rewards.Order
		claim rewards.Claim
		want  rewards.Result
		state rewards.OrderState
		err   error
	}
	filled := func(at, executed time.Time) settlement {
		return settlement{
			order: rewards.Order{Notional: 1_000_000, BrokerStatus: "filled", FilledQty: 5, FilledAvgPrice: 1, FilledAt: at},
			claim: c, state: rewards.OrderSettled,
			want: rewards.Result{Status: rewards.Executed, ExecutedAt: executed, Bought: rewards.Allocation{Amount: 1_000_000, Shares: 5}},
		}
	}
	for name, test := range map[string]settlement{
		"filled":                     filled(created.Add(time.Second), created.Add(time.Second)),
		"filled before its creation": filled(created.Add(-time.Second), created),
		"filled in the future":       filled(now.Add(time.Hour), now),
		"filled without a fill time": filled(time.Time{}, now),
		"expired with nothing filled": {
			order: rewards.Order{Notional: 1_000_000, BrokerStatus: "expired"}, claim: c, state: rewards.OrderSettled,
			want: rewards.Result{Status: rewards.Executing},
		},
		"rejected": {
			order: rewards.Order{Notional: 1_000_000, BrokerStatus: "rejected"}, claim: c, state: rewards.OrderRefused,
			want: rewards.Result{Status: rewards.Failed, Reason: "order_rejected: the broker rejected the order"},
		},
		"rejected after an earlier order bought a part": {
			order: rewards.Order{Notional: 1_000_000, BrokerStatus: "rejected"},
			claim: claim(ids, 1_000_000, 3_000_000), err: rewards.ErrHalfBought,
		},
	} {
		s, err := rewards.Settle(test.order, []rewards.Claim{test.claim}, 0, now)
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", name, err, test.err)
		}
		if test.err != nil {
			continue
		}
		if s.FilledAt.After(now) {
			t.Errorf("%s: the order was filled at %s", name, s.FilledAt)
		}
		test.want.Claim = test.claim
		if diff := cmp.Diff(test.want, s.Results[0]); diff != "" || s.State != test.state {
			t.Errorf("%s: state %s (-want +got):\n%s", name, s.State, diff)
		}
	}
}

func TestSettleTooSmall(t *testing.T) {
	t.Parallel()
	ids := testIDs(time.UnixMilli(1_790_000_000_000))
	dust, rest := claim(ids, 1, 1), claim(ids, 999_999, 999_999)
	o := rewards.Order{Notional: 1_000_000, BrokerStatus: "filled", FilledQty: 999_999, FilledAvgPrice: 250_000_000_000}
	// It has less than a billionth of a share per millionth of a dollar.
	s, err := rewards.Settle(o, []rewards.Claim{dust, rest}, 0, time.Now())
	check(t, err)
	got := s.Results[0]
	if got.Status != rewards.Failed || got.Reason != "amount_too_small: the amount comes to less than a billionth of a share" {
		t.Errorf("the dust is %s: %s", got.Status, got.Reason)
	}
	if s.Results[1].Status != rewards.Executed || s.HouseShares != 1 {
		t.Errorf("the rest is %s, the house got %d", s.Results[1].Status, s.HouseShares)
	}
}
