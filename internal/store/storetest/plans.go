package storetest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Fault is what a plan does that costs more the longer the service has run: it reads
// a table or an app's part of it from end to end, or sorts.
type Fault struct {
	Table string // that grows
	Step  string // of the plan, for people
}

// Sorts begins the step of a fault that is a sort.
const Sorts = "sorts: "

// Grows tells whether a table grows with use. The others have a row for each app,
// stock, alarm or setting.
func Grows(table string) bool {
	return slices.Contains([]string{
		"users", "rewards", "open_rewards", "orders", "order_rewards", "order_resolutions", "allocations", "holdings",
	}, table)
}

// exception is a statement that may do what others may not.
type exception struct {
	query  string // a part of it, white space as one blank
	step   string // what the step must name: an index, or Sorts; "" for any
	reason string
}

// exceptions are the statements whose cost is bounded by something that a plan does
// not show, or that read everything because that is what they are for.
func exceptions() []exception {
	const (
		newest   = "the LIMIT is met by the first rows of the index, newest first"
		live     = "it has the orders under way only: a few for each stock"
		command  = "an operator's command; of a state it may read all orders, a hundredth of the rewards"
		most     = "it counts up to the LIMIT"
		little   = "PostgreSQL prefers it while little waits"
		few      = "PostgreSQL prefers it when the user has few rewards"
		failed   = "PostgreSQL prefers it while few have failed"
		snapshot = "for the ledger, which reads all of the books"
	)
	return []exception{
		{"FROM rewards WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3", "", newest},
		{"FROM rewards WHERE app_id = ?1 AND id < ?2 AND failure_reason <> '' ORDER BY", "rewards_failed (", newest},
		{"FROM rewards WHERE app_id = ?1 AND id < ?2 AND failure_reason <> '' ORDER BY", Sorts + "id DESC by rewards_failed", failed},
		{"AND reward_id <= place ORDER BY reward_id DESC LIMIT 1)", "allocations", "it takes the first row of the key"},
		{"FROM users WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3", "", newest},
		{"AND status = 3 ORDER BY of_id DESC LIMIT ?3", "Index Only Scan allocations_pkey", newest},
		{"AND status = 3 ORDER BY of_id DESC LIMIT ?3", "SEARCH a USING PRIMARY KEY (app_id=? AND reward_id<?)", newest},
		{"AND status = 3 ORDER BY of_id DESC LIMIT ?3", "Index Scan rewards_pkey ((app_id = ", newest}, // merged with them
		{"SELECT count(*) FROM (SELECT 1 FROM (SELECT a.app_id", "Index Only Scan allocations_pkey", most},
		{"SELECT count(*) FROM (SELECT 1 FROM (SELECT a.app_id", "Index Scan rewards_pkey ((app_id = ", most},
		{"SELECT count(*) FROM (SELECT 1 FROM (SELECT a.app_id", "SEARCH a USING PRIMARY KEY (app_id=? AND reward_id<?)", most},
		{"SELECT count(*) FROM (SELECT 1 FROM rewards WHERE app_id = ?1", "rewards_failed", most},
		{"FROM open_rewards o JOIN rewards r", "Seq Scan", snapshot},
		{"AS listed JOIN rewards ON app_id = of_app AND id = of_id ORDER BY id DESC", Sorts, "sorts a page"},
		{"SELECT id FROM orders ORDER BY id DESC LIMIT 1", "", newest},
		{"SELECT r.id FROM rewards r WHERE r.app_id = a.id ORDER BY r.id DESC LIMIT 1", "", newest},
		{"SELECT u.id FROM users u WHERE u.app_id = a.id ORDER BY u.id DESC LIMIT 1", "", newest},
		{"FROM orders WHERE id < ?1 AND (?2 = 0 OR state = ?2) ORDER BY id DESC LIMIT ?3", "", command},
		{"SELECT 1 FROM open_rewards WHERE waiting = 1 LIMIT ?1", "", "it has what is not final only, and there is a LIMIT"},
		{"SELECT 1 FROM open_rewards WHERE app_id = ?1", "Seq Scan", little},
		{"FROM orders WHERE state < 6 ORDER BY id", "orders_live", live},
		{"FROM orders o WHERE o.state < 6", "orders_live", live},
		{"UPDATE orders SET symbol = ?2 WHERE state < 6 AND state = 1 AND asset_id = ?1", "orders_live", live},
		{"SELECT min(asset_id) FROM open_rewards WHERE waiting = 1", "rewards_waiting", "jumps from stock to stock in what waits"},
		{"SELECT asset_id, state, filled_qty, settled_at FROM orders", "", snapshot},
		{"FROM orders WHERE id > ?1 AND state = 6 ORDER BY id LIMIT ?2", "", snapshot},
		{"AS w ORDER BY w.oldest", Sorts, "sorts the stocks and apps that rewards wait for"},
		{"FROM pools p JOIN assets a", Sorts, "sorts the stocks that rewards wait for"},
		{"user_id = ?4 ORDER BY id DESC LIMIT ?3", Sorts + "id DESC by rewards_by_user", few},
		{"FROM broker_conflicts WHERE acknowledged_at > 0", Sorts, "sorts the conflicts, which are few"},
		{"FROM holdings WHERE app_id = ?1 ORDER BY user_id, asset_id", "", snapshot},
	}
}

// keyed are statements that must use a key of their own: another one would find their
// rows as well, among many others.
func keyed() map[string]string {
	return map[string]string{
		"AND user_id = ?4 AND failure_reason <> '' ORDER BY id DESC LIMIT ?3": "rewards_failed_by_user",
	}
}

// Unkeyed is the fault of a statement whose plan, as text, lacks the key that it must use.
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

// Plain is a statement with its white space as single blanks.
func Plain(query string) string { return strings.TrimSpace(blanks.ReplaceAllString(query, " ")) }

// Tables are the tables that a name in a statement may stand for.
func Tables(query, name string) (tables []string) {
	for _, m := range mentions.FindAllStringSubmatch(query, -1) {
		if m[1] == name || m[2] == name {
			tables = append(tables, m[1])
		}
	}
	return tables
}

// FaultsOf are the faults in the plans of statements that no exception allows, told
// for people, and the exceptions that none of the statements needs here.
func FaultsOf(t *testing.T, statements []Statement, explain func(Statement) []Fault) (faults, idle []string) {
	t.Helper()
	used := make(map[string]bool)
	for _, s := range statements {
		query := Plain(s.Query)
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
