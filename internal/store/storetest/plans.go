package storetest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Fault is a step of a plan whose cost grows with the store: a scan of a table or of an
// app's part of it, or a sort.
type Fault struct {
	Table string // which grows
	Step  string // of the plan, readable
}

// Sorts is the prefix of a step that sorts.
const Sorts = "sorts: "

// Grows reports whether a table grows with use. The others have a row per app, stock,
// alarm or setting.
func Grows(table string) bool {
	return slices.Contains([]string{
		"users", "rewards", "reward_keys", "reward_users", "open_rewards", "orders", "members", "member_blocks", "member_parts", "executed_spans",
		"order_lots", "lot_segments", "lot_blocks", "past_lots", "past_members", "past_allocations", "order_resolutions", "holdings", "effects", "broker_activities", "events",
		"budget_use", "reversals", "takings", "webhook_deliveries",
	}, table)
}

// exception allows a fault of a statement.
type exception struct {
	query  string // part of the statement, with single spaces
	step   string // part of the step: an index, or Sorts; "" allows any
	reason string
}

// exceptions lists the statements whose cost has a bound that a plan does not show, and
// those whose purpose is to read everything.
func exceptions() []exception {
	const (
		newest   = "the LIMIT is met by the first rows of the index, newest first"
		live     = "the index has only live orders: a few per stock"
		command  = "an operator's command; by state it may read all orders, a hundredth of the rewards"
		most     = "it counts up to the LIMIT"
		little   = "PostgreSQL prefers it while few rewards wait"
		failed   = "PostgreSQL prefers it while few have failed"
		snapshot = "the ledger reads the whole store"
		late     = "the orders of 40 days, for a dividend that is known late"
		part     = "a sweep reads a bounded number of holdings, in the order of their key"
	)
	return append(slices.Concat(webhookExceptions(), reversalExceptions(), arrivalExceptions(), memberExceptions(),
		lotExceptions(), keyExceptions()), []exception{
		{"FROM rewards WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3 + 0", "", newest},
		{"FROM rewards WHERE app_id = ?1 AND id < ?2 AND failure_reason <> '' ORDER BY", "rewards_failed ", newest + "; " + failed},
		{"FROM users WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3 + 0", "", newest},
		{"SELECT rowid FROM rewards WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1", "", newest},
		{"SELECT rowid FROM rewards WHERE rowid >= ?1 AND rowid < ?2 AND +app_id", "", "rewards recorded since the page began"},
		{"FROM rewards WHERE rowid >= ?1 AND +app_id = ?2 AND idempotency_key", "", "rewards recorded since the page began"},
		{"idempotency_key, user_id FROM rewards WHERE rowid >= ?1", "", "each reward is read once after a start, at most two segments"},
		{"SELECT rowid FROM rewards ORDER BY rowid DESC LIMIT 1", "", newest},
		{"LIMIT 1) AS e WHERE NOT EXISTS (SELECT 1 FROM segments s", "", "the LIMIT is met by the first row of the key"},
		{"SELECT count(*) FROM (SELECT 1 FROM rewards WHERE app_id = ?1", "rewards_failed", most},
		{"FROM open_rewards o JOIN rewards r", "", snapshot},
		{"AS listed JOIN rewards ON app_id = ?1 AND id = of_id ORDER BY id DESC", Sorts + "rewards.id", "sorts a page"},
		{"SELECT id FROM orders ORDER BY id DESC LIMIT 1", "", newest},
		{"SELECT r.id FROM rewards r WHERE r.app_id = a.id ORDER BY r.id DESC LIMIT 1", "", newest},
		{"SELECT u.id FROM users u WHERE u.app_id = a.id ORDER BY u.id DESC LIMIT 1", "", newest},
		{"FROM orders WHERE id < ?1 AND (?2 = 0 OR state = ?2) ORDER BY id DESC LIMIT ?3 + 0", "", command},
		{"SELECT 1 FROM open_rewards WHERE waiting = 1 UNION ALL", "", "it counts up to the LIMIT"},
		{"SELECT id AS of_id FROM open_rewards WHERE app_id = ?1", "Seq Scan", little},
		{"FROM orders WHERE state < 6 ORDER BY id", "orders_live", live},
		{"FROM orders o WHERE o.state < 6", "orders_live", live},
		{"UPDATE orders SET symbol = ?2 WHERE state < 6 AND (state = 1 OR state = 2 AND deadline = 0) AND asset_id = ?1", "orders_live", live},
		{"SELECT min(asset_id) FROM open_rewards WHERE waiting = 1", "rewards_waiting", "jumps from stock to stock among waiting rewards"},
		{"SELECT asset_id, state, filled_qty, settled_at FROM orders", "", snapshot},
		{"FROM orders WHERE id > ?1 AND state = 6 ORDER BY id LIMIT ?2 + 0", "", snapshot},
		{"AS w ORDER BY w.oldest", Sorts, "sorts the stocks and apps that rewards wait for"},
		{"FROM pools p JOIN assets a", Sorts, "sorts the stocks that rewards wait for"},
		{"UPDATE assets SET used = 1 WHERE used = 0 AND (id IN", Sorts, "sorts the newest rewards by stock and app, at most about a thousand"},
		{") AS rewards WHERE user_id = ?3", Sorts, "sorts at most some hundred rewards"},
		{"FROM broker_conflicts WHERE acknowledged_at > 0", Sorts, "sorts the conflicts, which are few"},
		{"WHERE h.app_id = ?1 ORDER BY h.user_id, h.asset_id", "", snapshot},
		{"SELECT 1 FROM orders WHERE state < 6 AND NOT (state = 1 OR state = 2 AND deadline = 0) AND asset_id = ?1 LIMIT 1", "orders_live", live},
		{"FROM holdings WHERE (app_id, user_id) > (?1, ?2) ORDER BY app_id, user_id, asset_id LIMIT ?3 + 0", "", part},
		{"FROM holdings WHERE (app_id, user_id) >= (?1, ?2) AND (app_id, user_id) <= (?3, ?4)", "", part},
		{"FROM holdings h CROSS JOIN switches w CROSS JOIN actions x CROSS JOIN effects e", Sorts, "sorts what actions did to one user"},
		{"FROM broker_activities WHERE symbol = ?1 AND (date >= ?2 OR date = '')", Sorts, "sorts the activities of a stock since a day"},
		{"SELECT id, symbol, net, seen_at FROM broker_activities WHERE type = 'CIL'", "", snapshot},
		{"SELECT id, symbol, net, seen_at FROM broker_activities WHERE type = 'CIL'", Sorts, "sorts the cash for fractions"},
		{"SELECT 1 FROM orders o WHERE o.id >= ?1 AND o.asset_id = ?2 AND o.state = 6 AND (o.filled_at >= ?3", "", late},
		{"FROM orders o CROSS JOIN member_rewards m WHERE o.id >= ?1", "", late},
		{"FROM order_corrections c JOIN orders o ON o.id = c.order_id", "", "reads the corrections, which are few"},
		{"FROM takings t CROSS JOIN reversals v WHERE t.app_id = ?1", "", snapshot},
		{"entitled, cash, reward_id FROM effects WHERE switch = ?1 ORDER BY app_id, user_id, asset_id", "", snapshot},
		{"FROM events WHERE app_id = ?1 AND last >", "", "the LIMIT is met by the first rows of the key"},
		{"FROM events WHERE app_id = ?1 AND last + 0 >", "events_other", "the LIMIT is met by the first rows of the index"},
		{"WHERE l.order_id = orders.id) ORDER BY id LIMIT ?3 + 0", "", "the LIMIT is met by the first rows of the key"},
		{"FOR UPDATE OF u", Sorts, "sorts the counters of a batch"},
		{"FROM budgets WHERE state = 2 AND per = 1 ORDER BY app_id, name", Sorts, "sorts the budgets, which operators set"},
		{"SELECT id FROM rewards WHERE app_id = ?1 ORDER BY id DESC LIMIT 1", "", newest},
		{"SELECT id, user_id, amount, CASE WHEN counted = 1", "", "an operator's command counts a bounded number of rewards at a time"},
		{"FROM payouts o JOIN actions a ON a.id = o.action_id JOIN effects e", "", command},
	}...)
}

