package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

var long = flag.Bool("long", false, "run the whole contract through PgBouncer, and cut at every message")

// longTests are the tests of the contract that take longest. Their statements are like those of the others, so they
// run through PgBouncer only with -long.
var longTests = regexp.MustCompile(`^(Sweep|Lots|Members|Budgets|EventsAfter|EventsIn|Reversals|Payout$|RewardsBy|EffectsOf)`)

// The contract holds through PgBouncer in transaction mode. Without -long a third of the shorter tests run.
func TestContractThroughPgBouncer(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	port := pgtest.StartPgBouncer(t, c)
	storetest.RunSome(t, func(t *testing.T) store.Engine {
		t.Helper()
		url := strings.Replace(database(t, c), fmt.Sprint(c.Port), fmt.Sprint(port), 1)
		return open(t, url, postgres.Options{Connections: 2, Pooled: true})
	}, func(name string) bool {
		const every = 3
		return *long || !longTests.MatchString(name) && crc32.ChecksumIEEE([]byte(name))%every == 0
	})
}

// Behind PgBouncer in any mode a process without Options.Pooled starts neither as it is, nor when PgBouncer drops the
// settings of the connection, among them every timeout.
func TestPgBouncerWithoutItsFlag(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	for _, further := range []string{"pool_mode = session", "ignore_startup_parameters = enable_seqscan,enable_hashjoin," +
		"enable_mergejoin,enable_bitmapscan,enable_memoize,enable_tidscan,jit,plan_cache_mode,statement_timeout," +
		"lock_timeout,idle_in_transaction_session_timeout,client_min_messages,bytea_output\npool_mode = session"} {
		port := pgtest.StartPgBouncer(t, c, further)
		url := strings.Replace(database(t, c), fmt.Sprint(c.Port), fmt.Sprint(port), 1)
		if _, err := postgres.Open(t.Context(), url, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "--pgbouncer") {
			t.Errorf("%s: %v", further, err)
		}
		open(t, url, postgres.Options{Pooled: true})
	}
}

// Every answer to a client is on the standby too. A commit that was canceled while it waited for
// the standby is visible but not replicated. Neither a repeated request nor a duplicate user is
// answered before it is.
func TestAnswersStandOnTheStandby(t *testing.T) {
	t.Parallel()
	pair := pgtest.StartPair(t)
	pair.Primary.Database(t, "rewards")
	pair.Primary.Must(t, "postgres", "alter database rewards set client_min_messages = error") // the commit's warning is seen
	w := storetest.NewWorld(t, open(t, pair.URL("rewards"), postgres.Options{}))
	known := w.Request(t, 2_000_000)
	other := known
	other.Amount++
	other.Fingerprint = rewards.NewFingerprint(other, "")
	first := w.Request(t, 1_000_000)
	record := func(r rewards.NewReward) func() error {
		return func() error {
			_, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
			return err
		}
	}
	check(t, record(known)())
	create := func() error {
		_, err := w.CreateUser(t.Context(), rewards.User{AppID: w.App.ID, ExternalID: "late", Email: "late@example.com"})
		return err
	}
	const attempts = 3 // of each call
	steps := []struct {
		name  string
		call  func() error
		after rewards.Code // when the standby is back; 0: success
	}{
		{"a reward", record(first), 0},
		{"its replay", record(first), 0},
		{"an old replay", record(known), 0},
		{"a conflict", record(other), 0}, // a verdict, not an error
		{"a user", create, rewards.CodeConflict},
		{"the user again", create, rewards.CodeConflict},
	}
	const holder, ttl = "a process", time.Minute
	lease, err := w.TakeLease(t.Context(), holder, ttl, true)
	check(t, err)
	pair.Standby.Kill()
	for _, s := range steps {
		answered := make(chan error, 1)
		go func() { answered <- s.call() }()
		pair.Interrupt(t, attempts)
		if err := <-answered; rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("%s, without the standby: %v", s.name, err)
		}
	}
	check(t, pair.Standby.Run())
	pair.AwaitStandby(t)
	pair.FailOver(t)
	for _, s := range steps {
		if err := s.call(); err != nil && rewards.CodeOf(err) == rewards.CodeUnavailable {
			err = s.call() // the first one found the connection to the old primary broken
			if s.after == 0 && err != nil || s.after != 0 && rewards.CodeOf(err) != s.after {
				t.Errorf("%s, after the fail-over: %v", s.name, err)
			}
		}
	}
	if err := w.SaveBrakes(t.Context(), lease, rewards.Brakes{}); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("a write for the leader of before: %v, want %v", err, rewards.ErrLostLease)
	}
	again, err := w.TakeLease(t.Context(), holder, ttl, false)
	check(t, err)
	if again.Epoch != lease.Epoch+1 {
		t.Errorf("the leader of before has epoch %d, want %d", again.Epoch, lease.Epoch+1)
	}
	check(t, w.SaveBrakes(t.Context(), again, rewards.Brakes{}))
}

