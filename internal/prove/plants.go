package prove

func rewardPlants() []Plant {
	return []Plant{
		breaking("ids", "not a UUID", `UPDATE keys SET id = x'01' WHERE id = @first-key`),
		breaking("ids", "version 4", `UPDATE keys SET id = x'0195d0aabbcc4ddd8eee0123456789ab'
			WHERE id = @first-key`),
		breaking("ids", "an app twice", `INSERT INTO apps SELECT * FROM apps WHERE id = @first`),
		breaking("ids", "a key twice", `INSERT INTO keys SELECT * FROM keys WHERE id = @first-key`),
		breaking("ids", "a user twice", `INSERT INTO users SELECT * FROM users WHERE id = @dee`),
		breaking("ids", "a reward twice", `INSERT INTO rewards SELECT * FROM rewards WHERE id = @cy-recorded`),
		breaking("ids", "an order twice", `INSERT INTO orders SELECT * FROM orders WHERE id = @filled`),
		breaking("key_unique", "twice", `UPDATE rewards SET idempotency_key = 'ann-aapl' WHERE id = @ann-msft`),
		breaking("key_unique", "empty", `UPDATE rewards SET idempotency_key = '' WHERE id = @ann-msft`),
		breaking("fingerprint", "amount", `UPDATE rewards SET amount = amount + 1 WHERE id = @cy-recorded`),
		breaking("fingerprint", "user", `UPDATE rewards SET user_id = @dee WHERE id = @cy-recorded`),
		breaking("fingerprint", "symbol", `UPDATE rewards SET symbol = 'BRK.B' WHERE id = @cy-recorded`),
		breaking("fingerprint", "source", `UPDATE rewards SET source = 'x' WHERE id = @cy-recorded`),
		breaking("fingerprint", "metadata", `UPDATE rewards SET metadata = '{"a":1}' WHERE id = @cy-recorded`),
		breaking("fingerprint", "a large number", `UPDATE rewards SET metadata = replace(metadata, '0993', '0992')
			WHERE id = @ann-aapl`),
		breaking("fingerprint", "no object", `UPDATE rewards SET metadata = '{' WHERE id = @ann-aapl`),
		breaking("fingerprint", "version",
			`UPDATE rewards SET fingerprint = CAST(x'03' || substr(fingerprint, 2) AS BLOB)`),
		breaking("fingerprint", "length", `UPDATE rewards SET fingerprint = x'' WHERE id = @ann-aapl`),
		breaking("status_forward", "unknown", `UPDATE rewards SET status = 5 WHERE id = @cy-recorded`),
		breaking("status_forward", "back to recorded", `UPDATE rewards SET status = 1, waiting = 1
			WHERE id = @bob-open`),
		breaking("status_forward", "recorded, not waiting", `UPDATE rewards SET waiting = 0
			WHERE id = @cy-recorded`),
		breaking("status_forward", "recorded, booked", `UPDATE rewards SET booked = 1 WHERE id = @cy-recorded`),
		breaking("status_forward", "final, waiting", `UPDATE rewards SET waiting = 1 WHERE id = @ann-aapl`),
		breaking("status_forward", "never in an order", `DELETE FROM order_rewards WHERE reward_id = @ann-aapl`),
		breaking("executed_complete", "no time", `UPDATE rewards SET executed_at = 0 WHERE id = @ann-aapl`),
		breaking("executed_complete", "a time before", `UPDATE rewards SET executed_at = 9 WHERE id = @bob-open`),
		breaking("executed_complete", "in part", `UPDATE rewards SET booked = booked - 1 WHERE id = @ann-aapl`),
		breaking("executed_complete", "a reason", `UPDATE rewards SET failure_reason = 'x' WHERE id = @ann-aapl`),
		breaking("executed_complete", "no shares", `UPDATE allocations SET shares = 0 WHERE reward_id = @ann-aapl`),
		breaking("executed_complete", "no allocation", `DELETE FROM allocations WHERE reward_id = @ann-aapl`),
		breaking("failed_nothing_bought", "no reason", `UPDATE rewards SET failure_reason = ''
			WHERE id = @bob-tsla`),
		breaking("failed_nothing_bought", "not failed", `UPDATE rewards SET failure_reason = 'x'
			WHERE id = @cy-recorded`),
		breaking("failed_nothing_bought", "booked", `UPDATE rewards SET booked = 1 WHERE id = @bob-tsla`),
		breaking("failed_nothing_bought", "shares", `UPDATE allocations SET shares = 1 WHERE reward_id = @ann-brk`),
		breaking("failed_nothing_bought", "other reason", `UPDATE rewards SET failure_reason = 'x: y'
			WHERE id = @ann-brk`),
		breaking("failed_nothing_bought", "bought",
			`UPDATE rewards SET status = 4, executed_at = 0, failure_reason = 'x: y'
			WHERE id = @ann-aapl`),
		breaking("failed_nothing_bought", "in a live order", `UPDATE rewards SET status = 4, failure_reason = 'x: y'
			WHERE id = @bob-open`),
		breaking("failed_nothing_bought", "not refused",
			`UPDATE rewards SET status = 4, waiting = 0, failure_reason = 'x: y'
			WHERE id = @cy-waits`),
		breaking("failed_nothing_bought", "refused, waiting",
			`UPDATE rewards SET status = 2, waiting = 1, failure_reason = ''
			WHERE id = @dee-tsla`),
		breaking("open_fields", "reason", `UPDATE rewards SET failure_reason = 'x: y' WHERE id = @bob-open`),
		breaking("open_fields", "time", `UPDATE rewards SET executed_at = 9 WHERE id = @cy-recorded`),
	}
}

