package postgres_test

import (
	"testing"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// differing counts the rows in which open_rewards differs from the open rows of rewards.
const differing = `with truth as (select app_id, id, asset_id, status, waiting, amount - booked as pending
		from rewards where status < 3),
	kept as (select app_id, id, asset_id, status, waiting, pending from open_rewards)
	select (select count(*) from (table truth except table kept) a) + (select count(*) from (table kept except table truth) b)`

// toVersion3 takes a database back to the version before open_rewards.
const toVersion3 = `drop view readable.budgets, readable.budget_use, readable.rewards;
	drop table budgets, budget_use; alter table rewards drop column counted;
	drop view readable.standstills, readable.allocations, readable.reversals, readable.takings, readable.events,
	readable.event_counter, readable.late_orders;
	drop table standstills, takings, reversals, events, event_counter, late_orders;
	drop index order_rewards_by_reward;
	alter table allocations drop column user_id, drop column at, drop column cost;
	drop view readable.webhook_endpoints, readable.webhook_deliveries, readable.webhook_shards, readable.webhook_workers;
	drop table webhook_endpoints, webhook_deliveries, webhook_shards, webhook_workers;
	drop view readable.app_assets, readable.house_holdings, readable.order_corrections, readable.position_corrections,
	readable.broker_activities, readable.payouts, readable.effects, readable.switches, readable.prices, readable.holdings,
	readable.spending, readable.apps, readable.orders; alter table orders drop column answered_at;
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
	drop view readable.open_rewards;
	drop trigger open_rewards_insert on rewards; drop trigger open_rewards_update on rewards;
	drop trigger open_rewards_delete on rewards; drop function keep_open_rewards; drop table open_rewards;
	drop index rewards_failed;
	create index rewards_by_status on rewards (app_id, status, id);
	create index rewards_waiting on rewards (asset_id, id) where waiting = 1;
	delete from goose_db_version where version_id > 3`

// open_rewards has every reward that is not final, whether the service, a process of an older
// version or a person wrote it. An older database gets the table when it is opened.
func TestOpenRewardsFollow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := database(t, cluster(t))
	e, err := postgres.Open(ctx, url, postgres.Options{})
	check(t, err)
	w := storetest.NewWorld(t, e)
	w.Fill(t)
	conn := connect(t, url)
	same := func(when string, open int) {
		t.Helper()
		var wrong, found int
		check(t, conn.QueryRow(ctx, differing).Scan(&wrong))
		check(t, conn.QueryRow(ctx, `select count(*) from open_rewards`).Scan(&found))
		if wrong != 0 || found != open {
			t.Errorf("%s: %d open rewards, %d of them wrong; want %d", when, found, wrong, open)
		}
	}
	exec := func(statement string) {
		t.Helper()
		_, err := conn.Exec(ctx, statement)
		check(t, err)
	}
	var before int
	check(t, conn.QueryRow(ctx, `select count(*) from rewards where status < 3`).Scan(&before))
	first, second := w.Give(t, 5_000_000), w.Give(t, 6_000_000)
	same("two more are recorded", before+2)
	exec(`update rewards set status = 2, waiting = 0 where status = 1`)
	same("planned by another program", before+2)
	exec(`update rewards set status = 2, waiting = 1, booked = 1 where status = 2`)
	same("a part was bought", before+2)
	_, err = conn.Exec(ctx, `update rewards set status = 4, waiting = 0, failure_reason = 'x: y' where id = $1`, first.ID[:])
	check(t, err)
	same("one failed", before+1)
	check(t, e.Close())
	exec(toVersion3)
	open(t, url, postgres.Options{})
	same("brought up to date", before+1)
	_, err = conn.Exec(ctx, `delete from rewards where id = $1`, second.ID[:])
	check(t, err)
	same("one is gone", before)
}
