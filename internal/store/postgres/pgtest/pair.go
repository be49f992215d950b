package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pair is a primary with a synchronous standby: a commit is acknowledged when both have
// flushed it.
type Pair struct {
	Primary, Standby *Cluster

	ports [2]int // in the order of the URL, which FailOver keeps
}

// StartPair starts a primary and its synchronous standby.
func StartPair(tb testing.TB) *Pair {
	tb.Helper()
	standby, err := create("")
	check(tb, err)
	tb.Cleanup(func() { check(tb, standby.Close()) })
	p := &Pair{Primary: Start(tb), Standby: standby}
	p.ports = [2]int{p.Primary.Port, p.Standby.Port}
	p.attach(tb)
	return p
}

// URL returns the URL of a database of the current primary.
func (p *Pair) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable&target_session_attrs=read-write",
		p.ports[0], p.ports[1], database)
}

// FailOver kills the primary and promotes the standby, which has no standby until Rebuild.
func (p *Pair) FailOver(tb testing.TB) {
	tb.Helper()
	p.Primary.Kill()
	p.Promote(tb)
}

// Promote promotes the standby beside the running primary.
func (p *Pair) Promote(tb testing.TB) {
	tb.Helper()
	p.Primary, p.Standby = p.Standby, p.Primary
	p.Primary.Must(tb, "postgres", "select pg_promote()")
}

// Rebuild discards the data of the killed primary and makes it the synchronous standby.
func (p *Pair) Rebuild(tb testing.TB) {
	tb.Helper()
	check(tb, os.RemoveAll(p.Standby.data()))
	p.attach(tb)
}

// attach copies the primary's data to the standby, starts the standby, and makes the
// primary wait for it.
func (p *Pair) attach(tb testing.TB) {
	tb.Helper()
	out, err := p.Standby.command("pg_basebackup", "-R", "-D", p.Standby.data(), "-c", "fast", "--no-sync",
		"-d", p.Primary.URL("")).CombinedOutput()
	if err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	// After its promotion it must not wait for a standby.
	settings := filepath.Join(p.Standby.data(), "postgresql.auto.conf")
	text, readErr := os.ReadFile(settings)
	err = errors.Join(readErr, os.WriteFile(settings, append(text, "\nsynchronous_standby_names = ''\n"...), 0o600))
	check(tb, err)
	check(tb, p.Standby.Run())
	p.Primary.Must(tb, "postgres", "alter system set synchronous_standby_names = '*'")
	p.Primary.Must(tb, "postgres", "select pg_reload_conf()")
	p.AwaitStandby(tb)
}

// Interrupt interrupts a number of commits that wait for the standby, alternately by
// canceling the statement and by terminating the session.
func (p *Pair) Interrupt(tb testing.TB, times int) {
	tb.Helper()
	const most = 2 * time.Minute
	ctx, cancel := context.WithTimeout(tb.Context(), most)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.Primary.URL("postgres"))
	check(tb, err)
	defer conn.Close(context.WithoutCancel(ctx))
	for done := 0; done < times; {
		function := [2]string{"pg_cancel_backend", "pg_terminate_backend"}[done%2]
		var pid int
		err := conn.QueryRow(ctx, `select pid from pg_stat_activity where wait_event = 'SyncRep' limit 1`).Scan(&pid)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		waiting := true
		if err == nil {
			err = conn.QueryRow(ctx, "select "+function+"($1)", pid).Scan(&waiting)
		}
		for err == nil && waiting { // so that no session is interrupted twice
			err = conn.QueryRow(ctx, `select exists (select 1 from pg_stat_activity
				where pid = $1 and wait_event = 'SyncRep')`, pid).Scan(&waiting)
		}
		if err != nil {
			tb.Fatalf("after %d of %d: %v", done, times, err)
		}
		done++
	}
}

// AwaitStandby waits until commits wait for the standby and the standby has caught up.
func (p *Pair) AwaitStandby(tb testing.TB) {
	tb.Helper()
	p.Primary.await(tb, "a synchronous standby", `select exists (select 1 from pg_stat_replication
		where sync_state in ('sync', 'quorum') and flush_lsn >= pg_current_wal_flush_lsn())
		and current_setting('synchronous_standby_names') = '*'`)
}

// await waits until a query returns true.
func (c *Cluster) await(tb testing.TB, what, query string) {
	tb.Helper()
	const most = 30 * time.Second
	ctx, cancel := context.WithTimeout(tb.Context(), most)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	check(tb, err)
	defer conn.Close(context.WithoutCancel(ctx))
	for done := false; !done; {
		if err := conn.QueryRow(ctx, query).Scan(&done); err != nil {
			tb.Fatalf("cannot wait for %s: %v", what, err)
		}
	}
}