func rewardAssetPlants() []Plant {
	return []Plant{
		breaking("asset_known", "of a reward", `UPDATE rewards SET asset_id = 99 WHERE id = @cy-recorded`),
		breaking("asset_known", "of an order", `UPDATE orders SET asset_id = 99 WHERE id = @planned`),
		breaking("asset_known", "of another order", `UPDATE orders SET asset_id = asset_id % 7 + 1
			WHERE id = @planned`),
		breaking("asset_known", "of a holding", `UPDATE holdings SET asset_id = 99 WHERE user_id = @dee`),
		breaking("asset_known", "of a price", `UPDATE prices SET asset_id = 99`),
		breaking("asset_known", "gone", `DELETE FROM assets WHERE symbol = 'AAPL'`),
		breaking("asset_known", "a symbol twice", `UPDATE assets SET symbol = 'AAPL' WHERE symbol = 'MSFT'`),
		breaking("asset_known", "no symbol", `UPDATE assets SET symbol = '' WHERE symbol = 'MSFT'`),
		breaking("asset_known", "an asset twice",
			`INSERT INTO assets SELECT id, '', 'X', '', 1, 1, 0, 0, 0, 0 FROM assets
			WHERE symbol = 'MSFT'`),
		breaking("asset_known", "a reward without symbol", `UPDATE rewards SET symbol = ''
			WHERE id = @cy-recorded`),
		breaking("asset_known", "an order without symbol", `UPDATE orders SET symbol = '' WHERE id = @planned`),
		breaking("amount_range", "zero", `UPDATE rewards SET amount = 0 WHERE id = @cy-recorded`),
		breaking("amount_range", "too large", `UPDATE rewards SET amount = 1000000000001 WHERE id = @cy-recorded`),
		breaking("one_live_order", "and waiting", `UPDATE rewards SET waiting = 1 WHERE id = @bob-open`),
		breaking("one_live_order", "neither", `UPDATE rewards SET waiting = 0 WHERE id = @dee-ko`),
		breaking("one_live_order", "two", `INSERT INTO order_rewards SELECT @planned, 1, app_id, reward_id, amount
			FROM order_rewards WHERE reward_id = @bob-open`),
		breaking("one_live_order", "executed",
			`INSERT INTO order_rewards SELECT @planned, 1, app_id, reward_id, amount
			FROM order_rewards WHERE reward_id = @ann-aapl`),
		breaking("one_live_order", "waiting twice", `UPDATE rewards SET waiting = 2 WHERE id = @dee-ko`),
		breaking("parts_sum", "more", `UPDATE rewards SET booked = booked + 1 WHERE id = @cy-msft`),
		breaking("parts_sum", "an allocation", `UPDATE allocations SET amount = amount + 1
			WHERE reward_id = @cy-msft`),
		breaking("parts_sum", "complete", `UPDATE rewards SET status = 2, waiting = 1, executed_at = 0
			WHERE id = @ann-aapl`),
		breaking("parts_sum", "too much", `UPDATE rewards SET booked = amount + 1 WHERE id = @ann-aapl`,
			`UPDATE allocations SET amount = amount + 1 WHERE reward_id = @ann-aapl`),
		breaking("carried_rest", "too much", `UPDATE order_rewards SET amount = amount + 1
			WHERE reward_id = @bob-msft AND order_id = @child`),
		breaking("carried_rest", "the first", `UPDATE order_rewards SET amount = amount - 1
			WHERE reward_id = @ann-aapl`),
		breaking("child_after_parent", "open", `UPDATE orders SET state = 3, settled_at = 0 WHERE id = @canceled`),
		breaking("child_after_parent", "refused", `UPDATE orders SET state = 7 WHERE id = @nothing`),
		breaking("reward_times", "before its creation", `UPDATE rewards SET executed_at = 1 WHERE id = @ann-aapl`),
		breaking("reward_times", "another time", `UPDATE rewards SET executed_at = executed_at + 1
			WHERE id = @ann-aapl`),
	}
}