// keyExceptions are those of the keys and users of older stores over PostgreSQL.
func keyExceptions() []exception {
	const (
		once    = "it reads a segment, once"
		noIndex = "the contract has dropped the index: no segment needs it"
	)
	return []exception{
		{"SELECT app_id, idempotency_key, id, reward_key(segment, app_id, idempotency_key) AS key", "", once},
		{"SELECT count(*) FROM rewards WHERE reward_key(", "", once},
		{"SELECT k.number, g.keys::bigint", "Seq Scan", noIndex},
		{"SELECT app_id, idempotency_key FROM rewards WHERE segment = ?1", "", "a damaged filter is made again, once"},
		{"SELECT id, tidsend(ctid) FROM rewards WHERE ctid >= ?1", "Tid Range Scan", "1,024 pages, when a segment is sealed"},
		{"FROM rewards WHERE user_entry(segment, user_id) >= ?1", "", once},
		{"SELECT of_id FROM (SELECT CASE WHEN ?2 < s.until", "allocations_pkey", "the LIMIT is met by the first row of the key"},
		{"SELECT g.number::bigint, g.users::bigint", "", noIndex},
		{"SELECT id, idempotency_key, segment FROM rewards WHERE app_id = a.id ORDER BY id DESC LIMIT 1", "rewards_pkey", "the LIMIT is met by the first row of the key"},
	}
}

