package rewards_test

import (
	"testing"

	"stockrewards/internal/rewards"
)

func TestSupersede(t *testing.T) {
	t.Parallel()
	nothing, also := rewards.Resolution{Reason: "not there"}, rewards.Resolution{Reason: "asked the broker"}
	some := rewards.Resolution{FilledQty: 5, Price: 7}
	for name, test := range map[string]struct {
		state   rewards.OrderState
		before  *rewards.Resolution
		now     rewards.Resolution
		changed bool
		code    rewards.Code // 0: no error
	}{
		"first":                        {rewards.OrderQuarantined, nil, nothing, true, 0},
		"first, refused":               {rewards.OrderOpen, nil, nothing, false, rewards.CodeConflict},
		"the same again":               {rewards.OrderResolved, &also, nothing, false, 0},
		"the same once it is booked":   {rewards.OrderSettled, &also, nothing, false, 0},
		"another one":                  {rewards.OrderResolved, &some, nothing, false, rewards.CodeConflict},
		"quarantined again":            {rewards.OrderQuarantined, &some, nothing, true, 0},
		"quarantined again, the same":  {rewards.OrderQuarantined, &also, nothing, true, 0},
		"quarantined again, no longer": {rewards.OrderRefused, &some, nothing, false, rewards.CodeConflict},
	} {
		o := rewards.Order{State: test.state, Notional: 1_000_000}
		got, changed, err := o.Supersede(test.before, test.now)
		if changed != test.changed || (err != nil) != (test.code != 0) || err != nil && rewards.CodeOf(err) != test.code {
			t.Errorf("%s: got %t, %v", name, changed, err)
		}
		if changed != (got != o) {
			t.Errorf("%s: the order changed: %t", name, got != o)
		}
	}
}
