package audittest

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Tables returns the tables that an audit reads, and standstills and webhook_workers, which promise nothing.
func Tables() []string {
	return []string{
		"settings", "operator_log", "apps", "keys", "users", "assets", "prices", "rewards", "open_rewards", "orders",
		"members", "past_members", "order_resolutions", "past_allocations", "past_lots", "order_lots", "lot_segments", "lot_blocks", "executed_spans", "holdings", "spending", "house_topups", "lease", "positions", "actions",
		"broker_conflicts", "announcements", "switches", "effects", "payouts", "broker_activities", "order_corrections",
		"position_corrections", "house_holdings", "app_assets", "events", "event_counter", "budgets", "budget_use",
		"reversals", "takings", "standstills", "webhook_endpoints", "webhook_deliveries", "webhook_shards",
		"webhook_workers",
	}
}

// Views returns the views that an audit reads and that a copy has as tables. It has order_members, too, as
// a view of all_members.
func Views() []string { return []string{"all_members"} }

// SegmentTables returns the tables that an audit reads over SQLite only.
func SegmentTables() []string {
	return []string{"segments", "segment_filters", "key_blocks", "user_blocks", "reward_keys", "reward_users", "arrivals_after"}
}

// Copy is a copy of a world's tables without constraints and indexes, so that a test can
// damage it.
type Copy struct {
	Where string // as World.Where

	tb      testing.TB
	world   *World
	db      *sql.DB
	touched []string // by Exec, since Restore
}

var copies atomic.Int64

// Copy copies the tables: into a new file, or into another schema of the database. The
// original is the schema public of both.
func (w *World) Copy(tb testing.TB) *Copy {
	tb.Helper()
	c := &Copy{tb: tb, world: w}
	if OnPostgres(w.Where) {
		schema := fmt.Sprint("copy", copies.Add(1))
		Exec(tb, SQL(tb, w.Where), "CREATE SCHEMA "+schema)
		c.Where = w.Where + "&search_path=" + schema
		c.db = SQL(tb, c.Where)
	} else {
		c.Where = NewFile(tb)
		c.db = SQL(tb, c.Where)
		Exec(tb, c.db, `PRAGMA synchronous = OFF`, `ATTACH '`+w.Where+`' AS public`)
	}
	tables := slices.Concat(Tables(), Views(), []string{"goose_db_version"})
	if OnPostgres(w.Where) {
		tables = append(tables, "segments", "reward_batches", "key_blocks", "user_blocks")
	} else {
		tables = append(tables, SegmentTables()...)
	}
	for _, table := range tables {
		Exec(tb, c.db, `CREATE TABLE `+table+` AS SELECT * FROM public.`+table)
	}
	Exec(tb, c.db, `CREATE VIEW order_members AS SELECT order_id, position, app_id, reward_id, amount, bought, shares, place
		FROM all_members WHERE length(order_id) > 0`)
	return c
}

// Exec runs SQLite statements on either engine, separated by "; ". In them @name is an
// id of the world. Each must change a row.
func (c *Copy) Exec(statements string) {
	c.tb.Helper()
	statements = regexp.MustCompile(`@[a-z-]+`).ReplaceAllStringFunc(statements, func(name string) string {
		id, ok := c.world.IDs[name[1:]]
		if !ok {
			c.tb.Fatalf("the world has no %s", name)
		}
		return "x'" + hex.EncodeToString(id[:]) + "'"
	})
	for statement := range strings.SplitSeq(statements, "; ") {
		if OnPostgres(c.Where) {
			statement = inPostgres(statement)
		}
		c.touched = append(c.touched, regexp.MustCompile(`(?:UPDATE|INTO|FROM) (\w+)`).FindStringSubmatch(statement)[1])
		if Exec(c.tb, c.db, statement) == 0 {
			c.tb.Errorf("%s changed no row", statement)
		}
	}
}

// Restore undoes what Exec did.
func (c *Copy) Restore() {
	c.tb.Helper()
	for _, table := range c.touched {
		Exec(c.tb, c.db, `DELETE FROM `+table, `INSERT INTO `+table+` SELECT * FROM public.`+table)
	}
	c.touched = nil
}

// inPostgres translates a statement for PostgreSQL.
func inPostgres(statement string) string {
	statement = regexp.MustCompile(`\bx'([0-9a-f]*)'`).ReplaceAllString(statement, `bytea '\x$1'`)
	statement = regexp.MustCompile(`\bzeroblob\((\d+)\)`).ReplaceAllString(statement, `decode(repeat('00', $1), 'hex')`)
	return strings.ReplaceAll(statement, " AS BLOB", " AS bytea")
}