// arrivalExceptions are those of rewards that open_rewards does not have yet.
func arrivalExceptions() []exception {
	const most = "there are at most about a thousand"
	return []exception{
		{"FROM arrivals", "rowid>?", most},
		{"FROM arrived", "rowid>?", most},
		{"AS arrived ORDER BY of_id DESC LIMIT", Sorts + "USE TEMP B-TREE", "sorts two parts that end at the limit"},
		{"FROM arrivals WHERE app_id = ?1", "(app_id=? AND id>? AND id<?)", most},
		{"FROM rewards NOT INDEXED", "", most},
		{"UPDATE arrivals_after", "", most},
		{"SELECT coalesce((SELECT max(rowid) FROM rewards), 0)", "SEARCH rewards", "it reads the last row"},
	}
}

// lotExceptions are those of lots, in order_lots and in blocks, and of those that are moved to them.
func lotExceptions() []exception {
	const (
		newest = "they are the lots of a segment, and what was booked since it is full"
		last   = "it reads the last row"
		each   = "a look into each segment: a quarter of a million lots"
		part   = "a part that has a bound"
	)
	return []exception{
		{"FROM order_lots WHERE number >= ?1 ORDER BY number", "", newest},
		{"DELETE FROM order_lots WHERE number", "", newest},
		{"SELECT max(number) FROM order_lots", "", last},
		{"FROM lot_segments ORDER BY number DESC LIMIT 1", "lot_segments", last},
		{"FROM lot_segments s CROSS JOIN lot_blocks b", "SEARCH s USING INTEGER PRIMARY KEY", each},
		{"FROM lot_segments s CROSS JOIN lot_blocks b", "lot_segments", each},
		{"SELECT 1 FROM past_lots LIMIT 1", "", last},
		{"DELETE FROM past_lots", "", part},
	}
}

