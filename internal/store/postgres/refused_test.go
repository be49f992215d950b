package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// A server that can only be read is the reason why nothing starts, also when it has no TLS, and why a process that runs is
// not ready. A healthy standby beside a primary that is down is not.
func TestTheReasonOfThePrimaryComesFirst(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	running := open(t, url, postgres.Options{})
	exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$;
		SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	address, err := pgtest.FreeAddress()
	check(t, err)
	for _, url := range []string{url, strings.TrimSuffix(url, "?sslmode=disable")} {
		wantRefused(t, url, postgres.Options{}, "postgres: the server can only be read")
		_, err = postgres.Open(t.Context(), strings.Replace(url, "/test", ","+address+"/test", 1), postgres.Options{})
		if first, _, _ := strings.Cut(fmt.Sprint(err), "\n"); !strings.Contains(first, "postgres: cannot connect: "+address) {
			t.Errorf("%v", err)
		}
	}
	_, err = one(t, running, `SELECT ''`)
	if refused, ok := errors.AsType[*rewards.Error](err); !ok || refused.Message != "the database can only be read" {
		t.Errorf("a process that runs: %v", err)
	}
}

// Behind PgBouncer a timeout of the database would end a vacuum.
func TestATimeoutBehindPgBouncer(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	url := database(t, c)
	exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 14000', current_database()); END $$`)
	pooled := strings.Replace(url, fmt.Sprint(c.Port), fmt.Sprint(pgtest.StartPgBouncer(t, c)), 1)
	wantRefused(t, pooled, postgres.Options{Pooled: true}, "statement_timeout is 14000 ms")
	open(t, url, postgres.Options{})
}

// The server dies when it has committed a transaction and before it answers. PgBouncer drops what it answered before,
// and ends the connection: the outcome is unknown, and the transaction is not run again.
func TestACommitThatPgBouncerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	url := c.Database(t, "lost")
	port := pgtest.StartPgBouncer(t, c)
	e := open(t, strings.Replace(url, fmt.Sprint(c.Port), fmt.Sprint(port), 1), postgres.Options{Pooled: true})
	c.Must(t, "postgres", "alter system set synchronous_standby_names = 'nobody'")
	c.Must(t, "postgres", "select pg_reload_conf()")
	conn := connect(t, url)
	await(t, conn, "select current_setting('synchronous_standby_names') = 'nobody'")
	runs, wrote := 0, make(chan error, 1)
	go func() {
		wrote <- e.Write(t.Context(), func(_ context.Context, tx store.Tx) error {
			runs++
			tx.(store.NetworkTx).ExecLater(`INSERT INTO settings (name, value) VALUES ('written', 'x')`) //nolint:forcetypeassert // it is
			return nil
		})
	}()
	await(t, conn, "select exists (select from pg_stat_activity where wait_event = 'SyncRep')")
	check(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	if err := <-wrote; !errors.Is(err, store.ErrUnknownOutcome) || runs != 1 {
		t.Errorf("%d runs: %v", runs, err)
	}
	c.Kill()
}