func orderPlants() []Plant {
	return []Plant{
		breaking("members_hash", "seal", `UPDATE orders SET members_hash = zeroblob(32) WHERE id = @planned`),
		breaking("members_hash", "amount", `UPDATE order_rewards SET amount = amount + 1
			WHERE order_id = @planned`),
		breaking("members_hash", "reward", `UPDATE order_rewards SET reward_id = @bob-open
			WHERE order_id = @planned`),
		breaking("members_hash", "app", `UPDATE order_rewards SET app_id = @second WHERE order_id = @planned`),
		breaking("members_hash", "order", `UPDATE order_rewards SET position = 2 - position
			WHERE order_id = @filled`),
		breaking("members_hash", "one less", `DELETE FROM order_rewards WHERE order_id = @filled AND position = 2`),
		breaking("members_hash", "one more",
			`INSERT INTO order_rewards VALUES (@filled, 3, @second, @cy-recorded, 1)`),
		breaking("member_order", "none", `DELETE FROM order_rewards WHERE order_id = @planned`),
		breaking("member_order", "gap", `UPDATE order_rewards SET position = 5
			WHERE order_id = @filled AND position = 2`),
		breaking("member_order", "from one on", `UPDATE order_rewards SET position = position + 1
			WHERE order_id = @filled`),
		breaking("member_order", "not by arrival", `UPDATE order_rewards SET position = 2 - position
			WHERE order_id = @filled`),
		breaking("member_order", "twice", `INSERT INTO order_rewards SELECT order_id, 3, app_id, reward_id, 1
			FROM order_rewards WHERE order_id = @filled AND position = 2`),
		breaking("member_order", "nothing", `UPDATE order_rewards SET amount = 0 WHERE order_id = @planned`),
		breaking("order_amount", "notional", `UPDATE orders SET notional = notional + 10000 WHERE id = @planned`),
		breaking("order_amount", "house", `UPDATE orders SET house = house + 1 WHERE id = @planned`),
		breaking("order_amount", "member", `UPDATE order_rewards SET amount = amount + 1
			WHERE order_id = @planned`),
		breaking("order_amount", "not cents", `UPDATE orders SET house = house + 1, notional = notional + 1
			WHERE id = @planned`),
		breaking("order_amount", "small", `UPDATE orders SET notional = 500000, house = 400000 WHERE id = @topped`),
		breaking("order_amount", "house below 0",
			`UPDATE orders SET notional = notional - 10000, house = house - 10000
			WHERE id = @planned`),
		breaking("order_amount", "all the house's", `UPDATE order_rewards SET amount = 0 WHERE order_id = @planned`,
			`UPDATE orders SET house = notional WHERE id = @planned`),
		breaking("client_order_id", "none", `UPDATE orders SET client_order_id = '' WHERE id = @planned`),
		breaking("client_order_id", "twice",
			`UPDATE orders SET client_order_id = (SELECT client_order_id FROM orders
			WHERE id = @open) WHERE id = @planned`),
		breaking("order_state", "unknown", `UPDATE orders SET state = 0 WHERE id = @planned`),
		breaking("order_state", "planned, sent", `UPDATE orders SET state = 1 WHERE id = @submitted`),
		breaking("order_state", "never sent", `UPDATE orders SET attempts = 0 WHERE id = @submitted`),
		breaking("order_state", "no first attempt", `UPDATE orders SET first_attempt_at = 0 WHERE id = @submitted`),
		breaking("order_state", "open, settled", `UPDATE orders SET settled_at = 9 WHERE id = @open`),
		breaking("order_state", "settled when", `UPDATE orders SET settled_at = 0 WHERE id = @filled`),
		breaking("order_state", "planned, heard of", `UPDATE orders SET broker_id = 'b' WHERE id = @planned`),
		breaking("order_state", "refused, filled", `UPDATE orders SET filled_qty = 1, filled_avg_price = 1
			WHERE id = @refused`),
		breaking("order_state", "refused why", `UPDATE orders SET reason = '' WHERE id = @refused`),
		breaking("order_state", "quarantined why", `UPDATE orders SET reason = '' WHERE id = @quarantined`),
	}
}