// memberExceptions are those of members, lots and spans, and of what is not moved to them yet.
func memberExceptions() []exception {
	const (
		newest  = "the LIMIT is met by the first rows of the index, newest first"
		span    = "a span has the rewards of 128 ms, one of them executed"
		most    = "it counts up to the LIMIT; " + span
		first   = "it reads the first row of each key"
		members = "an order has at most 1,000 members"
		parts   = "sorts the orders of one award"
		ended   = "it reads the last span of an award"
	)
	return []exception{
		{"FROM orders WHERE number > 0 AND number >= ?1 AND number < ?2", "orders_by_number", "a step reads 16 orders"},
		{"AS s (first, until) CROSS JOIN LATERAL", "rewards_pkey", span},
		{"FROM executed_spans s CROSS JOIN LATERAL", "executed_spans_pkey (app_id = $1)", most},
		{"FROM executed_spans s CROSS JOIN LATERAL", "rewards_pkey ((app_id = $1) AND (id >= s.first) AND (id < s.until))", span},
		{"SELECT first, until FROM executed_spans WHERE app_id = ?1 AND first < ?2", "", newest},
		{"AND id >= ?4 AND id < ?5 AND +id < ?2 AND status = 3 ORDER BY id DESC", "", span},
		{"FROM executed_spans s CROSS JOIN rewards r", "", most},
		{"FROM executed_spans s WHERE s.app_id = ?1 AND s.first <= ", "executed_spans", first},
		{"FROM executed_spans s WHERE s.app_id = ?1 AND s.first <= ", "SEARCH s USING PRIMARY KEY (app_id=? AND first<?)", first},
		{"FROM executed_spans s WHERE s.app_id = ?1 AND s.first <= of_id", "executed_spans_pkey", ended},
		{"FROM past_allocations WHERE app_id = ?1 AND reward_id <= ", "past_allocations", first},
		{"ORDER BY reward_id DESC LIMIT 1) AS past ORDER BY of_id DESC LIMIT 1", Sorts + "USE TEMP B-TREE FOR ORDER BY", "sorts two rows"},
		{"SELECT rowid FROM rewards WHERE app_id = ?1 AND +id < ?2 AND id <= (", "SEARCH rewards USING", first},
		{"FROM past_allocations a WHERE a.app_id = ?1 AND a.reward_id < ?2", "SEARCH a USING PRIMARY KEY", newest},
		{"SELECT coalesce(max(number), 0) + 1 FROM orders", "orders_by_number", "it reads the last row of the index"},
		{"FROM orders WHERE number = 0 AND id > ?1 ORDER BY id LIMIT 1", "orders_past", "it reads the first row of the index"},
		{"FROM order_members WHERE order_id = ?1", Sorts, members},
		{"", "member_blocks_pkey ((block >= ", members},
		{"SELECT max(m.place) + 1 FROM members m", "", members},
		{"FROM member_rewards m WHERE m.block >= ?1 * 32", Sorts, members},
		{"AS parts ORDER BY order_id", Sorts, parts},
	}
}

