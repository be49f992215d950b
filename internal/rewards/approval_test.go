package rewards_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// An operator's decision to apply an action is about its terms then, and ends with another decision. What an earlier
// version left in the store does not count.
func TestApproved(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 15, 0, 0, 0, time.UTC)
	o := rewards.Observation{Now: now, SeenAt: now, Sessions: []rewards.Date{"2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04"}}
	var n rewards.Announcement
	n.ID, n.Type, n.Symbol, n.OldRate, n.NewRate, n.ExDate = "x", rewards.ActionForwardSplit, "AAPL", "1", "4", "2026-12-04"
	approved, err := o.NewAction(n, 7, true).Approve("letter", now)
	if err != nil || !approved.Approved() {
		t.Fatalf("%+v, %v; want approved", approved, err)
	}
	ignored, err := approved.Ignore("mistake", now)
	if err != nil {
		t.Fatal(err)
	}
	same := o.Revise(approved, n, true)
	n.NewRate = "10"
	withdrawn := o.Withdraw(approved)
	for name, c := range map[string]struct {
		action rewards.Action
		want   bool
	}{
		"ignored":                {ignored, false},
		"held":                   {o.Hold(approved, "why"), false},
		"waits for an order":     {o.Await(approved, "sr-1", "why"), true},
		"withdrawn":              {withdrawn, false},
		"announced again":        {o.Revise(withdrawn, n, true), false},
		"with the same terms":    {same, true},
		"with other terms":       {o.Revise(approved, n, true), false},
		"ignored by a past one":  {rewards.Action{State: rewards.ActionIgnored, ApprovedAt: now}, false},
		"held by a past one":     {rewards.Action{State: rewards.ActionHeld, ApprovedAt: now}, false},
		"applied by an operator": {rewards.Action{State: rewards.ActionSwept, ApprovedAt: now}, true},
	} {
		if got := c.action.Approved(); got != c.want {
			t.Errorf("%s: approved %v, want %v: %+v", name, got, c.want, c.action)
		}
		if past := c.action.ID == ""; !past && !c.want && !c.action.ApprovedAt.IsZero() {
			t.Errorf("%s: the time of the approval stays: %+v", name, c.action)
		}
	}
}
