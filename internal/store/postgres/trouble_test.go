package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// exec runs statements as the superuser.
func exec(t *testing.T, url, statements string) {
	t.Helper()
	_, err := connect(t, url).PgConn().Exec(t.Context(), statements).ReadAll()
	check(t, err)
}

// one reads a string.
func one(t *testing.T, e *postgres.Engine, query string) (text string, err error) {
	t.Helper()
	err = e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&text) }, query)
	})
	return text, err
}

// wantRefused opens a database, which must fail with a message.
func wantRefused(t *testing.T, url string, o postgres.Options, want string) {
	t.Helper()
	e, err := postgres.Open(t.Context(), url, o)
	if err == nil {
		check(t, e.Close())
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}

// The strings of clients come to the database as they are, whatever encoding it has for others: a key would be another one
// after a change of that.
func TestEncodingOfTexts(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	url := database(t, c)
	exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_encoding = latin1', current_database()); END $$`)
	pooled := strings.Replace(url, fmt.Sprint(c.Port), fmt.Sprint(pgtest.StartPgBouncer(t, c)), 1)
	for name, o := range map[string]postgres.Options{url: {}, pooled: {Pooled: true}} {
		e := open(t, name, o)
		if bytes, err := one(t, e, `SELECT octet_length('é')::text`); err != nil || bytes != "2" {
			t.Errorf("%s: a letter of two bytes has %s, %v", name, bytes, err)
		}
	}
}

// Neither what a trigger raises nor a constraint that a row violates is held against the order that is booked.
func TestBookingInTrouble(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	for name, trouble := range map[string]struct{ begin, end string }{
		"a trigger": {
			`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
				CREATE TRIGGER fail BEFORE INSERT ON holdings FOR EACH ROW EXECUTE FUNCTION fail()`,
			`DROP TRIGGER fail ON holdings`,
		},
		"a constraint": {
			`ALTER TABLE holdings ADD CONSTRAINT few CHECK (quantity < 1000) NOT VALID`,
			`ALTER TABLE holdings DROP CONSTRAINT few`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t, c)
			w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
			w.Give(t, 1_000_000)
			o := w.Open(t)
			exec(t, url, trouble.begin)
			storetest.WantBookedLater(t, o, w.Settle(t, o, "filled", 5_000_000, 200_000_000_000))
			exec(t, url, trouble.end)
			check(t, w.Settle(t, o, "filled", 5_000_000, 200_000_000_000))
		})
	}
}

// A store that was restored without a unique index is not taken for one that works.
func TestAnIncompleteRestore(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
	exec(t, url, `ALTER TABLE settings DROP CONSTRAINT settings_pkey`)
	err := w.SetPaused(t.Context(), "checking")
	if rewards.CodeOf(err) != rewards.CodeUnavailable || !strings.Contains(err.Error(), "as after an incomplete restore") {
		t.Errorf("%v", err)
	}
}

// Rows that a policy hides are not taken for missing: the process does not start, or is not ready.
func TestHiddenRows(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	url := database(t, c)
	exec(t, url, `CREATE ROLE hidden_from LOGIN; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO hidden_from;
		GRANT DELETE ON reward_batches TO hidden_from`)
	url = strings.Replace(url, "postgres@", "hidden_from@", 1)
	e := open(t, url, postgres.Options{})
	check(t, e.CheckAccess(t.Context()))
	for statement, back := range map[string]string{
		`ALTER TABLE rewards ENABLE ROW LEVEL SECURITY`: `ALTER TABLE rewards DISABLE ROW LEVEL SECURITY`,
		`REVOKE SELECT ON rewards FROM hidden_from`:     `GRANT SELECT ON rewards TO hidden_from`,
	} {
		super := strings.Replace(url, "hidden_from@", "postgres@", 1)
		exec(t, super, statement)
		const want = "lacks rights on rewards, or row-level security hides rows"
		if err := e.CheckAccess(t.Context()); rewards.CodeOf(err) != rewards.CodeUnavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", statement, err)
		}
		if n, err := one(t, e, `SELECT count(*)::text FROM rewards`); rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("%s: %s rewards, %v", statement, n, err)
		}
		wantRefused(t, url, postgres.Options{}, want)
		exec(t, super, back)
	}
	check(t, e.CheckAccess(t.Context()))
}

// A role that may record, and not put rewards into segments, is refused: in the end no process could start.
func TestRightsOfSegments(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	exec(t, url, `CREATE ROLE cannot_seal LOGIN; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO cannot_seal`)
	err := open(t, strings.Replace(url, "postgres@", "cannot_seal@", 1), postgres.Options{}).CheckAccess(t.Context())
	if err == nil || !strings.Contains(err.Error(), "lacks rights on reward_batches") {
		t.Errorf("%v", err)
	}
}

// The URL can say how many connections a process uses at most. A read that lost its connection when it was complete is
// answered.
func TestReadsOverFewConnections(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	e, other := open(t, url+"&pool_max_conns=1", postgres.Options{}), connect(t, url)
	runs := 0
	err := e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		runs++
		within, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if err := e.Read(within, func(context.Context, store.Tx) error { return nil }); err == nil {
			t.Error("there is a second connection")
		}
		var pid int64
		err := tx.Query(ctx, func(r store.Row) error { return r.Scan(&pid) }, `SELECT pg_backend_pid()::bigint`)
		if err == nil {
			_, err = other.Exec(ctx, `SELECT pg_terminate_backend($1, 2000)`, pid)
		}
		return err
	})
	if err != nil || runs != 1 {
		t.Errorf("%d runs: %v", runs, err)
	}
}

// A migration never begins a store beside the one that the database has, and leaves no table that another role owns.
func TestTheStoreOfADatabase(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	exec(t, url, `CREATE SCHEMA app`)
	const want = `the store is in the schema "public", but this role's tables would be made in "app"`
	wantRefused(t, url+"&search_path=app", postgres.Options{}, want)
	exec(t, url, `CREATE TABLE app.goose_db_version (n int); CREATE TABLE app.rewards (n int)`)
	wantRefused(t, url+"&search_path=app", postgres.Options{KeepSchema: true}, want)
	exec(t, url, `DROP SCHEMA app CASCADE; DELETE FROM goose_db_version WHERE version_id > 35;
		DROP ROLE IF EXISTS another; CREATE ROLE another SUPERUSER LOGIN`)
	wantRefused(t, strings.Replace(url, "postgres@", "another@", 1), postgres.Options{},
		`the role "postgres" owns the store's tables, and "another" would own the new ones`)
}

// A migration ends when the connection of its lock is lost: another process may begin one.
func TestMigrationWithoutItsLock(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	url := c.Database(t, "locked")
	blocker := connect(t, url)
	_, err := blocker.PgConn().Exec(t.Context(), `BEGIN; CREATE TABLE settings (n int)`).ReadAll() // as the first migration
	check(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := postgres.Open(context.WithoutCancel(t.Context()), url, postgres.Options{})
		ended <- err
	}()
	killed, killer := false, connect(t, url)
	for deadline := time.Now().Add(time.Minute); !killed && time.Now().Before(deadline); {
		var n int
		check(t, killer.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l
			WHERE l.locktype = 'advisory' AND l.objid = 7356999 AND EXISTS (SELECT 1 FROM pg_locks w WHERE NOT w.granted)`).Scan(&n))
		killed = n > 0
	}
	if err := <-ended; !killed || err == nil || !strings.Contains(err.Error(), "the connection that kept other processes away is lost") {
		t.Errorf("killed %v: %v", killed, err)
	}
}
