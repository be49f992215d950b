package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/bench/growth"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// explainer explains statements over a database of some size.
type explainer struct {
	conn     *pgx.Conn
	app      rewards.AppID // the largest
	user     []byte        // its most active one
	prepared int
}

// No statement scans a growing table, or an app's part of it, or sorts an unbounded result. No
// index is superfluous. The contract, which runs every statement, holds on one connection: no
// use case needs two.
func TestNoStatementCostsMoreOverTheYears(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), cluster(t)
	r := new(storetest.Recorder)
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Engine {
			t.Helper()
			return r.On(open(t, database(t, c), postgres.Options{Connections: 1}))
		})
	})
	all := r.Statements()
	storetest.CheckAllRun(t, "..", all, true)
	x := grown(t, c)
	check(t, x.exec(ctx, `BEGIN`))
	plans := make(map[string]string)
	explain := func(s storetest.Statement) []storetest.Fault {
		faults, plan := x.faultsOf(t, s)
		plans[s.Query] = plan
		return faults
	}
	faults, _ := storetest.FaultsOf(t, all, explain)
	for _, fault := range faults {
		t.Error(fault)
	}
	// A statement with ON CONFLICT cannot be planned without its index.
	all = slices.DeleteFunc(all, func(s storetest.Statement) bool { return strings.Contains(s.Query, "ON CONFLICT") })
	for _, name := range x.indexes(t) {
		check(t, x.exec(ctx, `SAVEPOINT whole`))
		check(t, x.exec(ctx, `DROP INDEX `+name))
		missed := slices.ContainsFunc(all, func(s storetest.Statement) bool {
			if !strings.Contains(plans[s.Query], name) {
				return false
			}
			faults, _ := storetest.FaultsOf(t, []storetest.Statement{s}, func(s storetest.Statement) []storetest.Fault {
				faults, _ := x.faultsOf(t, s)
				return faults
			})
			return len(faults) > 0
		})
		if !missed {
			t.Errorf("no statement needs the index %s", name)
		}
		check(t, x.exec(ctx, `ROLLBACK TO whole`))
	}
}

