package postgres_test

import (
	"net/url"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/postgres"
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

// A role that does not own the tables leaves them to the server.
func TestVacuumOfAnotherOwner(t *testing.T) {
	t.Parallel()
	address := database(t, cluster(t))
	open(t, address, postgres.Options{})
	conn := connect(t, address)
	_, err := conn.Exec(t.Context(), `CREATE ROLE reader_of_open LOGIN; GRANT USAGE ON SCHEMA public TO reader_of_open;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_open`)
	check(t, err)
	u, err := url.Parse(address)
	check(t, err)
	u.User = url.User("reader_of_open")
	e := open(t, u.String(), postgres.Options{KeepSchema: true})
	check(t, e.Vacuum(t.Context(), "open_rewards"))
	if err := e.Vacuum(t.Context(), "no_such_table"); err == nil {
		t.Error("a table that does not exist was vacuumed")
	}
}
