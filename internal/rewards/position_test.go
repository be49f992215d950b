package rewards_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func TestSplitRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ours, theirs string
		want         rewards.Ratio
	}{
		{"10.123456789", "40.493827156", rewards.Ratio{Old: 1, New: 4}},
		{"10.123456789", "40.493827155", rewards.Ratio{Old: 1, New: 4}}, // a billionth off
		{"10.123456789", "40.493827153", rewards.Ratio{}},
		{"10.000000001", "3.333333333", rewards.Ratio{Old: 3, New: 1}},
		{"7.7", "0.077", rewards.Ratio{Old: 100, New: 1}},
		{"7.7", "0.0385", rewards.Ratio{}}, // 200:1
		{"10.123456789", "15.185185183", rewards.Ratio{Old: 2, New: 3}},
		{"10.123456789", "10.123456789", rewards.Ratio{}},
		{"10.123456789", "11.5", rewards.Ratio{}},
		{"0.000000002", "0.000000004", rewards.Ratio{}}, // too small
		{"10.123456789", "0", rewards.Ratio{}},
		{"0", "5", rewards.Ratio{}},
		{"1", "-1", rewards.Ratio{}},
	} {
		ours, err := money.ParseShares(c.ours)
		check(t, err)
		theirs, err := money.ParseShares(c.theirs)
		check(t, err)
		got, found := rewards.SplitRatio(ours, theirs)
		if diff := cmp.Diff(c.want, got); diff != "" || found != (c.want != rewards.Ratio{}) {
			t.Errorf("%s and %s (-want +got):\n%s", c.ours, c.theirs, diff)
		}
	}
	accepted := rewards.BookedPosition{Quantity: 10 * money.Share, Accepted: 10 * money.Share}
	if _, suspect := accepted.Suspect(20 * money.Share); suspect {
		t.Error("a difference that an operator accepted is suspected")
	}
	if _, suspect := accepted.Suspect(40 * money.Share); !suspect {
		t.Error("another difference than the accepted one is not suspected")
	}
}
