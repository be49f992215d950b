package ledger_test

import (
	"strings"
	"testing"

	"stockrewards/internal/rewards"
)

// TestTakenBack: shares that are taken back go to the house at their cost. The app still owes the award.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.giveTo(w.Users[0], 2_000_000)
	w.buy("filled", 10_000_000, 200*dollar)
	outcomes, err := w.ReverseRewards(t.Context(), []rewards.NewReversal{
		{AppID: r.AppID, RewardID: r.ID, IdempotencyKey: "some", Amount: 500_000},
	})
	w.check(err)
	w.check(outcomes[0].Refused)
	wantBalances(t, w.mustPass(), "assets:custody 0.010000000 AAPL", due(w.Users[0])+" $2.000000",
		user(w.Users[0])+" -0.007500000 AAPL", "equity:house -0.002500000 AAPL")
	journal, _ := w.write(nil)
	want := "taken back\n    ; reversal: " + outcomes[0].Reversal.ID.String() + "\n    " + user(w.Users[0]) +
		"  0.0025 AAPL @@ $0.5\n    equity:house  -0.0025 AAPL @@ $0.5\n"
	if !strings.Contains(journal, want) {
		t.Errorf("the journal lacks %q:\n%s", want, journal)
	}
}