func orderEndPlants() []Plant {
	return []Plant{
		breaking("order_end", "still open", `UPDATE orders SET broker_status = 'new' WHERE id = @canceled`),
		breaking("order_end", "filled with nothing", `UPDATE orders SET broker_status = 'filled'
			WHERE id = @nothing`),
		breaking("resolution", "none", `UPDATE orders SET state = 5 WHERE id = @quarantined`),
		breaking("resolution", "another fill", `UPDATE order_resolutions SET filled_qty = filled_qty + 1
			WHERE order_id = @resolved`),
		breaking("resolution", "another price", `UPDATE order_resolutions SET price = price + 1
			WHERE order_id = @resolved`),
		breaking("resolution", "of an open order", `UPDATE order_resolutions SET order_id = @open
			WHERE order_id = @resolved`),
		breaking("resolution", "no price", `UPDATE order_resolutions SET price = 0 WHERE order_id = @resolved`),
		breaking("resolution", "twice", `INSERT INTO order_resolutions SELECT * FROM order_resolutions`),
		breaking("order_times", "attempt", `UPDATE orders SET first_attempt_at = 1 WHERE id = @open`),
		breaking("order_times", "settlement", `UPDATE orders SET settled_at = first_attempt_at - 1
			WHERE id = @filled`),
		breaking("order_times", "resolution", `UPDATE order_resolutions SET at = 1 WHERE order_id = @resolved`),
		breaking("order_times", "settled, then resolved", `UPDATE orders SET settled_at = first_attempt_at + 1
			WHERE id = @resolved`),
		breaking("order_times", "planned before its rewards",
			`UPDATE orders SET id = CAST(x'00' || substr(id, 2) AS BLOB)
			WHERE id = @planned`,
			`UPDATE order_rewards SET order_id = CAST(x'00' || substr(order_id, 2) AS BLOB)
				WHERE order_id = @planned`),
	}
}
