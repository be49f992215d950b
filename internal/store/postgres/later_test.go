package postgres_test

import (
	"context"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
)

// A statement that is sent later runs before the next one and before the commit. When it fails,
// the transaction fails with its error, and nothing is stored.
func TestStatementsSentLater(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	e := open(t, database(t, c), postgres.Options{})
	const add = `INSERT INTO settings (name, value) VALUES (?1, ?2)`
	write := func(f func(ctx context.Context, tx store.NetworkTx) error) error {
		return e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			network, ok := tx.(store.NetworkTx)
			if !ok {
				t.Fatalf("%T is over no network", tx)
			}
			return f(ctx, network)
		})
	}
	count := func(ctx context.Context, tx store.Tx) (n int) {
		check(t, tx.Query(ctx, func(row store.Row) error { return row.Scan(&n) },
			`SELECT count(*) FROM settings WHERE name LIKE 'later-%'`))
		return n
	}
	stored := func(want int) {
		t.Helper()
		check(t, e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
			if got := count(ctx, tx); got != want {
				t.Errorf("%d rows, want %d", got, want)
			}
			return nil
		}))
	}
	check(t, write(func(_ context.Context, tx store.NetworkTx) error {
		tx.ExecLater(add, "later-1", "alone")
		return nil
	}))
	stored(1)
	check(t, write(func(ctx context.Context, tx store.NetworkTx) error {
		tx.ExecLater(add, "later-2", "before a statement")
		if n := count(ctx, tx); n != 2 {
			t.Errorf("the next statement sees %d rows", n)
		}
		tx.ExecLater(add, "later-3", "before the commit")
		return nil
	}))
	stored(3)
	for what, f := range map[string]func(ctx context.Context, tx store.NetworkTx) error{
		"at the commit": func(context.Context, store.NetworkTx) error { return nil },
		"at a statement": func(ctx context.Context, tx store.NetworkTx) error {
			_, err := tx.Exec(ctx, add, "later-5", "never")
			return err
		},
	} {
		err := write(func(ctx context.Context, tx store.NetworkTx) error {
			tx.ExecLater(add, "later-4", "not alone")
			tx.ExecLater(add, "later-1", "twice")
			return f(ctx, tx)
		})
		if err == nil {
			t.Errorf("%s: a statement failed, and the transaction did not", what)
		}
		stored(3)
	}
}
