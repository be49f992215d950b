package audit_test

import (
	"testing"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/rewards"
)

// TestCashAwardNotNotedYet audits a store whose process ended after it recorded the awards of a dividend, and before it
// noted them in the users' parts. They may be missing there until the payout has reached their user.
func TestCashAwardNotNotedYet(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.NewWorld(t, in)
		ann := w.User(w.App("first"), "ann", "ann@example.com", "")
		w.Give("given", ann, "KO", 100*dollar, "", "")
		w.Fill("filled", "KO", 70*audittest.PerUSD)
		a := w.Announce("dividend", rewards.Terms{Type: "cash_dividend", Symbol: "KO", Rate: "0.5"})
		w.Begin(a, "", "0", 0)
		w.SweepOpen()
		w.Share(a, 700_000)
		part, _, err := w.NextPayees(t.Context(), a.ID)
		check(t, err)
		outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{a.CashAward(part[0], a.AssetID, 1, "")})
		check(t, err)
		if r := run(t, w.Where); !r.OK() {
			t.Errorf("before the award is noted the audit fails:\n%s", text(t, r))
		}
		for what, sql := range map[string]string{
			"paid out":  `UPDATE payouts SET paid_at = shared_at + 1`,
			"reached":   `UPDATE payouts SET paid_app = @first, paid_user = @ann`,
			"no payout": `DELETE FROM payouts; UPDATE effects SET cash = 0`,
		} {
			t.Run(what, func(t *testing.T) {
				c := w.Copy(t)
				c.Exec(sql)
				wantViolations(t, run(t, c.Where), "payouts")
			})
		}
		part[0].RewardID = outcomes[0].Reward.ID
		check(t, w.SavePaid(t.Context(), w.Lease, a.ID, part))
		if r := run(t, w.Where); !r.OK() {
			t.Errorf("after it is noted the audit fails:\n%s", text(t, r))
		}
	})
}
