package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// A transaction that the server gives up, for another one waits for it and it for that
// one, is run again; what it had written is not there twice.
func TestADeadlockIsRunAgain(t *testing.T) {
	t.Parallel()
	url, err := pgtest.Start(t).NewDatabase(t.Context())
	must(t, err)
	e, err := postgres.Open(t.Context(), url, postgres.Options{Connections: 2})
	must(t, err)
	defer e.Close()
	other, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer other.Close(t.Context())
	exec := func(statement string) {
		_, err := other.Exec(t.Context(), statement)
		must(t, err)
	}
	exec(`insert into settings (name, value) values ('a', ''), ('b', '')`)
	exec(`begin; set local deadlock_timeout = '1min'; update settings set value = value where name = 'b'`)
	met := make(chan error, 1)
	runs := 0
	began := time.Now()
	err = e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
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
	if err != nil || runs < 2 { // on a busy machine they may meet once more
		t.Errorf("%d runs in %s, %v; want two", runs, time.Since(began), err)
	}
	must(t, <-met)
	var values string
	must(t, other.QueryRow(t.Context(), `select string_agg(value, ',') from settings where name in ('a', 'b')`).Scan(&values))
	if values != "x,x" {
		t.Errorf("written %q, want each once", values)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