// grown is a database of 50,000 rewards.
func grown(t *testing.T, c *pgtest.Cluster) *explainer {
	t.Helper()
	ctx := t.Context()
	url, err := c.NewDatabase(ctx)
	check(t, err)
	report, err := growth.Fill(ctx, growth.Options{
		Database: url, Rewards: 50_000, Waiting: 5_000, Users: 5_000, Apps: 20, Assets: 100, Days: 10, Seed: 1,
		End: time.Date(2026, 9, 21, 15, 0, 0, 0, time.UTC),
	})
	check(t, err)
	x := &explainer{app: report.Keys[0].App}
	x.conn = connect(t, url)
	check(t, x.exec(ctx, `SET plan_cache_mode = force_generic_plan`))
	// The resolutions of years.
	check(t, x.exec(ctx, `INSERT INTO order_resolutions (order_id, filled_qty, price, reason, at)
		SELECT id, filled_qty, filled_avg_price, 'resolved', settled_at FROM orders`))
	// The corporate actions of years.
	check(t, x.exec(ctx, `INSERT INTO actions (id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, ex_date,
		process_date, revision, state, hold_from, first_seen) SELECT 'action-' || n, 1 + n % 100, 'forward_split', '', '', '1',
		'2', '', '2026-09-21', '2026-09-21', 1, 7, 0, n FROM generate_series(1, 2000) n`))
	check(t, x.exec(ctx, `INSERT INTO member_parts (place, rest, shares, before, completes)
		SELECT 2000000000 + n, 1, 1, 0, 0 FROM generate_series(1, 20000) n`)) // of other orders
	check(t, x.exec(ctx, `INSERT INTO switches (number, action_id, asset_id, generation, keep_old, keep_new, at, swept_at)
		SELECT n, 'action-' || n, 1 + n % 100, 1 + n / 100, 1, 2, 1, 1 FROM generate_series(1, 2000) n`))
	check(t, x.exec(ctx, `INSERT INTO effects (switch, app_id, user_id, asset_id, before, after, basis_before, basis_after, cash)
		SELECT n, app_id, user_id, asset_id, 1, 2, 1, 1, 1 FROM holdings, generate_series(1, 10) n`))
	check(t, x.exec(ctx, `INSERT INTO payouts (action_id, switch, activity_id, net, counted, at, shared_at, paid_at)
		SELECT 'action-' || n, n, n, 1, 1, 1, 1, 1 FROM generate_series(1, 1000) n`))
	check(t, x.exec(ctx, `INSERT INTO broker_activities (id, type, sub_type, status, group_id, previous, order_id, symbol, date,
		at, qty, cum_qty, price, net, per_share, body, problem, seen_at) SELECT n, 'FILL', '', '', '', '', '', 'S' || n % 100,
		'2026-09-21', 1, 1, 1, 1, 1, '', '', '', 1 FROM generate_series(1, 20000) n`))
	check(t, x.exec(ctx, `INSERT INTO order_corrections (order_id, number, filled_qty, change, activity_id, at)
		SELECT id, 1, 1, 1, '', 1 FROM orders LIMIT 10`))
	// The reversals of years; a few are open.
	check(t, x.exec(ctx, `INSERT INTO reversals (app_id, id, reward_id, user_id, idempotency_key, fingerprint, amount, reason,
		state, after_switch, completed_at) SELECT app_id, id, id, user_id, idempotency_key, fingerprint || id, 1, '',
		CASE WHEN n % 1000 = 0 THEN 3 WHEN n % 50 = 0 THEN 1 ELSE 2 END, n, CASE WHEN n % 50 = 0 THEN 0 ELSE n END
		FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM rewards) AS r LIMIT 20000`))
	check(t, x.exec(ctx, `INSERT INTO takings (app_id, reversal_id, asset_id, quantity, basis)
		SELECT app_id, id, 1 + after_switch % 100, 1, 1 FROM reversals WHERE state = 2`))
	check(t, x.exec(ctx, `INSERT INTO budgets (id, app_id, name, per, period, allowed, state, since, reached, cut)
		SELECT n, id, 'budget', 2, 1, 1, 2, zero, zero, zero FROM (SELECT decode(repeat('00', 16), 'hex') AS zero) AS z, (SELECT id, row_number() OVER (ORDER BY id) AS n FROM apps) AS a`))
	check(t, x.exec(ctx, `INSERT INTO budget_use (budget, period_start, user_id, used)
		SELECT b.id, day, u.id, 1 FROM budgets b JOIN users u ON u.app_id = b.app_id, generate_series(1, 5) AS day`))
	check(t, x.exec(ctx, `INSERT INTO webhook_deliveries (app_id, endpoint_id, sequence, event_id, type, number, status,
		attempts, status_code, error, answer, tried_at, next_at, body) SELECT a.id, decode(repeat(lpad(to_hex(e), 2, '0'), 16), 'hex'),
		n, a.id, 'reward.executed', n, 1 + abs(n) % 3, 1, 500, '', '', 1, CASE WHEN n % 3 = 0 THEN abs(n) ELSE 0 END, ''
		FROM apps a, generate_series(1, 3) e, generate_series(-9, 1000) n WHERE n <> 0`))
	check(t, x.exec(ctx, `INSERT INTO past_lots (user_hash, at, place) SELECT n % 1000, n, n FROM generate_series(1, 20000) n`))
	check(t, x.exec(ctx, `INSERT INTO lot_segments (number, last, lots, earliest, latest)
		SELECT n, n, 1, n, n FROM generate_series(10000, 10999) n`))
	check(t, x.exec(ctx, `INSERT INTO lot_blocks (place, segment, first_user, entries)
		SELECT n, 10000 + n % 1000, n, decode(repeat('00', 768), 'hex') FROM generate_series(20000000000, 20000019999) n`))
	check(t, x.exec(ctx, `INSERT INTO order_lots (number, order_number, at, lots, mark, entries)
		SELECT n, n, n, 1, n, decode(repeat('00', 12), 'hex') FROM generate_series(1000000, 1001000) n`))
	x.unmoveHalf(t)
	check(t, x.exec(ctx, `VACUUM (ANALYZE)`))
	check(t, x.conn.QueryRow(ctx, `SELECT user_id FROM rewards WHERE app_id = $1
		GROUP BY user_id ORDER BY count(*) DESC LIMIT 1`, x.app[:]).Scan(&x.user))
	return x
}

