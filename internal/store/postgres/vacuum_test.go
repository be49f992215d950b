package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// What was open leaves its space to what is open later, as soon as this process has booked enough.
func TestOpenRewardsAreVacuumed(t *testing.T) {
	t.Parallel()
	address := database(t, cluster(t))
	w := storetest.NewWorld(t, open(t, address, postgres.Options{}))
	conn := connect(t, address)
	const many, atLeast = 200, 400
	size := func() (bytes int64) {
		t.Helper()
		check(t, conn.QueryRow(t.Context(), `SELECT pg_relation_size('open_rewards')`).Scan(&bytes))
		return bytes
	}
	buy := func() {
		t.Helper()
		batch := make([]rewards.NewReward, many)
		for i := range batch {
			batch[i] = w.Request(t, 2_000_000)
		}
		_, err := w.RecordRewards(t.Context(), batch)
		check(t, err)
		check(t, w.Settle(t, w.Open(t), "filled", many*2*lot, lotPrice))
		check(t, w.VacuumOpen(t.Context(), atLeast))
	}
	buy()
	once := size()
	buy() // and that is enough
	twice := size()
	if twice <= once {
		t.Errorf("%d bytes after %d rewards, %d after twice as many: it was vacuumed too early", once, many, twice)
	}
	buy()
	if again := size(); again > twice {
		t.Errorf("%d bytes, and %d after a vacuum and more rewards", twice, again)
	}
}

// The space that a backlog needed goes back to the disk when few rewards are open, few are booked, and nobody uses the
// table.
func TestOpenRewardsAreShrunk(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	address := database(t, c)
	w := storetest.NewWorld(t, open(t, address, postgres.Options{}))
	conn, reader := connect(t, address), connect(t, address)
	const large, small, atMost = 4 << 20, 64 << 10, 1
	size := func() (bytes int64) {
		t.Helper()
		check(t, conn.QueryRow(t.Context(), `SELECT pg_total_relation_size('open_rewards')`).Scan(&bytes))
		return bytes
	}
	shrink := func(when string, wantAgain bool) (bytes int64) {
		t.Helper()
		again, err := w.ShrinkOpen(t.Context(), atMost)
		check(t, err)
		if again != wantAgain {
			t.Errorf("%s: must it be tried again? %t, want %t", when, again, wantAgain)
		}
		return size()
	}
	buy := func(many money.Shares) {
		t.Helper()
		for range many {
			w.Give(t, 2_000_000)
		}
		check(t, w.Settle(t, w.Open(t), "filled", many*2*lot, lotPrice))
	}
	backlog := func() {
		t.Helper()
		_, err := conn.Exec(t.Context(), `INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
			SELECT decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'), 1, 1, 0, 1 FROM generate_series(1, 80000) AS n`)
		check(t, err)
		_, err = conn.Exec(t.Context(), `DELETE FROM open_rewards WHERE length(app_id) = 16 AND app_id = id`)
		check(t, err)
	}
	backlog()

	if bytes := shrink("nothing was booked", false); bytes < large {
		t.Fatalf("%d bytes are too few for this test", bytes)
	}
	buy(atMost + 1)
	if bytes := shrink("much was booked", false); bytes < large {
		t.Errorf("%d bytes are left while much is booked", bytes)
	}
	check(t, w.VacuumOpen(t.Context(), atMost)) // so that the next row does not come after all others
	waiting := w.Give(t, 2_000_000)
	if bytes := shrink("nobody uses the table", false); bytes > small {
		t.Errorf("%d bytes are left", bytes)
	}
	if stored, err := w.Reward(t.Context(), waiting.AppID, waiting.ID); err != nil || stored.Status != rewards.Recorded {
		t.Errorf("the open reward is %+v, %v", stored, err)
	}
	check(t, w.Settle(t, w.Open(t), "filled", 2*lot, lotPrice))

	backlog()
	_, err := conn.Exec(t.Context(), `VACUUM (TRUNCATE on) open_rewards`)
	check(t, err)
	_, err = reader.Exec(t.Context(), `BEGIN; SELECT count(*) FROM open_rewards`)
	check(t, err)
	if bytes := shrink("somebody reads", true); bytes < large {
		t.Errorf("%d bytes are left while somebody reads", bytes)
	}
	log, err := os.ReadFile(filepath.Join(c.Folder, "server.log"))
	check(t, err)
	if strings.Contains(string(log), "skipping") {
		t.Error("the server was asked to vacuum a table that is used")
	}
}

// Through PgBouncer a vacuum runs too, and its time limit does not stay with the connection.
func TestVacuumLeavesNoSettings(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	address := database(t, c)
	pooled := strings.Replace(address, fmt.Sprint(c.Port), fmt.Sprint(pgtest.StartPgBouncer(t, c)), 1)
	for name, e := range map[string]*postgres.Engine{
		"direct": open(t, address, postgres.Options{Connections: 1}),
		"pooled": open(t, pooled, postgres.Options{Connections: 1, Pooled: true}),
	} {
		setting := func() (limit string) {
			t.Helper()
			check(t, e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
				return tx.Query(ctx, func(row store.Row) error { return row.Scan(&limit) }, `SELECT current_setting('statement_timeout')
					|| current_setting('synchronous_commit')`)
			}))
			return limit
		}
		before := setting()
		check(t, e.Vacuum(t.Context(), "open_rewards"))
		if after := setting(); after != before {
			t.Errorf("%s: the settings are %s, and %s after a vacuum", name, before, after)
		}
	}
	var vacuums int
	check(t, connect(t, address).QueryRow(t.Context(), `SELECT vacuum_count FROM pg_stat_user_tables
		WHERE relname = 'open_rewards'`).Scan(&vacuums))
	if vacuums != 2 {
		t.Errorf("%d vacuums, want 2", vacuums)
	}
}

// A role that does not own the tables leaves them to the server, which need not warn in its log.
func TestVacuumOfAnotherOwner(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	address := database(t, c)
	open(t, address, postgres.Options{})
	conn := connect(t, address)
	_, err := conn.Exec(t.Context(), `CREATE ROLE reader_of_open LOGIN; GRANT USAGE ON SCHEMA public TO reader_of_open;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_open;
		ALTER ROLE reader_of_open SET log_min_messages = warning`)
	check(t, err)
	u, err := url.Parse(address)
	check(t, err)
	u.User = url.User("reader_of_open")
	e := open(t, u.String(), postgres.Options{KeepSchema: true})
	check(t, e.Vacuum(t.Context(), "open_rewards"))
	if done, err := e.Shrink(t.Context(), "open_rewards"); err != nil || !done {
		t.Errorf("shrinking the table of another owner: %t, %v", done, err)
	}
	log, err := os.ReadFile(filepath.Join(c.Folder, "server.log"))
	check(t, err)
	if strings.Contains(string(log), "skipping") {
		t.Error("the server was asked to vacuum")
	}
	if err := e.Vacuum(t.Context(), "no_such_table"); err == nil {
		t.Error("a table that does not exist was vacuumed")
	}
}
