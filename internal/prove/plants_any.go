package prove

// anyPlants is damage for any books that have a row of the kind. It is written for
// what both engines know.
func anyPlants() []Plant {
	return []Plant{
		breaking("ids", "a reward", `UPDATE rewards SET id = x'01'
			WHERE id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("key_unique", "two under one key", `INSERT INTO rewards SELECT * FROM rewards
			WHERE id = (SELECT id FROM rewards ORDER BY id LIMIT 1)`),
		breaking("fingerprint", "a millionth more", `UPDATE rewards SET amount = amount + 1
			WHERE id = (SELECT id FROM rewards ORDER BY id LIMIT 1)`),
		breaking("status_forward", "executed and waiting", `UPDATE rewards SET waiting = 1
			WHERE id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("executed_complete", "executed without allocation", `DELETE FROM allocations
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("failed_nothing_bought", "failed without a reason", `UPDATE rewards SET failure_reason = ''
			WHERE id = (SELECT id FROM rewards WHERE status = 4 ORDER BY id LIMIT 1)`),
		breaking("failed_nothing_bought", "a reason of what is executed", `UPDATE rewards SET failure_reason = 'x'
			WHERE id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("open_fields", "a reason", `UPDATE rewards SET failure_reason = 'x: y'
			WHERE id = (SELECT id FROM rewards WHERE status < 3 ORDER BY id LIMIT 1)`),
		breaking("asset_known", "of a reward", `UPDATE rewards SET asset_id = -1
			WHERE id = (SELECT id FROM rewards ORDER BY id LIMIT 1)`),
		breaking("amount_range", "nothing", `UPDATE rewards SET amount = 0
			WHERE id = (SELECT id FROM rewards ORDER BY id LIMIT 1)`),
		breaking("one_live_order", "waiting twice", `UPDATE rewards SET waiting = 2
			WHERE id = (SELECT id FROM rewards ORDER BY id LIMIT 1)`),
		breaking("parts_sum", "booked a millionth less", `UPDATE rewards SET booked = booked - 1
			WHERE id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("carried_rest", "a millionth too much", `UPDATE order_rewards SET amount = amount + 1
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("members_hash", "the seal of other members", `UPDATE orders SET members_hash = zeroblob(32)
			WHERE id = (SELECT id FROM orders ORDER BY id LIMIT 1)`),
		breaking("member_order", "from one on", `UPDATE order_rewards SET position = position + 1
			WHERE order_id = (SELECT id FROM orders ORDER BY id LIMIT 1)`),
		breaking("order_amount", "a cent more", `UPDATE orders SET notional = notional + 10000
			WHERE id = (SELECT id FROM orders ORDER BY id LIMIT 1)`),
		breaking("client_order_id", "none", `UPDATE orders SET client_order_id = ''
			WHERE id = (SELECT id FROM orders ORDER BY id LIMIT 1)`),
		breaking("order_state", "settled at no time", `UPDATE orders SET settled_at = 0
			WHERE id = (SELECT id FROM orders WHERE broker_status = 'filled' AND state = 6 ORDER BY id LIMIT 1)`),
		breaking("order_end", "settled, and open at the broker", `UPDATE orders SET broker_status = 'new'
			WHERE id = (SELECT id FROM orders WHERE broker_status = 'filled' AND state = 6 ORDER BY id LIMIT 1)`),
		breaking("resolution", "of an order that was filled",
			`INSERT INTO order_resolutions SELECT id, filled_qty + 1, 1, 'x', settled_at FROM orders
			WHERE id = (SELECT id FROM orders WHERE broker_status = 'filled' AND state = 6 ORDER BY id LIMIT 1)`),
	}
}

func anyBookPlants() []Plant {
	return []Plant{
		breaking("fill_cost", "twice the price", `UPDATE orders SET filled_avg_price = filled_avg_price * 2
			WHERE id = (SELECT id FROM orders WHERE broker_status = 'filled' AND state = 6 ORDER BY id LIMIT 1)`),
		breaking("fill_cost", "half the price", `UPDATE orders SET filled_avg_price = filled_avg_price / 2
			WHERE id = (SELECT id FROM orders WHERE broker_status = 'filled' AND state = 6 ORDER BY id LIMIT 1)`),
		breaking("allocation_sum", "a billionth too many", `UPDATE allocations SET shares = shares + 1
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("house_residue", "the house has more than all", `UPDATE orders SET house_shares = filled_qty + 1
			WHERE id = (SELECT id FROM orders WHERE broker_status = 'filled' AND state = 6 ORDER BY id LIMIT 1)`),
		breaking("allocation_member", "of an order that does not carry it", `UPDATE allocations SET order_id = x'00'
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("one_split", "a millionth of a part", `UPDATE allocations SET amount = amount - 1
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("allocation_floor", "a billionth too many", `UPDATE allocations SET shares = shares + 1
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("dollars_sum", "a millionth made", `UPDATE allocations SET amount = amount + 1
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("holding_sum", "a billionth more", `UPDATE holdings SET quantity = quantity + 1
			WHERE user_id = (SELECT user_id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("custody", "filled a billionth more", `UPDATE orders SET filled_qty = filled_qty + 1
			WHERE id = (SELECT id FROM orders WHERE broker_status = 'filled' AND state = 6 ORDER BY id LIMIT 1)`),
		breaking("cost_basis", "off by a millionth", `UPDATE holdings SET cost_basis = cost_basis + 1
			WHERE user_id = (SELECT user_id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("allocation_unique", "twice", `INSERT INTO allocations SELECT * FROM allocations
			WHERE reward_id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("tenancy", "of another app", `UPDATE rewards SET app_id = zeroblob(16)
			WHERE id = (SELECT id FROM rewards ORDER BY id LIMIT 1)`),
		breaking("references", "an order gone", `DELETE FROM orders
			WHERE id = (SELECT id FROM orders ORDER BY id LIMIT 1)`),
		breaking("order_times", "sent before it was planned", `UPDATE orders SET first_attempt_at = 1
			WHERE id = (SELECT id FROM orders WHERE attempts > 0 ORDER BY id LIMIT 1)`),
		breaking("reward_times", "executed before it was recorded", `UPDATE rewards SET executed_at = 1
			WHERE id = (SELECT id FROM rewards WHERE status = 3 ORDER BY id LIMIT 1)`),
		breaking("custody", "a running total a billionth less", `UPDATE positions SET booked = booked - 1
			WHERE asset_id = (SELECT min(asset_id) FROM positions WHERE booked > 0)`),
		breaking("custody", "no running total", `DELETE FROM positions
			WHERE asset_id = (SELECT min(asset_id) FROM positions WHERE booked > 0)`),
		breaking("asset_known", "held by no action",
			`UPDATE assets SET hold_from = 5 WHERE id = (SELECT min(id) FROM assets)`),
		breaking("spending", "a millionth more", `UPDATE spending SET notional = notional + 1
			WHERE day = (SELECT min(day) FROM spending)`),
		breaking("lease", "a negative epoch", `UPDATE lease SET epoch = -1`),
		breaking("api_keys", "a short hash", `UPDATE keys SET hash = x'01'
			WHERE id = (SELECT id FROM keys ORDER BY id LIMIT 1)`),
		breaking("users", "nameless", `UPDATE users SET email = '', email_folded = '', external_id = ''
			WHERE id = (SELECT id FROM users ORDER BY id LIMIT 1)`),
		breaking("user_unique", "twice", `INSERT INTO users SELECT * FROM users
			WHERE id = (SELECT id FROM users ORDER BY id LIMIT 1)`),
		breaking("user_seal", "another email", `UPDATE users SET email = 'x', email_folded = 'x'
			WHERE id = (SELECT id FROM users ORDER BY id LIMIT 1)`),
		breaking("operator_log", "another reason", `UPDATE operator_log SET reason = reason || '.'
			WHERE number = (SELECT min(number) FROM operator_log)`),
		breaking("operator_state", "a key revoked by hand", `UPDATE keys SET revoked_at = revoked_at + 1
			WHERE id = (SELECT id FROM keys ORDER BY id LIMIT 1)`),
	}
}