// unmoveHalf stores half of the orders as the version before members had places, so that the tables of what is
// not moved are large too.
func (x *explainer) unmoveHalf(t *testing.T) {
	t.Helper()
	const half = `(SELECT id FROM orders WHERE state >= 6 AND number % 2 = 1)`
	for _, statement := range []string{
		`INSERT INTO past_members SELECT order_id, position, app_id, reward_id, amount FROM order_rewards WHERE order_id IN ` + half,
		`INSERT INTO past_allocations SELECT * FROM allocations WHERE order_id IN ` + half,
		`DELETE FROM order_lots WHERE number % 2 = 1`,
		`DELETE FROM member_blocks m USING orders o WHERE o.number = m.block / 32 AND o.state >= 6 AND o.number % 2 = 1`,
		`DELETE FROM member_parts m USING orders o WHERE o.number = m.place / 1024 AND o.state >= 6 AND o.number % 2 = 1`,
		`UPDATE orders SET number = 0 WHERE id IN ` + half,
	} {
		check(t, x.exec(t.Context(), statement))
	}
}

func (x *explainer) exec(ctx context.Context, statement string) error {
	_, err := x.conn.Exec(ctx, statement)
	return err
}

// indexes lists the indexes of growing tables that belong to no constraint.
func (x *explainer) indexes(t *testing.T) (names []string) {
	t.Helper()
	rows, err := x.conn.Query(t.Context(), `SELECT tablename::text, indexname::text FROM pg_indexes
		WHERE schemaname = 'public' AND indexname NOT IN (SELECT conname FROM pg_constraint) ORDER BY 2`)
	check(t, err)
	var table, name string
	_, err = pgx.ForEachRow(rows, []any{&table, &name}, func() error {
		if storetest.Grows(table) {
			names = append(names, name)
		}
		return nil
	})
	check(t, err)
	const least = 5
	if len(names) < least {
		t.Fatalf("only the indexes %v", names)
	}
	return names
}

// node is a step of a plan.
type node struct {
	Type      string   `json:"Node Type"`
	Table     string   `json:"Relation Name"`
	Index     string   `json:"Index Name"`
	Condition string   `json:"Index Cond"`
	Recheck   string   `json:"Recheck Cond"`
	Key       []string `json:"Sort Key"`
	Plans     []node
}

// faultsOf plans a statement as the engine does, with one plan for all arguments. It also
// returns the plan as JSON.
func (x *explainer) faultsOf(t *testing.T, s storetest.Statement) ([]storetest.Fault, string) {
	t.Helper()
	x.prepared++
	name := fmt.Sprint("s", x.prepared)
	_, err := x.conn.Prepare(t.Context(), name, strings.ReplaceAll(s.Query, "?", "$"))
	check(t, err)
	args := x.inTheLargest(s)
	for i := range args {
		args[i] = literal(t, args[i])
	}
	execute := `EXPLAIN (FORMAT JSON) EXECUTE ` + name
	if len(args) > 0 {
		execute += "(" + strings.Trim(strings.Repeat("%s, ", len(args)), ", ") + ")"
		execute = fmt.Sprintf(execute, args...)
	}
	plan := x.explain(t, execute)
	check(t, x.exec(t.Context(), `DEALLOCATE `+name))
	return faultsIn(t, s.Query, plan), plan
}

// literal is an argument in SQL.
func literal(t *testing.T, arg any) string {
	t.Helper()
	switch v := arg.(type) {
	case []byte:
		return fmt.Sprintf(`'\x%x'::bytea`, v)
	case string:
		return `'` + strings.ReplaceAll(v, `'`, `''`) + `'::text`
	case int, int64:
		return fmt.Sprint(v)
	case [][]byte:
		return list(t, v)
	case []string:
		return list(t, v)
	case []int64:
		return list(t, v)
	}
	t.Fatalf("an argument of type %T", arg)
	return ""
}

