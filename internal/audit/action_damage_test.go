package audit_test

import (
	"testing"

	"stockrewards/internal/audit/audittest"
)

// actionDamages damages what corporate actions did. The switches of the history are: 1 and 2 of XOM,
// 3 of NVDA, 4 of SPUN, 5 and its undo 6 of AAPL, 7 of KO, 8 of AAPL, 9 of GONE, and 10 of MSFT, whose
// sweep has begun.
func actionDamages() []damage {
	return []damage{
		{"effects holding_sum", "another quantity", `UPDATE effects SET after = after + 1 WHERE switch = 1`},
		{"effects cost_basis", "another cost basis", `UPDATE effects SET basis_after = basis_after + 1 WHERE switch = 3 AND basis_before > 0`},
		{"effects", "only the quantity before", `UPDATE effects SET before = before + 1, entitled = entitled + 1 WHERE switch = 2`},
		{"effects", "only the quantity after", `UPDATE effects SET after = after + 1 WHERE switch = 2`},
		{"effects switches", "both quantities", `UPDATE effects SET before = before + 1, after = after + 1 WHERE switch = 5`},
		{"effects", "gone", `DELETE FROM effects WHERE switch = 1`},
		{"effects", "gone, that changed nothing", `DELETE FROM effects WHERE switch = 7 AND user_id = @cy`},
		{"effects", "of no switch", `UPDATE effects SET switch = 99 WHERE switch = 1`},
		{"effects", "twice", `INSERT INTO effects SELECT * FROM effects WHERE switch = 1`},
		{"effects", "of another stock", `UPDATE effects SET asset_id = 1 WHERE switch = 1`},
		{"effects holding_sum", "what was given", `UPDATE effects SET after = after + 1 WHERE switch = 3 AND before = 0`},
		{"effects", "nothing given", `DELETE FROM effects WHERE switch = 4 AND asset_id = 7`},
		{"effects", "an undo that keeps", `UPDATE effects SET after = before, basis_after = basis_before WHERE switch = 6`},
		{"effects", "before the sweep", `INSERT INTO effects SELECT 10, app_id, user_id, asset_id, quantity, quantity, cost_basis, cost_basis, quantity, 0, x'' FROM holdings WHERE asset_id = 4 AND user_id = @dee`},
		{"effects actions", "another ratio", `UPDATE switches SET keep_new = 3 WHERE number = 1`},
		{"effects", "another part of the cost basis", `UPDATE switches SET basis_part = '1/8' WHERE number = 3`},
		{"effects", "who is entitled", `UPDATE effects SET entitled = entitled - 1 WHERE switch = 7 AND user_id = @cy`},
		{"effects", "a lot of a later generation", `UPDATE orders SET generation = 1 WHERE id = @again`},
		{"effects", "a lot of an earlier generation", `UPDATE orders SET generation = 0 WHERE id = @more`},
		{"tenancy", "an effect on nobody", `UPDATE effects SET user_id = zeroblob(16) WHERE switch = 1`},

		{"generations", "of an asset", `UPDATE assets SET generation = generation + 1 WHERE symbol = 'XOM'`},
		{"generations", "a holding that lags", `UPDATE holdings SET generation = generation - 1 WHERE asset_id = 7`},
		{"generations", "a holding ahead of the sweep", `UPDATE holdings SET generation = 1 WHERE asset_id = 4 AND user_id = @dee`},
		{"generations", "of an order", `UPDATE orders SET generation = 9 WHERE id = @crumb`},
		{"generations", "of an order below 0", `UPDATE orders SET generation = -1 WHERE id = @planned`},
		{"generations", "of a price", `UPDATE prices SET generation = 9`},

		{"switches", "a gap", `UPDATE switches SET number = 11 WHERE number = 10`},
		{"switches", "twice", `INSERT INTO switches SELECT * FROM switches WHERE number = 1`},
		{"switches", "another generation", `UPDATE switches SET generation = 5 WHERE number = 2`},
		{"switches", "two sweeps", `UPDATE switches SET swept_at = 0 WHERE number = 7`},
		{"switches", "an undo of another one", `UPDATE switches SET undoes = 3 WHERE number = 6`},
		{"switches", "an undo of nothing", `UPDATE switches SET undoes = 99 WHERE number = 6`},
		{"switches", "an undo with a ratio", `UPDATE switches SET keep_new = 2 WHERE number = 6`},
		{"switches", "a sum of the sweep", `UPDATE switches SET users_after = users_after + 1 WHERE number = 1`},
		{"switches", "the sum of what was given", `UPDATE switches SET users_given = users_given + 1 WHERE number = 3`},
		{"switches", "no fraction", `UPDATE switches SET basis_part = 'x' WHERE number = 1`},
		{"switches", "no ratio", `UPDATE switches SET keep_old = 0 WHERE number = 1`},
		{"switches", "ended before it began", `UPDATE switches SET swept_at = 1 WHERE number = 1`},
		{"switches", "gives its own stock", `UPDATE switches SET target_id = asset_id WHERE number = 3`},

		{"actions", "unknown", `UPDATE actions SET state = 10 WHERE id = 'split-of-brk'`},
		{"actions", "swept, never applied", `UPDATE actions SET state = 7, applied_at = 9 WHERE id = 'split-of-brk'`},
		{"actions", "announced, applied", `UPDATE actions SET state = 1 WHERE id = 'split-of-xom'`},
		{"actions", "applied, swept", `UPDATE actions SET state = 6 WHERE id = 'split-of-xom'`},
		{"actions", "swept, under way", `UPDATE actions SET state = 7 WHERE id = 'split-of-msft'`},
		{"actions", "applied when", `UPDATE actions SET applied_at = 0 WHERE id = 'split-of-xom'`},
		{"actions", "undone, not", `UPDATE actions SET state = 8 WHERE id = 'split-of-xom'`},
		{"actions", "not undone", `UPDATE actions SET state = 7 WHERE id = 'split-of-aapl'`},
		{"actions", "undoing, undone", `UPDATE actions SET state = 9 WHERE id = 'split-of-aapl'`},
		{"actions", "held since when", `UPDATE actions SET state = 2 WHERE id = 'split-of-brk'`},
		{"actions", "ignored when", `UPDATE actions SET state = 3 WHERE id = 'split-of-brk'`},
		{"actions", "waits for something", `UPDATE actions SET waits_for = 'x' WHERE id = 'split-of-brk'`},
		{"actions", "another rate", `UPDATE actions SET new_rate = '3' WHERE id = 'split-of-xom'`},
		{"actions", "no rate", `UPDATE actions SET old_rate = '' WHERE id = 'split-of-xom'`},
		{"actions", "another rate of what is given", `UPDATE actions SET old_rate = '2' WHERE id = 'spin-off-of-nvda'`},
		{"actions", "another type", `UPDATE actions SET type = 'worthless_removal' WHERE id = 'spin-off-of-nvda'`},
		{"actions", "a stock that ends", `UPDATE switches SET basis_ends = 0 WHERE number = 4`},
		{"effects actions", "a stock that does not end", `UPDATE switches SET basis_ends = 0 WHERE number = 9`},
		{"actions", "of another asset", `UPDATE actions SET asset_id = 1 WHERE id = 'split-of-xom'`},
		{"actions", "gone", `DELETE FROM actions WHERE id = 'split-of-xom'`},
		{"actions", "twice", `INSERT INTO actions SELECT * FROM actions WHERE id = 'split-of-xom'`},
		{"actions", "an announcement of nothing", `UPDATE announcements SET action_id = 'x' WHERE action_id = 'split-of-xom'`},
		{"actions", "an announcement twice", `INSERT INTO announcements SELECT * FROM announcements WHERE action_id = 'split-of-xom'`},
		{"actions", "a later announcement", `UPDATE announcements SET revision = 2 WHERE action_id = 'split-of-xom'`},
		{"actions", "an unknown asset", `UPDATE actions SET asset_id = 99 WHERE id = 'split-of-xom'`},

		{"action_orders", "sent while due", `UPDATE actions SET boundary = 1, first_seen = 1 WHERE id = 'reverse-of-xom'; UPDATE announcements SET seen_at = 1 WHERE action_id = 'reverse-of-xom'`},

		{"payouts", "less than the parts", `UPDATE payouts SET net = shared - 1 WHERE switch = 7`},
		{"payouts", "another sum", `UPDATE payouts SET shared = shared + 1 WHERE switch = 7`},
		{"payouts", "other shares", `UPDATE payouts SET counted = counted * 2 WHERE switch = 7`},
		{"payouts", "a part less", `UPDATE effects SET cash = cash - 1 WHERE switch = 4 AND cash > 0; UPDATE payouts SET shared = shared - 1 WHERE switch = 4`},
		{"payouts", "a part more", `UPDATE effects SET cash = cash + 1 WHERE switch = 7 AND user_id = @cy`},
		{"payouts", "an award gone", `UPDATE effects SET reward_id = zeroblob(16) WHERE switch = 7 AND user_id = @cy`},
		{"payouts", "an award that is not noted", `UPDATE effects SET reward_id = x'' WHERE switch = 7 AND user_id = @cy`},
		{"payouts effects", "an award that is noted twice", `INSERT INTO effects SELECT * FROM effects WHERE switch = 7 AND user_id = @cy`},
		{"payouts", "an award of no action", `DELETE FROM payouts WHERE switch = 7; UPDATE effects SET cash = 0, reward_id = x'' WHERE switch = 7`},
		{"payouts", "another award", `UPDATE effects SET reward_id = @cy-recorded WHERE switch = 7 AND user_id = @cy`},
		{"payouts", "an award of another amount", `UPDATE rewards SET amount = amount + 1 WHERE id = @reinvested`},
		{"payouts", "an award of another stock", `UPDATE rewards SET asset_id = 1 WHERE id = @reinvested; UPDATE open_rewards SET asset_id = 1 WHERE id = @reinvested`},
		{"payouts", "an award with another key", `UPDATE rewards SET idempotency_key = 'x' WHERE id = @reinvested`},
		{"payouts", "gone", `DELETE FROM payouts WHERE switch = 7`},
		{"payouts", "twice", `INSERT INTO payouts SELECT * FROM payouts WHERE switch = 7`},
		{"payouts", "of an unknown activity", `DELETE FROM broker_activities`},
		{"payouts", "of a split", `UPDATE payouts SET action_id = 'split-of-xom' WHERE switch = 7`},
		{"payouts", "of another switch", `UPDATE payouts SET switch = 1 WHERE switch = 7`},
		{"payouts", "paid before it was shared", `UPDATE payouts SET shared_at = 0 WHERE switch = 7`},
		{"payouts", "of no shares", `UPDATE payouts SET counted = 0 WHERE switch = 7`},

		{"app_assets", "gone", `DELETE FROM app_assets WHERE app_id = @second`},
		{"app_assets", "twice", `INSERT INTO app_assets SELECT * FROM app_assets`},
		{"asset_known", "noted for an app", `INSERT INTO app_assets VALUES (@first, 77)`},
		{"tenancy", "noted for no app", `INSERT INTO app_assets VALUES (x'01', 1)`},

		{"custody", "a share of the house", `UPDATE house_holdings SET quantity = quantity + 1 WHERE asset_id = 1`},
		{"custody", "the house's gone", `DELETE FROM house_holdings WHERE asset_id = 7`},
		{"custody", "the house's twice", `INSERT INTO house_holdings SELECT * FROM house_holdings WHERE asset_id = 7`},
		{"custody", "the house's and booked", `UPDATE house_holdings SET quantity = quantity + 1 WHERE asset_id = 1; UPDATE positions SET booked = booked + 1 WHERE asset_id = 1`},
		{"custody", "the position after a switch", `UPDATE switches SET position = position + 1 WHERE number = 1`},
		{"custody", "the target's position after a switch", `UPDATE switches SET target_position = target_position + 1 WHERE number = 3`},
		{"custody", "the position after a switch under way", `UPDATE switches SET position = position + 1 WHERE number = 10`},
		{"custody", "another correction", `UPDATE order_corrections SET change = change + 1; UPDATE positions SET booked = booked + 1 WHERE asset_id = 1; UPDATE house_holdings SET quantity = quantity + 1 WHERE asset_id = 1`},
		{"custody", "no correction", `DELETE FROM order_corrections`},
		{"custody", "another correction of a position", `UPDATE position_corrections SET change = change + 1; UPDATE positions SET booked = booked + 1 WHERE asset_id = 7; UPDATE house_holdings SET quantity = quantity + 1 WHERE asset_id = 7`},
		{"custody", "no correction of a position", `DELETE FROM position_corrections`},
		{"references", "a correction of nothing", `UPDATE order_corrections SET order_id = x'ff'`},
		{"references", "a correction of an open order", `UPDATE order_corrections SET order_id = @open`},
		{"references", "a second correction", `UPDATE order_corrections SET number = 2`},
		{"spending", "more for shares that the house owes", `UPDATE spending SET shortage = house + 1`},
		{"spending", "less than nothing for shares that the house owes", `UPDATE spending SET shortage = -1`},
		{"operator_state", "dividends by hand", `UPDATE apps SET dividends = 2 WHERE id = @first`},
	}
}

// TestSweepUnderWay audits a store whose sweep has reached one user of four.
func TestSweepUnderWay(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		c := audittest.History(t, in).Copy(t)
		c.Exec(`UPDATE switches SET swept_app = @first, swept_user = @ann WHERE number = 10; ` +
			`UPDATE switches SET users_before = (SELECT quantity FROM holdings WHERE user_id = @ann AND asset_id = 4) WHERE number = 10; ` +
			`UPDATE switches SET users_after = users_before * 3 / 2 WHERE number = 10; ` +
			`INSERT INTO effects SELECT 10, app_id, user_id, asset_id, quantity, quantity * 3 / 2, cost_basis, cost_basis, quantity, 0, x'' FROM holdings WHERE user_id = @ann AND asset_id = 4; ` +
			`UPDATE holdings SET quantity = quantity * 3 / 2, generation = 1 WHERE user_id = @ann AND asset_id = 4`)
		if r := run(t, c.Where); !r.OK() {
			t.Errorf("the audit fails:\n%s", text(t, r))
		}
		c.Exec(`UPDATE switches SET swept_user = @bob WHERE number = 10`)
		wantViolations(t, run(t, c.Where), "effects", "generations")
	})
}
