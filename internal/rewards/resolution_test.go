package rewards_test

import (
	"strings"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// The broker's report forbids a decision: while the broker works on the order, when its fill
// differs, and when the broker has an order that counts as refused.
func TestTheBrokersReportForbidsADecision(t *testing.T) {
	t.Parallel()
	nothing, bought := rewards.Resolution{}, rewards.Resolution{FilledQty: 5, Price: 1}
	for name, test := range map[string]struct {
		state      rewards.OrderState
		resolution rewards.Resolution
		status     string
		filled     money.Shares
		want       string
	}{
		"ended with nothing":              {rewards.OrderQuarantined, nothing, "canceled", 0, ""},
		"ended with the same fill":        {rewards.OrderQuarantined, bought, "canceled", 5, ""},
		"ended with more":                 {rewards.OrderQuarantined, nothing, "canceled", 5, "reports 0.000000005 shares"},
		"ended with less":                 {rewards.OrderQuarantined, bought, "expired", 4, "reports 0.000000004 shares"},
		"works on it":                     {rewards.OrderQuarantined, nothing, "new", 0, "still works on the order (new)"},
		"works on it, with the same fill": {rewards.OrderQuarantined, bought, "partially_filled", 5, "still works on the order"},
		"has it, and it was submitted":    {rewards.OrderSubmitted, nothing, "canceled", 0, "the broker has the order"},
		"works on it, and was submitted":  {rewards.OrderSubmitted, nothing, "accepted", 0, "still works on the order"},
	} {
		o, b := openOrder()
		o.State, b.Status, b.FilledQty = test.state, test.status, test.filled
		why := test.resolution.ContradictedBy(o, b)
		if (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
			t.Errorf("%s: %q, want %q", name, why, test.want)
		}
	}
}