func list[T any](t *testing.T, values []T) string {
	t.Helper()
	if len(values) == 0 {
		return `'{}'`
	}
	literals := make([]string, len(values))
	for i, v := range values {
		literals[i] = literal(t, v)
	}
	return `ARRAY[` + strings.Join(literals, ", ") + `]`
}

var places = regexp.MustCompile(`\b(app_id = |user_id = |LIMIT )\?(\d+)`)

// inTheLargest returns the arguments of a statement, for the largest app, its most active user
// and the longest page of a list.
func (x *explainer) inTheLargest(s storetest.Statement) []any {
	const page = 101
	args := append([]any{}, s.Args...)
	for _, m := range places.FindAllStringSubmatch(s.Query, -1) {
		var place int
		_, _ = fmt.Sscan(m[2], &place)
		switch arg := &args[place-1]; m[1] {
		case "app_id = ":
			*arg = x.app[:]
		case "user_id = ":
			*arg = x.user
		default:
			*arg = page
		}
	}
	return args
}

func (x *explainer) explain(t *testing.T, statement string) (plan string) {
	t.Helper()
	if err := x.conn.QueryRow(t.Context(), statement, pgx.QueryExecModeSimpleProtocol).Scan(&plan); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return plan
}

func faultsIn(t *testing.T, query, plan string) (faults []storetest.Fault) {
	t.Helper()
	var plans []struct{ Plan node }
	check(t, json.Unmarshal([]byte(plan), &plans))
	for i := range plans {
		plans[i].Plan.visit(&faults)
	}
	return append(faults, storetest.Unkeyed(query, plan)...)
}

var condition = regexp.MustCompile(`(\w+|\)) =`) // a column, or an expression that is indexed

// visit collects the faults of a step and those below it. It returns a growing table that is
// read there, and the indexes used.
func (n *node) visit(faults *[]storetest.Fault) (grown, index string) {
	index = n.Index
	for i := range n.Plans {
		table, by := n.Plans[i].visit(faults)
		if table != "" {
			grown = table
		}
		index = strings.TrimSpace(index + " " + by)
	}
	step := strings.TrimSpace(n.Type + " " + index + " " + n.Condition + n.Recheck)
	if strings.Contains(n.Type, "Sort") && grown != "" {
		*faults = append(*faults, storetest.Fault{Table: grown, Step: storetest.Sorts + strings.Join(n.Key, ", ") + " by " + index})
	}
	if !storetest.Grows(n.Table) || !strings.Contains(n.Type, "Scan") || n.Type == "Tid Scan" {
		return grown, index
	}
	for _, m := range condition.FindAllStringSubmatch(n.Condition+n.Recheck, -1) {
		if m[1] != "app_id" {
			return n.Table, index
		}
	}
	*faults = append(*faults, storetest.Fault{Table: n.Table, Step: step})
	return n.Table, index
}

// A plan from when a table was small is replaced. Such a plan for a key reads all rewards of the
// app.
func TestOldPlansAreReplaced(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	e, conn := open(t, url, postgres.Options{Connections: 1, PlansFor: 1}), connect(t, url)
	w := storetest.NewWorld(t, e)
	r := w.Request(t, 1_000_000)
	record := func(r rewards.NewReward) {
		t.Helper()
		_, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
		check(t, err)
	}
	refused := r
	refused.UserID = rewards.UserID{}
	record(refused) // plans the look-up of keys while there are no rewards
	record(r)
	const many = 20_000
	_, err := conn.Exec(t.Context(), `INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol,
		source, metadata) SELECT app_id, int8send(0) || int8send(n), user_id, 'copy-' || n, fingerprint, amount, asset_id, symbol, '', ''
		FROM rewards, generate_series(1, $1::int) n`, many)
	check(t, err)
	read := func() (n int) {
		t.Helper()
		check(t, conn.QueryRow(t.Context(), `SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'rewards'`).Scan(&n))
		return n
	}
	before := read()
	record(r)
	check(t, e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error { // at its end the statistics are there
		_, err := tx.Exec(ctx, `SELECT pg_stat_force_next_flush()`)
		return err
	}))
	if n := read() - before; n > many/2 {
		t.Errorf("a replay read %d rows of indexes", n)
	}
}
