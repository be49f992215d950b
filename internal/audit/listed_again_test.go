package audit_test

import (
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/rewards"
)

// TestListedAgain audits a split that the broker withdrew in time and lists again, unchanged, an hour after its
// boundary. What was ordered before that was ordered rightly; what is ordered after it is not.
func TestListedAgain(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.NewWorld(t, in)
		ann := w.User(w.App("first"), "ann", "ann@example.com", "")
		w.Give("before", ann, "AAPL", 10*dollar, "", "")
		w.Fill("filled", "AAPL", 200*audittest.PerUSD)
		seen := func() rewards.Observation { return rewards.Observation{Now: w.Now, SeenAt: w.Now} }
		n := rewards.Announcement{ID: "split", Body: "{}", Terms: rewards.Terms{
			Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "2", ExDate: rewards.DateOf(w.Now).Plus(4),
		}}
		change := func(before, after rewards.Action) rewards.Action {
			c := rewards.ActionChange{Before: before, After: after}
			if after.Revision != before.Revision {
				c.Body = n.Body
			}
			w.Check(w.ChangeActions(t.Context(), w.Lease, []rewards.ActionChange{c}))
			return after
		}
		split := change(rewards.Action{}, seen().NewAction(n, w.Catalog["AAPL"].ID, true))
		w.Now = w.Now.Add(time.Hour)
		withdrawn := change(split, seen().Withdraw(split))
		w.Now = split.Boundary.Add(5 * time.Minute)
		w.Give("between", ann, "AAPL", 10*dollar, "", "")
		w.Fill("allowed", "AAPL", 200*audittest.PerUSD)
		w.Now = split.Boundary.Add(time.Hour)
		again := change(withdrawn, seen().Revise(withdrawn, n, false))
		w.Now = split.Boundary.Add(7 * time.Hour)
		w.Begin(again, "", "0", 0)
		w.SweepOpen()
		if r := run(t, w.Where); !r.OK() {
			t.Errorf("the audit fails:\n%s", text(t, r))
		}
		c := w.Copy(t)
		c.Exec(`UPDATE orders SET first_attempt_at = (SELECT max(seen_at) FROM announcements) + 1 WHERE id = @allowed`)
		wantViolations(t, run(t, c.Where), "action_orders")
	})
}
