package prove

func fillPlants() []Plant {
	return []Plant{
		breaking("fill_cost", "too dear", `UPDATE orders SET filled_avg_price = filled_avg_price * 2
			WHERE id = @filled`),
		breaking("fill_cost", "more than a cent",
			`UPDATE orders SET filled_avg_price = filled_avg_price + filled_avg_price / 1000
			WHERE id = @filled`),
		breaking("fill_cost", "a thousandth of the price", `UPDATE orders
			SET filled_avg_price = filled_avg_price / 1000 WHERE id = @filled`),
		breaking("fill_cost", "more than a cent too little",
			`UPDATE orders SET filled_avg_price = filled_avg_price - filled_avg_price / 1000
			WHERE id = @filled`),
		breaking("fill_cost", "beyond counting", `UPDATE orders SET filled_qty = 9000000000000000000
			WHERE id = @filled`),
		breaking("fill_cost", "below 0", `UPDATE orders SET filled_qty = -1 WHERE id = @filled`),
		breaking("fill_cost", "no price", `UPDATE orders SET filled_avg_price = 0 WHERE id = @filled`),
		breaking("allocation_sum", "house", `UPDATE orders SET house_shares = house_shares + 1 WHERE id = @filled`),
		breaking("allocation_sum", "member", `UPDATE allocations SET shares = shares + 1
			WHERE reward_id = @ann-aapl`),
		breaking("allocation_sum", "gone", `DELETE FROM allocations WHERE reward_id = @ann-aapl`),
		breaking("allocation_sum", "fill", `UPDATE orders SET filled_qty = filled_qty - 1 WHERE id = @filled`),
		breaking("allocation_sum", "not settled", `UPDATE orders SET house_shares = 1 WHERE id = @open`),
		breaking("allocation_sum", "house below 0", `UPDATE orders SET house_shares = house_shares - 100
			WHERE id = @canceled`,
			`UPDATE allocations SET shares = shares + 100 WHERE order_id = @canceled AND reward_id = @ann-msft`),
		breaking("house_residue", "too much", `UPDATE orders SET house_shares = house_shares + 3
			WHERE id = @canceled`,
			`UPDATE allocations SET shares = shares - 3 WHERE order_id = @canceled AND reward_id = @ann-msft`),
		breaking("house_residue", "too little", `UPDATE orders SET house_shares = house_shares - 1000
			WHERE id = @topped`,
			`UPDATE allocations SET shares = shares + 1000 WHERE order_id = @topped`),
		breaking("allocation_sum", "a crumb", `UPDATE orders SET house_shares = 0 WHERE id = @crumb`),
		breaking("allocation_member", "of an open order",
			`INSERT INTO allocations VALUES (@first, @bob-open, @open, 1, 0)`),
		breaking("allocation_member", "of a refused order",
			`INSERT INTO allocations VALUES (@first, @bob-tsla, @refused, 1, 0)`),
		breaking("allocation_member", "of no member",
			`INSERT INTO allocations VALUES (@second, @cy-recorded, @filled, 1, 0)`),
		breaking("allocation_member", "of no order", `UPDATE allocations SET order_id = x'00'
			WHERE order_id = @topped`),
		breaking("one_split", "two", `UPDATE allocations SET amount = amount - 1
			WHERE order_id = @canceled AND reward_id = @ann-msft`,
			`UPDATE allocations SET amount = amount + 1 WHERE order_id = @canceled AND reward_id = @bob-msft`),
		breaking("one_split", "after the split one", `UPDATE allocations SET amount = amount - 1
			WHERE order_id = @canceled AND reward_id = @bob-msft`,
			`INSERT INTO allocations VALUES (@second, @dee-msft, @canceled, 1, 0)`),
		breaking("one_split", "nothing", `DELETE FROM allocations
			WHERE order_id = @canceled AND reward_id = @bob-msft`),
		breaking("one_split", "a part of nothing",
			`INSERT INTO allocations VALUES (@second, @dee-msft, @canceled, 0, 0)`),
		breaking("allocation_floor", "to the house", `UPDATE orders SET house_shares = house_shares + 1
			WHERE id = @filled`,
			`UPDATE allocations SET shares = shares - 1 WHERE reward_id = @bob-aapl`),
		breaking("allocation_floor", "to another", `UPDATE allocations SET shares = shares + 1
			WHERE reward_id = @cy-aapl`,
			`UPDATE allocations SET shares = shares - 1 WHERE reward_id = @bob-aapl`),
		breaking("dollars_sum", "lost", `UPDATE allocations SET amount = amount - 1 WHERE reward_id = @ann-aapl`),
		breaking("dollars_sum", "made", `UPDATE allocations SET amount = amount + 1 WHERE reward_id = @ann-aapl`),
	}
}

