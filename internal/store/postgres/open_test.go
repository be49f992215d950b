package postgres_test

import (
	"testing"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// differing counts the rows in which open_rewards differs from the open rows of rewards and from the
// members of live orders.
const differing = `with truth as (select r.app_id, r.id, r.asset_id, amount - booked as pending, exists (select 1
		from order_rewards m join orders o on o.id = m.order_id and o.state < 6
		where m.app_id = r.app_id and m.reward_id = r.id) as ordered from rewards r where r.status = 1),
	kept as (select app_id, id, asset_id, pending, waiting = 0 from open_rewards where status = 2 or waiting = 1)
	select (select count(*) from (table truth except table kept) a) + (select count(*) from (table kept except table truth) b)`

// toVersion3 takes a database back to the version before open_rewards.
const toVersion3 = `drop view readable.past_lots, readable.order_lots, readable.lot_segments, readable.lot_blocks;
	drop table order_lots, lot_segments, lot_blocks; drop view readable.segments; drop table segments; drop view readable.member_blocks, readable.member_parts; drop view readable.holding_changes; drop table holding_changes;
	drop view readable.past_members, readable.past_allocations, readable.order_rewards, readable.members,
	readable.executed_spans, readable.allocations, readable.orders, readable.open_rewards, readable.rewards;
	create table old_members as table members;
	drop function member_at;
	drop view all_members, allocations, order_rewards, order_members, member_rewards, members, member_ends;
	insert into past_members select id, place % 1024, app_id, reward_id, m.amount
		from orders o join old_members m on place / 1024 = number where state < 6;
	drop table old_members, member_blocks, member_parts, past_lots, executed_spans;
	alter table orders drop column number; alter table open_rewards drop column place;
	alter table rewards drop column place, drop column shares;
	drop index if exists rewards_by_key, rewards_by_user; drop function reward_key, user_entry, drop_reward_indexes;
	drop view readable.reward_batches, readable.key_blocks, readable.user_blocks; drop table reward_batches, key_blocks, user_blocks;
	alter table rewards drop column segment;
	create unique index rewards_by_key on rewards (app_id, idempotency_key);
	create index rewards_by_user on rewards (app_id, user_id, id);
	alter table past_members rename to order_rewards; alter table past_allocations rename to allocations;
	drop view readable.budgets, readable.budget_use;
	drop table budgets, budget_use; alter table rewards drop column counted;
	drop view readable.standstills, readable.reversals, readable.takings, readable.events,
	readable.event_counter, readable.late_orders;
	drop table standstills, takings, reversals, events, event_counter, late_orders;
	drop index order_rewards_by_reward;
	alter table allocations drop column user_id, drop column at, drop column cost;
	drop view readable.webhook_endpoints, readable.webhook_deliveries, readable.webhook_shards, readable.webhook_workers;
	drop table webhook_endpoints, webhook_deliveries, webhook_shards, webhook_workers;
	drop view readable.app_assets, readable.house_holdings, readable.order_corrections, readable.position_corrections,
	readable.broker_activities, readable.payouts, readable.effects, readable.switches, readable.prices, readable.holdings,
	readable.spending, readable.apps; alter table orders drop column answered_at;
	drop table app_assets, house_holdings, order_corrections, position_corrections, broker_activities, payouts, effects, switches;
	alter table spending drop column shortage; alter table holdings drop column generation;
	alter table prices drop column generation; alter table orders drop column generation;
	alter table apps drop column dividends;
	drop view readable.actions, readable.announcements, readable.positions, readable.assets;
	drop table announcements, actions, positions; alter table assets drop column hold_from,
	drop column generation, drop column basis_from, drop column basis_old, drop column basis_new,
	drop column pending_from, drop column pending_old, drop column pending_new, drop column former_broker_id;
	alter table users drop column seal;
	alter table apps drop column requests_per_second, drop column concurrent;
	drop index rewards_failed_by_user;
	drop view readable.operator_log; drop table operator_log; drop function keep_operator_log;
	drop view readable.house_topups; drop table house_topups;
	alter table orders drop column refused_sessions, drop column refused_until;
	drop view arrivals, arrived;
	do $$ declare rule record; begin for rule in select conname from pg_constraint where contype = 'c'
		and conrelid = 'rewards'::regclass and pg_get_constraintdef(oid) ~ 'status <> 2|status > 1'
		loop execute format('alter table rewards drop constraint %I', rule.conname); end loop; end $$;
	alter table rewards add column waiting bigint not null default 0;
	update rewards r set status = o.status, waiting = o.waiting from open_rewards o where o.app_id = r.app_id and o.id = r.id;
	drop table open_rewards;
	drop index rewards_failed;
	create index rewards_by_status on rewards (app_id, status, id);
	create index rewards_waiting on rewards (asset_id, id) where waiting = 1;
	delete from goose_db_version where version_id > 3`

// open_rewards has every reward that is not final, after whatever the service does and after a
// migration of an older database.
func TestOpenRewardsFollow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := database(t, cluster(t))
	e, err := postgres.Open(ctx, url, postgres.Options{})
	check(t, err)
	w := storetest.NewWorld(t, e)
	w.Fill(t)
	conn := connect(t, url)
	same := func(when string) (found int) {
		t.Helper()
		var wrong int
		check(t, conn.QueryRow(ctx, differing).Scan(&wrong))
		check(t, conn.QueryRow(ctx, `select count(*) from open_rewards`).Scan(&found))
		if wrong != 0 || found == 0 {
			t.Errorf("%s: %d open rewards, %d of them wrong", when, found, wrong)
		}
		return found
	}
	before := same("filled")
	w.Give(t, 5_000_000)
	w.Give(t, 6_000_000)
	if found := same("two more are recorded"); found != before+2 {
		t.Errorf("%d open rewards, want %d", found, before+2)
	}
	w.Plan(t)
	planned := same("planned")
	check(t, e.Close())
	_, err = conn.Exec(ctx, toVersion3)
	check(t, err)
	open(t, url, postgres.Options{})
	if found := same("brought up to date"); found != planned {
		t.Errorf("%d open rewards, want %d", found, planned)
	}
}

// A command that makes no store says what the database is instead: empty, or another program's. It leaves it alone.
func TestADatabaseWithoutAStore(t *testing.T) {
	t.Parallel()
	url := cluster(t).Database(t, "without_a_store")
	conn := connect(t, url)
	wantKept := func(want string) {
		t.Helper()
		wantRefused(t, url, postgres.Options{KeepSchema: true}, want)
		var tables string
		check(t, conn.QueryRow(t.Context(), `SELECT coalesce(string_agg(relname::text, ','), '') FROM pg_class
			WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'customers'`).Scan(&tables))
		if tables != "" {
			t.Errorf("it made the tables %s", tables)
		}
	}
	wantKept("the database is empty")
	_, err := conn.Exec(t.Context(), `CREATE TABLE customers (id bigint)`)
	check(t, err)
	wantKept("tables of another program")
	open(t, url, postgres.Options{})
	open(t, url, postgres.Options{KeepSchema: true})
}
