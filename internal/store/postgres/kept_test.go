package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// fenceSettings lets a server refuse writes, of kept sessions too. It returns when that is in effect.
func fenceSettings(t *testing.T, c *pgtest.Cluster) {
	t.Helper()
	c.Must(t, "postgres", "alter system set default_transaction_read_only = on")
	c.Must(t, "postgres", "select pg_reload_conf()")
	await(t, connect(t, c.URL("postgres")), "select current_setting('default_transaction_read_only') = 'on'")
}

// fenceAccess lets a server refuse new sessions in the database "rewards". Kept sessions can write.
func fenceAccess(t *testing.T, c *pgtest.Cluster) {
	t.Helper()
	path := filepath.Join(c.Folder, "data", "pg_hba.conf")
	rules, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, append([]byte("host rewards all all reject\n"), rules...), 0o600))
	c.Must(t, "postgres", "select pg_reload_conf()")
	for err == nil {
		err = c.Exec(t.Context(), "rewards", "")
	}
}

// await waits until a query returns true.
func await(t *testing.T, conn *pgx.Conn, query string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for done := false; !done; {
		if err := conn.QueryRow(ctx, query).Scan(&done); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// silent is the address of a server that accepts connections and never answers, as one that hangs. most is the highest
// number of its connections at a time.
func silent(t *testing.T) (address string, most *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	var now atomic.Int64
	most = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			most.Store(max(most.Load(), now.Add(1)))
			go func() {
				defer now.Add(-1)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String(), most
}

// keepSessions makes an engine open as many connections as it may.
func keepSessions(t *testing.T, e *postgres.Engine, sessions int) {
	t.Helper()
	var all, ended sync.WaitGroup
	all.Add(sessions)
	for range sessions {
		ended.Go(func() {
			err := e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
				err := tx.Query(ctx, func(store.Row) error { return nil }, `SELECT 1`)
				all.Done()
				all.Wait()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
}

// An old primary is fenced for new sessions only and goes on running, the standby takes over, and the third host hangs.
// The engine notices without a new connection: its kept sessions are not used any more, nor does it listen there. What
// began there is not committed there.
func TestKeptSessionsAtAnOldPrimary(t *testing.T) {
	t.Parallel()
	for name, fence := range map[string]func(*testing.T, *pgtest.Cluster){"settings": fenceSettings, "access": fenceAccess} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := pgtest.StartPair(t)
			pair.Primary.Database(t, "rewards")
			pair.Primary.Must(t, "postgres", "alter system set synchronous_standby_names = ''") // else it acknowledges nothing
			pair.Primary.Must(t, "postgres", "select pg_reload_conf()")
			await(t, connect(t, pair.Standby.URL("postgres")), `select count(*) = 1 from pg_database where datname = 'rewards'`)
			wantRefused(t, pair.Standby.URL("rewards")+"&target_session_attrs=standby", postgres.Options{}, "the server can only be read")
			const sessions = 4
			third, most := silent(t)
			e := open(t, strings.Replace(pair.URL("rewards"), "/rewards", ","+third+"/rewards", 1), postgres.Options{Connections: sessions})
			w := storetest.NewWorld(t, e)
			old := connect(t, pair.Primary.URL("rewards"))
			listening, stop := context.WithCancel(t.Context())
			defer stop()
			go e.Listen(listening, func() {})
			const listens = `select count(*) = 1 from pg_stat_activity where query = 'listen stockrewards' and state = 'idle'`
			await(t, old, listens)
			keepSessions(t, e, sessions)

			runs := 0
			check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('begun', 'x')`)
				runs++
				if runs > 1 || err != nil {
					return err
				}
				fence(t, pair.Primary)
				pair.Promote(t)
				return awaitTimeline(t, e, "00000002")
			}))
			current := connect(t, pair.Primary.URL("rewards"))
			await(t, current, listens)
			wantAwardsAt(t, w, current, old)
			const begun = `SELECT count(*) FROM settings WHERE name = 'begun'`
			if runs != 2 || count(t, current, begun) != 1 || count(t, old, begun) != 0 {
				t.Errorf("what began at the old primary was run %d times, or is committed there", runs)
			}
			stop()
			check(t, e.Close())
			for _, server := range []*pgx.Conn{old, current} {
				await(t, server, `select count(*) = 0 from pg_stat_activity where application_name = 'stockrewards'`)
			}
			if most.Load() > 1 {
				t.Errorf("%d connections at a time to a server that hangs", most.Load())
			}
		})
	}
}

// awaitTimeline waits until an engine reads from a server on a timeline.
func awaitTimeline(t *testing.T, e *postgres.Engine, want string) error {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		timeline, err := one(t, e, `SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)`)
		if timeline == want || err != nil {
			return err
		}
	}
	return errors.New("the engine does not use the server on timeline " + want)
}

// wantAwardsAt records awards, each twice under its key. All must be at one server, and stay one award each.
func wantAwardsAt(t *testing.T, w *storetest.World, current, old *pgx.Conn) {
	t.Helper()
	const awards, all = 40, `SELECT count(*) FROM rewards`
	before := [2]int{count(t, current, all), count(t, old, all)}
	var done sync.WaitGroup
	for range awards {
		request := []rewards.NewReward{w.Request(t, 1_000_000)}
		done.Go(func() {
			first, err := w.RecordRewards(t.Context(), request)
			if err != nil {
				t.Error(err)
				return
			}
			again, err := w.RecordRewards(t.Context(), request)
			if err != nil || again[0].Reward.ID != first[0].Reward.ID {
				t.Errorf("one key gave %v and %v, %v", first, again, err)
			}
		})
	}
	done.Wait()
	if after := [2]int{count(t, current, all), count(t, old, all)}; after != [2]int{before[0] + awards, before[1]} {
		t.Errorf("%v awards at the new and at the old primary, before %v", after, before)
	}
}

func count(t *testing.T, conn *pgx.Conn, query string) (n int) {
	t.Helper()
	check(t, conn.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// A server whose default_transaction_read_only was switched on is not written through kept sessions either, until it is
// switched off.
func TestAFencedServerIsNotWritten(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	url := c.Database(t, "rewards")
	e, conn := open(t, url, postgres.Options{Connections: 2}), connect(t, url)
	insert := func() error {
		return e.WriteForClients(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('written', 'x') ON CONFLICT DO NOTHING`)
			return err
		})
	}
	keepSessions(t, e, 2)
	fenceSettings(t, c)
	if err := insert(); rewards.CodeOf(err) != rewards.CodeUnavailable {
		t.Errorf("a write on a fenced server: %v", err)
	}
	if n := count(t, conn, `SELECT count(*) FROM settings WHERE name = 'written'`); n != 0 {
		t.Error("it is committed")
	}
	for _, statement := range []string{
		"set default_transaction_read_only = off",
		"alter system reset default_transaction_read_only", "select pg_reload_conf()", "reset default_transaction_read_only",
	} {
		_, err := conn.Exec(t.Context(), statement)
		check(t, err)
	}
	await(t, conn, "select current_setting('default_transaction_read_only') = 'off'")
	check(t, insert())
}

// Settings of the database that change the form of values reach no transaction behind PgBouncer, also when it connects
// again while the process runs.
func TestFormsOfValuesBehindPgBouncer(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	url := database(t, c)
	e := open(t, strings.Replace(url, fmt.Sprint(c.Port), fmt.Sprint(pgtest.StartPgBouncer(t, c)), 1), postgres.Options{Pooled: true})
	w := storetest.NewWorld(t, e)
	exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %1$I SET bytea_output = escape;
		ALTER DATABASE %1$I SET standard_conforming_strings = off', current_database()); END $$`)
	exec(t, url, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	given := w.Give(t, 1_000_000)
	if again, err := w.Reward(t.Context(), w.App.ID, given.ID); err != nil || again.ID != given.ID {
		t.Errorf("%v, %v", again, err)
	}
	if text, err := one(t, e, `SELECT 'a\b'`); err != nil || text != `a\b` {
		t.Errorf("a string is %q, %v", text, err)
	}
}