func holdingPlants() []Plant {
	return []Plant{
		breaking("holding_sum", "more", `UPDATE holdings SET quantity = quantity + 1
			WHERE user_id = @ann AND asset_id = 1`),
		breaking("holding_sum", "gone", `DELETE FROM holdings WHERE user_id = @dee`),
		breaking("holding_sum", "of nothing", `INSERT INTO holdings VALUES (@second, @dee, 1, 1, 0)`),
		breaking("holding_sum", "twice", `INSERT INTO holdings SELECT * FROM holdings WHERE user_id = @dee`),
		breaking("holding_sum", "below 0", `UPDATE holdings SET quantity = -quantity`,
			`UPDATE allocations SET shares = -shares`),
		breaking("holding_sum", "of another user", `UPDATE holdings SET user_id = @ann
			WHERE user_id = @bob AND asset_id = 2`),
		breaking("custody", "held", `UPDATE holdings SET quantity = quantity + 1 WHERE user_id = @dee`),
		breaking("custody", "house", `UPDATE orders SET house_shares = house_shares + 1 WHERE id = @filled`),
		breaking("custody", "fill", `UPDATE orders SET filled_qty = filled_qty + 1 WHERE id = @filled`),
		breaking("custody", "of nothing", `INSERT INTO holdings VALUES (@second, @dee, 77, 5, 0)`),
		breaking("cost_basis", "more", `UPDATE holdings SET cost_basis = cost_basis + 1 WHERE user_id = @dee`),
		breaking("cost_basis", "executing", `UPDATE rewards SET status = 2, executed_at = 0 WHERE id = @ann-aapl`),
		breaking("allocation_unique", "twice", `INSERT INTO allocations SELECT * FROM allocations
			WHERE reward_id = @bob-aapl`),
	}
}

func otherPlants() []Plant {
	return []Plant{
		breaking("tenancy", "key without app", `UPDATE keys SET app_id = zeroblob(16) WHERE id = @first-key`),
		breaking("tenancy", "user without app", `UPDATE users SET app_id = zeroblob(16) WHERE id = @dee`),
		breaking("tenancy", "user of another app", `UPDATE users SET app_id = @first WHERE id = @dee`),
		breaking("tenancy", "user gone", `DELETE FROM users WHERE id = @dee`),
		breaking("tenancy", "app gone", `DELETE FROM apps WHERE id = @second`),
		breaking("tenancy", "reward of another's user", `UPDATE rewards SET user_id = @dee WHERE id = @ann-aapl`),
		breaking("tenancy", "reward of another app", `UPDATE rewards SET app_id = @second WHERE id = @ann-aapl`),
		breaking("tenancy", "member of another app", `UPDATE order_rewards SET app_id = @second
			WHERE reward_id = @bob-open`),
		breaking("tenancy", "allocation of another app", `UPDATE allocations SET app_id = @second
			WHERE reward_id = @bob-brk`),
		breaking("tenancy", "allocation of no reward", `UPDATE allocations SET reward_id = zeroblob(16)
			WHERE reward_id = @bob-brk`),
		breaking("tenancy", "holding of another app", `UPDATE holdings SET app_id = @second WHERE user_id = @ann`),
		breaking("tenancy", "holding of nobody", `UPDATE holdings SET user_id = zeroblob(16) WHERE user_id = @ann`),
		breaking("tenancy", "last of all", `UPDATE holdings SET app_id = x'ff' WHERE user_id = @ann`),
		breaking("references", "order gone", `DELETE FROM orders WHERE id = @filled`),
		breaking("references", "member", `UPDATE order_rewards SET order_id = x'ff' WHERE order_id = @planned`),
		breaking("references", "resolution", `UPDATE order_resolutions SET order_id = x'ff'
			WHERE order_id = @resolved`),
		breaking("spending", "notional", `UPDATE spending SET notional = notional + 1
			WHERE day = (SELECT min(day) FROM spending)`),
		breaking("spending", "house", `UPDATE spending SET house = house - 1
			WHERE day = (SELECT min(day) FROM spending)`),
		breaking("spending", "gone", `DELETE FROM spending WHERE day = (SELECT max(day) FROM spending)`),
		breaking("spending", "twice", `INSERT INTO spending SELECT * FROM spending`),
		breaking("spending", "of no order", `INSERT INTO spending VALUES (0, 1, 0)`),
		breaking("spending", "an app charged for more than the house added",
			`UPDATE house_topups SET amount = amount + 1000000 WHERE day = (SELECT min(day) FROM house_topups)`),
		breaking("spending", "another day", `UPDATE spending SET day = day + 1`),
		breaking("lease", "epoch", `UPDATE lease SET epoch = -1`),
		breaking("lease", "twice", `INSERT INTO lease SELECT * FROM lease`),
		breaking("lease", "none", `DELETE FROM lease`),
		breaking("api_keys", "short", `UPDATE keys SET hash = x'01' WHERE id = @first-key`),
		breaking("api_keys", "twice", `UPDATE keys SET hash = zeroblob(32)`),
		breaking("users", "nameless", `UPDATE users SET email = '', email_folded = '', external_id = ''
			WHERE id = @ann`),
		breaking("users", "not in lower case", `UPDATE users SET email_folded = email WHERE id = @ann`),
		breaking("users", "lower case of nothing", `UPDATE users SET email = '' WHERE id = @bob`),
		breaking("user_unique", "email",
			`UPDATE users SET (email, email_folded) = (SELECT upper(email), email_folded FROM users
			WHERE id = @ann) WHERE id = @bob`),
		breaking("user_unique", "external id", `UPDATE users SET external_id = 'dee' WHERE id = @cy`),
	}
}
