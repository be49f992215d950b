package postgres_test

import (
	"context"
	"testing"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// A transaction that the server aborts to end a deadlock is retried, and writes once.
func TestADeadlockIsRunAgain(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	e, other := open(t, url, postgres.Options{Connections: 2}), connect(t, url)
	exec := func(statement string) {
		_, err := other.Exec(t.Context(), statement)
		check(t, err)
	}
	exec(`insert into settings (name, value) values ('a', ''), ('b', '')`)
	exec(`begin; set local deadlock_timeout = '1min'; update settings set value = value where name = 'b'`)
	met := make(chan error, 1)
	runs := 0
	began := time.Now()
	err := e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		const add = `UPDATE settings SET value = value || 'x' WHERE name = ?1`
		if _, err := tx.Exec(ctx, add, "a"); err != nil {
			return err
		}
		runs++
		if runs == 1 {
			go func() {
				_, err := other.Exec(t.Context(), `update settings set value = value where name = 'a'; commit`)
				met <- err
			}()
		}
		_, err := tx.Exec(ctx, add, "b")
		return err
	})
	if err != nil || runs < 2 { // a busy machine may need a third run
		t.Errorf("%d runs in %s, %v; want two", runs, time.Since(began), err)
	}
	check(t, <-met)
	var values string
	check(t, other.QueryRow(t.Context(), `select string_agg(value, ',') from settings where name in ('a', 'b')`).Scan(&values))
	if values != "x,x" {
		t.Errorf("written %q, want each once", values)
	}
}

// Canceled awards give back to several budgets, which new awards lock in the order of their keys.
func TestCancelsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	e, err := postgres.Open(t.Context(), url+"&options=-c%20deadlock_timeout%3D20ms", postgres.Options{Connections: 4})
	check(t, err)
	storetest.CancelsBesideAwards(t, e)
	check(t, e.Close()) // the server counts what its processes did when they end
	var deadlocks int64
	other := connect(t, url)
	for deadline := time.Now().Add(10 * time.Second); ; {
		var sessions int
		check(t, other.QueryRow(t.Context(), `select deadlocks, (select count(*) from pg_stat_activity a
			where a.datname = d.datname and a.pid <> pg_backend_pid()) from pg_stat_database d
			where datname = current_database()`).Scan(&deadlocks, &sessions))
		if sessions == 0 || time.Now().After(deadline) {
			break
		}
	}
	if deadlocks > 0 {
		t.Errorf("%d deadlocks", deadlocks)
	}
}
