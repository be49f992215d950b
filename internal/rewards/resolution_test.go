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
	nothing, bought := rewards.Resolution{}, rewards.Resolution{FilledQty: 5, Price: 70}
	at := func(p money.Price) rewards.Resolution { return rewards.Resolution{FilledQty: 5, Price: p} }
	const unread = -1
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
		"filled it with what is unread":   {rewards.OrderQuarantined, nothing, "filled", unread, "reports the order as filled"},
		"at about that price":             {rewards.OrderQuarantined, at(75), "filled", 5, ""},
		"at about another known price":    {rewards.OrderQuarantined, at(7), "filled", 5, ""},
		"at ten times the price":          {rewards.OrderQuarantined, at(700), "filled", 5, "reports the price 0.00000007, and 0.0000007 is not near"},
	} {
		o, b := openOrder()
		o.State, b.Status, b.FilledQty, b.FilledAvgPrice = test.state, test.status, test.filled, 70
		if test.filled == unread {
			b.FilledQty, b.Problem = 0, "filled_qty: too many decimals"
		}
		why := test.resolution.ContradictedBy(o, b, 6, 0)
		if (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
			t.Errorf("%s: %q, want %q", name, why, test.want)
		}
	}
}

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