// Nobody sees a commit that waits for the standby, also after its client has given up: a fail-over may undo it. It takes
// effect when the standby is not needed any more. Meanwhile the only connection of the process serves reads.
func TestACommitThatWaitsIsNotSeen(t *testing.T) {
	t.Parallel()
	pair := pgtest.StartPair(t)
	pair.Primary.Database(t, "rewards")
	e := open(t, pair.URL("rewards"), postgres.Options{Connections: 1})
	set := func(value string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('test', ?1)
				ON CONFLICT (name) DO UPDATE SET value = excluded.value`, value)
			return err
		}
	}
	get := func() (value string) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		check(t, e.Read(ctx, func(ctx context.Context, tx store.Tx) error {
			return tx.Query(ctx, func(row store.Row) error { return row.Scan(&value) }, `SELECT value FROM settings WHERE name = 'test'`)
		}))
		return value
	}
	check(t, e.WriteWithin(t.Context(), time.Minute, set("before")))
	pair.Standby.Kill()
	if err := e.WriteWithin(t.Context(), 5*time.Second, set("now")); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("a write without the standby: %v", err)
	}
	if got := get(); got != "before" {
		t.Errorf("a read after it sees what the standby has not: %q", got)
	}
	if err := e.WriteWithin(t.Context(), time.Second, set("later")); err == nil || errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("a write beside it: %v, want that it did not begin", err)
	}
	if got := get(); got != "before" {
		t.Errorf("a read sees what the standby has not: %q", got)
	}
	pair.Primary.Must(t, "postgres", "alter system set synchronous_standby_names = ''")
	pair.Primary.Must(t, "postgres", "select pg_reload_conf()")
	check(t, e.WriteWithin(t.Context(), time.Minute, func(context.Context, store.Tx) error { return nil }))
	if got := get(); got != "now" {
		t.Errorf("after it %q, want what waited", got)
	}
}

// After a fail-over the old primary starts again, as a server that can be written. Neither a running engine nor a new
// one uses it, although it comes first in the URL.
func TestAnOldPrimaryThatComesBackIsNotUsed(t *testing.T) {
	t.Parallel()
	pair := pgtest.StartPair(t)
	pair.Primary.Database(t, "rewards")
	url := pair.URL("rewards")
	w := storetest.NewWorld(t, open(t, url, postgres.Options{Connections: 2}))
	old := pair.Primary
	pair.FailOver(t)
	record := func() { // until the server answers again
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for {
			_, err := w.RecordRewards(ctx, []rewards.NewReward{w.Request(t, 1_000_000)})
			if err == nil {
				return
			}
			if ctx.Err() != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	record()
	check(t, old.Run())
	const times = 5
	for range times {
		pair.Primary.Must(t, "postgres", "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'rewards'")
		record()
	}
	seen := 0
	check(t, open(t, url, postgres.Options{}).Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&seen) }, `SELECT count(*) FROM rewards`)
	}))
	if seen < 1+times {
		t.Errorf("a new engine sees %d rewards", seen)
	}
}
