package audit_test

// placeOfAnn is a part of the damages.
const placeOfAnn = `(SELECT place FROM all_members WHERE reward_id = @ann-aapl)`

// Parts of the damages of lots.
const (
	oldestBlock = ` WHERE place = (SELECT min(place) FROM lot_blocks)`
	oldestLots  = ` WHERE number = (SELECT min(number) FROM order_lots)`
	newestLots  = ` WHERE number = (SELECT max(number) FROM order_lots)`
)

// lotDamages damages what finds the lots of users.
func lotDamages() []damage {
	return []damage{
		{"lots", "none of an order", `DELETE FROM order_lots` + newestLots},
		{"lots", "a gap", `DELETE FROM order_lots` + oldestLots},
		{"lots", "a number too high", `UPDATE order_lots SET number = number + 1` + newestLots},
		{"lots", "of no order", `UPDATE order_lots SET order_number = 9999` + newestLots},
		{"lots", "of another order", `UPDATE order_lots SET order_number = order_number - 1` + newestLots},
		{"lots", "another time", `UPDATE order_lots SET at = at + 1` + oldestLots},
		{"lots", "another mark", `UPDATE order_lots SET mark = mark + 1` + oldestLots},
		{"lots", "more than there are", `UPDATE order_lots SET lots = lots + 1` + oldestLots},
		{"lots", "part of a lot", `UPDATE order_lots SET entries = substr(entries, 1, length(entries) - 1)` + oldestLots},
		{"lots", "another user", `UPDATE lot_blocks SET entries = CAST(x'01' || substr(entries, 2) AS BLOB), first_user = first_user % 1099511627776 + 1099511627776` + oldestBlock},
		{"lots", "another place", `UPDATE lot_blocks SET entries = CAST(substr(entries, 1, length(entries) - 1) || x'ff' AS BLOB)` + oldestBlock},
		{"lots", "no block", `DELETE FROM lot_blocks` + oldestBlock},
		{"lots", "a block twice", `INSERT INTO lot_blocks SELECT * FROM lot_blocks` + oldestBlock},
		{"lots", "another first user", `UPDATE lot_blocks SET first_user = first_user + 1` + oldestBlock},
		{"lots", "a block at another place", `UPDATE lot_blocks SET place = place + 1` + oldestBlock},
		{"lots", "a block of no segment", `UPDATE lot_blocks SET segment = 99, place = 99 * 1048576` + oldestBlock},
		{"lots", "an empty block", `INSERT INTO lot_blocks SELECT place + 1, segment, first_user, substr(entries, 1, 0) FROM lot_blocks` + oldestBlock},
		{"lots", "in another order", `UPDATE lot_blocks SET entries = CAST(substr(entries, 13, 12) || substr(entries, 1, 12) || substr(entries, 25) AS BLOB)` + oldestBlock},
		{"lots", "a lot twice", `UPDATE lot_blocks SET entries = CAST(substr(entries, 1, 12) || entries AS BLOB)` + oldestBlock},
		{"lots", "part of a lot in a block", `UPDATE lot_blocks SET entries = substr(entries, 1, length(entries) - 1)` + oldestBlock},
		{"lots", "no segment", `DELETE FROM lot_segments WHERE number = 0`},
		{"lots", "another segment", `UPDATE lot_segments SET number = 7 WHERE number = 0`},
		{"lots", "a segment with more", `UPDATE lot_segments SET lots = lots + 1 WHERE number = 0`},
		{"lots", "a segment that ends earlier", `UPDATE lot_segments SET last = last - 1 WHERE number = (SELECT max(number) FROM lot_segments)`},
		{"lots", "a segment without bookings", `UPDATE lot_segments SET last = 0 WHERE number = 0`},
		{"lots", "a segment that begins later", `UPDATE lot_segments SET earliest = earliest + 1 WHERE number = 0`},
		{"lots", "a segment that ends too early", `UPDATE lot_segments SET latest = latest - 1 WHERE number = 0`},
		{"lots", "a stray one of an earlier version", `INSERT INTO past_lots SELECT 1, 1, place FROM all_members WHERE order_id = @nothing`},
		{"lots", "a progress that is no number", `UPDATE settings SET value = 'soon' WHERE name = 'next_past_lots'`},
		{"lots", "one that should be moved", `DELETE FROM settings WHERE name = 'next_past_lots'`},
		{"lots", "one of an order that is moved", `UPDATE settings SET value = '9999' WHERE name = 'next_past_lots'`},
		{"lots", "one of an earlier version at another time", `UPDATE past_lots SET at = at + 1`},
		{"lots", "one of an earlier version twice", `INSERT INTO past_lots SELECT * FROM past_lots`},
		{"lots", "one of an earlier version with another hash", `UPDATE past_lots SET user_hash = user_hash + 1152921504606846976`},
		{"lots", "a reward's user changed", `UPDATE rewards SET user_id = @bob WHERE id = @ann-aapl`},
		{"lots", "the order's time changed", `UPDATE orders SET settled_at = settled_at + 1 WHERE id = @filled`},
	}
}

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
