package audit_test

import (
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// A clock is set back, or an operator's machine is ahead, between a decision and what the service makes of it: that is
// stored as not before the decision.
func TestClocksThatDifferAreNoViolation(t *testing.T) {
	t.Parallel()
	w := audittest.NewWorld(t, audittest.NewFile)
	user := w.User(w.App("first"), "ann", "a@b.co", "")
	w.Give("g", user, "AAPL", 10*money.Dollar, "", "")
	o := w.Quarantine(w.Send(w.Plan("q", "AAPL")), "not found")
	w.Now = w.Now.Add(time.Hour)
	w.Check(w.ResolveOrder(t.Context(), o.ID, rewards.Resolution{
		FilledQty: 50_000_000, Price: 200 * audittest.PerUSD, Reason: "the broker's statement",
	}))
	w.Now = w.Now.Add(-time.Minute)
	o, err := w.Order(t.Context(), o.ID)
	w.Check(err)
	w.Settle(o)

	w.Act("split", rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "2"}, "", "0", 0)
	_, err = w.UndoAction(t.Context(), "split")
	w.Check(err)
	w.Now = w.Now.Add(-time.Minute)
	w.SweepOpen()
	w.Agree()
	if r := run(t, w.Where); !r.OK() {
		t.Error(text(t, r))
	}
}
