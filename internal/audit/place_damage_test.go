package audit_test

// Parts of the damages.
const (
	placeOfAnn = `(SELECT place FROM all_members WHERE reward_id = @ann-aapl)`
	ofAnn      = ` WHERE place = ` + placeOfAnn
)

// placeDamages damages how the members of orders are stored, and what finds them.
func placeDamages() []damage {
	return []damage{
		{"places", "of no order", `UPDATE all_members SET order_id = x'' WHERE order_id = @planned`},
		{"places", "no number", `UPDATE orders SET number = 0 WHERE id = @filled`},
		{"places", "no number of an open order", `UPDATE orders SET number = 0 WHERE id = @planned; UPDATE all_members SET place = 0 WHERE order_id = @planned`},
		{"places", "a negative number", `UPDATE orders SET number = -1 WHERE id = @filled`},
		{"places", "a number of an order that is not moved", `UPDATE orders SET number = 999 WHERE id = @topped`},
		{"places", "a number twice", `UPDATE orders SET number = (SELECT number FROM orders WHERE id = @filled) WHERE id = @child`},
		{"places", "a member without one", `UPDATE all_members SET place = 0 WHERE order_id = @filled AND position = 1`},
		{"places", "a past allocation of a moved order", `INSERT INTO past_allocations SELECT app_id, reward_id, order_id, bought, shares, x'', 0, 0 FROM all_members WHERE reward_id = @ann-aapl`},
		{"places allocation_member", "bought by an open order", `UPDATE all_members SET bought = 1 WHERE order_id = @open`},
		{"places", "completed by an open order", `UPDATE all_members SET completes = 1 WHERE order_id = @open`},
		{"places", "an open order after another", `UPDATE all_members SET before = 1024 WHERE order_id = @open`},
		{"places", "more than its amount", `UPDATE all_members SET bought = amount + 1 WHERE reward_id = @ann-aapl`},
		{"places", "less than nothing", `UPDATE all_members SET bought = -1 WHERE reward_id = @ann-aapl`},
		{"chains", "no place", `UPDATE rewards SET place = 0 WHERE id = @ann-aapl`},
		{"chains", "a place of no order", `UPDATE rewards SET place = 9 WHERE id = @cy-recorded`},
		{"chains", "its first place", `UPDATE rewards SET place = (SELECT min(place) FROM all_members WHERE reward_id = @bob-msft) WHERE id = @bob-msft`},
		{"chains", "no place before", `UPDATE all_members SET before = 0 WHERE reward_id = @bob-msft`},
		{"chains", "in a circle", `UPDATE all_members SET before = place WHERE reward_id = @bob-msft`},
		{"chains", "another reward's place before", `UPDATE all_members SET before = ` + placeOfAnn + ` WHERE reward_id = @cy-aapl`},
		{"chains", "its place in an open order", `UPDATE rewards SET place = (SELECT place FROM all_members WHERE order_id = @open) WHERE id = @bob-open`},
		{"chains", "of a refused order", `UPDATE rewards SET place = 0 WHERE id = @bob-tsla`},
		{"chains", "more shares", `UPDATE rewards SET shares = shares + 1 WHERE id = @ann-aapl`},
		{"chains", "shares that are not moved", `UPDATE rewards SET shares = 1 WHERE id = @dee-nvda`},
		{"chains", "another place while it is ordered", `UPDATE open_rewards SET place = place + 1 WHERE id = @bob-open`},
		{"chains", "no place while it is ordered", `UPDATE open_rewards SET place = 0 WHERE id = @bob-open`},
		{"chains", "a place while it is recorded", `UPDATE open_rewards SET place = 1024 WHERE id = @cy-recorded`},
		{"lots", "none", `DELETE FROM lots` + ofAnn},
		{"lots", "two", `INSERT INTO lots SELECT * FROM lots` + ofAnn},
		{"lots", "another user", `UPDATE lots SET user_hash = user_hash + 1` + ofAnn},
		{"lots", "another time", `UPDATE lots SET at = at + 1` + ofAnn},
		{"lots", "another place", `UPDATE lots SET place = place + 1` + ofAnn},
		{"lots", "of a part that bought nothing", `INSERT INTO lots SELECT 1, 1, place FROM all_members WHERE order_id = @nothing`},
		{"lots", "a reward's user changed", `UPDATE rewards SET user_id = @bob WHERE id = @ann-aapl`},
		{"lots", "the order's time changed", `UPDATE orders SET settled_at = settled_at + 1 WHERE id = @filled`},
		{"executed_spans", "none", `DELETE FROM executed_spans`},
		{"executed_spans", "one twice", `INSERT INTO executed_spans SELECT * FROM executed_spans`},
		{"executed_spans", "too short", `UPDATE executed_spans SET until = first`},
		{"executed_spans", "without an executed reward", `INSERT INTO executed_spans SELECT app_id, until, until FROM executed_spans`},
		{"executed_spans", "of another app", `UPDATE executed_spans SET app_id = @first WHERE app_id = @second`},
		{"executed_spans", "beginning late", `UPDATE executed_spans SET first = CAST(substr(first, 1, 5) || x'01' AS BLOB)`},
		{"activity", "executed, not completed", `UPDATE all_members SET completes = 0 WHERE reward_id = @bob-aapl`},
		{"activity", "completed by nothing", `UPDATE all_members SET completes = 1 WHERE order_id = @nothing`},
		{"activity", "completed by its first part", `UPDATE all_members SET completes = 1 - completes WHERE reward_id = @bob-msft`},
		{"allocation_unique", "a past one twice", `INSERT INTO past_allocations SELECT * FROM past_allocations`},
	}
}
