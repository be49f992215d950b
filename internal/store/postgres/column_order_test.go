package postgres_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// seen is what others see of the table of rewards: definitions, rights and rows, but not the order of its columns, nor what
// versions 32 and 33 change.
const seen = `select c.oid::regclass || ': ' || coalesce(pg_get_viewdef(c.oid), '') || coalesce(c.relacl::text, '') from pg_class c
		where c.relkind in ('v', 'm') and c.relname !~ '^(segments|reward_batches|key_blocks|user_blocks)$' and c.relnamespace in ('public'::regnamespace, 'readable'::regnamespace)
	union all select oid::regprocedure || ': ' || prorettype::regtype from pg_proc
		where pronamespace in ('public'::regnamespace, 'readable'::regnamespace)
		and proname <> 'drop_reward_indexes'
	union all select indexrelid::regclass || ': ' || pg_get_indexdef(indexrelid) from pg_index
		where indrelid = 'rewards'::regclass and indexrelid::regclass::text not in ('rewards_by_key', 'rewards_by_user')
	union all select a.attname || ': ' || format_type(a.atttypid, null) || a.attnotnull || a.attcollation::regcollation
			|| coalesce(pg_get_expr(d.adbin, d.adrelid), '')
		from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
		where a.attrelid = 'rewards'::regclass and a.attnum > 0 and not a.attisdropped
	union all select r.grantee || ': ' || r.privilege_type from information_schema.role_table_grants r where table_name = 'rewards'
	union all select 'options: ' || reloptions::text from pg_class where oid = 'rewards'::regclass
	union all select 'reward: ' || r::text from readable.rewards r
	order by 1`

// afterVersion30 runs SQL in a database of version 30 whose columns are in their former order, and brings the
// database up to date. It returns what others saw before and after, and the columns in their order.
func afterVersion30(t *testing.T, fill bool, sql string) (before, after, columns []string) {
	t.Helper()
	url := database(t, cluster(t))
	conn := connect(t, url)
	list := func(query string) []string {
		rows, err := conn.Query(t.Context(), query)
		check(t, err)
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		check(t, err)
		return list
	}
	w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
	if fill {
		w.Fill(t)
	}
	_, err := conn.Exec(t.Context(), toVersion31+`; alter table rewards add waiting int; alter table rewards drop waiting;
		delete from goose_db_version where version_id > 30; `+sql)
	check(t, err)
	before = list(seen)
	open(t, url, postgres.Options{})
	after = list(seen)
	w.Give(t, 5_000_000)
	w.Plan(t)
	return before, after, list(`select attname::text from pg_attribute where attrelid = 'rewards'::regclass and attnum > 0 order by attnum`)
}

// A store without rewards gets its columns in the order that takes least room. Views, functions and rights stay.
func TestColumnOrder(t *testing.T) {
	t.Parallel()
	before, after, columns := afterVersion30(t, false, `create role "Reader of all"; grant select, update on rewards to "Reader of all";
		grant select on rewards to public; grant select on readable.rewards to "Reader of all"`)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if want := "member_at(bigint): member_rewards"; !slices.Contains(after, want) { // a new store got the order too
		t.Errorf("there is no %s in %v", want, after)
	}
	if want := "segment"; len(columns) != 18 || columns[8] != want {
		t.Errorf("columns %v, want 18, and numbers first until %s", columns, want)
	}
}

// A table with rewards, or with what would be lost, stays as it is.
func TestColumnOrderStays(t *testing.T) {
	t.Parallel()
	for what, sql := range map[string]string{
		"rewards":             ``,
		"a view":              `create view own as select symbol from rewards`,
		"a materialized view": `create materialized view own as select symbol from rewards`,
		"a function":          `create function own() returns bigint begin atomic select count(*) from rewards; end`,
		"a trigger": `create trigger own before update on rewards for each row
			execute function suppress_redundant_updates_trigger()`,
		"a policy":            `create policy own on rewards using (true)`,
		"a publication":       `create publication own for table rewards`,
		"an index":            `create index own on rewards (symbol)`,
		"a right to a column": `grant select (symbol) on rewards to pg_monitor`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			before, after, columns := afterVersion30(t, what == "rewards", sql)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
			if len(columns) != 19 { // with the trace of the dropped one
				t.Errorf("the columns %v were written again", columns)
			}
		})
	}
}