// reversalExceptions are those of reversals and of the house's shares.
func reversalExceptions() []exception {
	const newest = "the LIMIT is met by the first rows of the index, newest first"
	return []exception{
		{"AND asset_id = ?1 AND house <> 0", "orders_live", "the index has only live orders: a few per stock"},
		{"EXISTS (SELECT 1 FROM reversals v WHERE v.completed_at = 0)", "reversals_open", "it reads the first row of the index"},
		{"FROM reversals WHERE app_id = ?1 AND id < ?2 ORDER BY", "", newest},
		{"FROM reversals WHERE app_id = ?1 AND id < ?2 AND completed_at = 0", "reversals_open", newest},
		{"FROM reversals WHERE app_id = ?1 AND id < ?2 AND completed_at > 0", "reversals_completed", newest},
		{"FROM reversals WHERE app_id = ?1 AND completed_at = 0 LIMIT ?2", "reversals_open", "it counts up to the LIMIT"},
		{"FROM reversals WHERE state = 3 LIMIT ?1 + 0", "reversals_ordered", "the index has what operators ordered, and there is a LIMIT"},
		{"SELECT 1 FROM reversals v WHERE v.completed_at >= ?1", "reversals_since", "the reversals of days, for a dividend that is known late"},
		{"SELECT v.app_id, v.user_id, coalesce((SELECT t.quantity", "", "the reversals of days, for a dividend that is known late"},
		{"FROM reversals v CROSS JOIN takings t CROSS JOIN assets s", "FOR LAST TERM OF ORDER BY", "sorts the stocks of one reversal"},
		{"FROM reversals v CROSS JOIN takings t CROSS JOIN assets s", "t.asset_id DESC by reversals_by_booking", "sorts the stocks of one reversal"},
		{"SELECT DISTINCT app_id, user_id FROM reversals WHERE completed_at > 0", "", "the reversals since a corporate action that is undone"},
	}
}

// webhookExceptions are those of webhooks.
func webhookExceptions() []exception {
	return []exception{
		{"SELECT endpoint_id FROM webhook_deliveries WHERE status = 1 AND sequence < 0", "webhook_deliveries_tests", "the index has only pending tests"},
		{"DELETE FROM webhook_deliveries", Sorts, "sorts what one endpoint keeps, some 1,200 rows"},
		{"FROM (SELECT DISTINCT app_id FROM webhook_endpoints) AS a", "", "it reads the newest event of each app"},
	}
}

// keyed maps statements to the index that they must use. Other indexes find the same rows,
// but among many others.
func keyed() map[string]string {
	return map[string]string{
		"AND user_id = ?4 AND failure_reason <> '' ORDER BY id DESC LIMIT ?3 + 0": "rewards_failed_by_user",
		"AND types <> 1 ORDER BY last + 0 LIMIT ?4 + 0":                           "events_other",
	}
}

// Unkeyed returns a fault if the plan of a statement lacks the index that keyed requires.
func Unkeyed(query, plan string) []Fault {
	for part, key := range keyed() {
		if strings.Contains(Plain(query), part) && !strings.Contains(plan, key) {
			return []Fault{{Table: "rewards", Step: "not by " + key + ": " + plan}}
		}
	}
	return nil
}

var (
	blanks   = regexp.MustCompile(`\s+`)
	mentions = regexp.MustCompile(`(?i)\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)(?:\s+(\w+))?`)
)

// Plain returns a statement with single spaces.
func Plain(query string) string { return strings.TrimSpace(blanks.ReplaceAllString(query, " ")) }

// Tables returns the tables that a name in a statement may refer to.
func Tables(query, name string) (tables []string) {
	for _, m := range mentions.FindAllStringSubmatch(query, -1) {
		if m[1] == name || m[2] == name {
			tables = append(tables, m[1])
		}
	}
	return tables
}

// unbounded marks statements of tests, whose plans do not matter.
const unbounded = "-- only in tests"

// FaultsOf returns the faults of statements that no exception allows, in readable form,
// and the exceptions that no statement needs.
func FaultsOf(t *testing.T, statements []Statement, explain func(Statement) []Fault) (faults, idle []string) {
	t.Helper()
	used := make(map[string]bool)
	for _, s := range statements {
		query := Plain(s.Query)
		if strings.Contains(query, unbounded) {
			continue
		}
		for _, f := range explain(s) {
			allowed := false
			for _, e := range exceptions() {
				if strings.Contains(query, e.query) && strings.Contains(f.Step, e.step) {
					allowed, used[e.query] = true, true
				}
			}
			if !allowed {
				faults = append(faults, query+"\n\t"+f.Table+": "+f.Step)
			}
		}
	}
	for _, e := range exceptions() {
		if !used[e.query] {
			idle = append(idle, e.query)
		}
	}
	return faults, idle
}
