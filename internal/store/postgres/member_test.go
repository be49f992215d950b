package postgres_test

import (
	"testing"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// toVersion27 takes a database back to the version before members were in blocks. It keeps the blocks, to compare.
const toVersion27 = `create table old as select m.place, m.amount, p.rest, p.shares, p.before, p.completes, m.app_id, m.reward_id
		from members m left join member_parts p on p.place = m.place;
	drop view readable.member_blocks, readable.member_parts, readable.segments;
	alter view members rename to kept_members; alter view member_ends rename to kept_ends;
	alter table member_blocks rename to kept_blocks; alter table member_parts rename to kept_parts;
	alter index member_blocks_pkey rename to kept_blocks_pkey; alter index member_parts_pkey rename to kept_parts_pkey;
	drop function member_at;
	alter table old rename to members; create view member_figures as select place from members;
	drop index if exists rewards_by_user; drop function user_entry; create index rewards_by_user on rewards (segment, user_id, id);
	create unique index rewards_by_key on rewards (reward_key(segment, app_id, idempotency_key)); drop function drop_reward_indexes;
	drop view readable.reward_batches, readable.key_blocks, readable.user_blocks; drop table reward_batches, key_blocks, user_blocks;
	alter table segments drop column size, drop column keys, drop column users, drop column page, drop column file, drop column checksum;
	create view readable.segments as select number, mark, octet_length(filter) as filter_bytes from segments;
	delete from goose_db_version where version_id > 27`

// The members of an older database are put into the blocks in which they would have been stored.
func TestMembersOfVersion27(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t, cluster(t))
	e, err := postgres.Open(ctx, url, postgres.Options{})
	check(t, err)
	w := storetest.NewWorld(t, e)
	w.Fill(t)
	for range 73 {
		w.Give(t, 1_000_000)
	}
	w.Plan(t)
	check(t, e.Close())
	conn := connect(t, url)
	_, err = conn.Exec(ctx, `insert into member_parts select min(place), 1, 2, 0, 0 from members
		union all select max(place), 0, 3, 1024, 1 from members`)
	check(t, err)
	_, err = conn.Exec(ctx, toVersion27)
	check(t, err)
	open(t, url, postgres.Options{})
	for _, table := range []string{"blocks", "parts"} {
		var kept, wrong int
		check(t, conn.QueryRow(ctx, `select count(*) from kept_`+table).Scan(&kept))
		check(t, conn.QueryRow(ctx, `select count(*) from ((table kept_`+table+` except table member_`+table+`)
			union all (table member_`+table+` except table kept_`+table+`)) as a`).Scan(&wrong))
		if wrong != 0 || kept == 0 {
			t.Errorf("%d %s, %d differ", kept, table, wrong)
		}
	}
	// A role that may read the views for people needs no table.
	_, err = conn.Exec(ctx, `create role viewer; grant usage on schema readable to viewer;
		grant select on all tables in schema readable to viewer; set role viewer`)
	check(t, err)
	var seen int
	check(t, conn.QueryRow(ctx, `select count(*) from readable.members where amount > 0`).Scan(&seen))
	_, err = conn.Exec(ctx, `reset role; drop owned by viewer; drop role viewer`)
	check(t, err)
	if seen < 73 {
		t.Errorf("%d members in the view for people", seen)
	}
	var many, size, surplus int
	check(t, conn.QueryRow(ctx, `select max(cardinality(amounts)) from member_blocks`).Scan(&many))
	check(t, conn.QueryRow(ctx, `select size, size - (select count(*) from rewards where segment = number)
		from segments order by number desc limit 1 offset 2`).Scan(&size, &surplus))
	if many != 32 || size == 0 || surplus != 0 {
		t.Errorf("a block of %d; the segment is said to have %d rewards, %d too many", many, size, surplus)
	}
}
