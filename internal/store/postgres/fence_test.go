package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
)

// waiting counts who waits for the advisory locks of turns.
const waiting = `select count(*) from pg_locks l join pg_database d on d.oid = l.database
	where l.locktype = 'advisory' and not l.granted and l.objid between 7357000 and 7357003 and d.datname = current_database()`

// awaitWaiting waits until a process waits for a turn. It fails if the call ends before.
func awaitWaiting(t *testing.T, conn *pgx.Conn, ended <-chan error) {
	t.Helper()
	for n := 0; n == 0; {
		select {
		case err := <-ended:
			t.Fatalf("it did not wait for a turn, and ended with %v", err)
		default:
			check(t, conn.QueryRow(t.Context(), waiting).Scan(&n))
		}
	}
}

// A process that freezes while it migrates keeps nobody from opening a current schema.
func TestACurrentSchemaNeedsNoLock(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	open(t, url, postgres.Options{})
	_, err := connect(t, url).Exec(t.Context(), `begin; select pg_advisory_xact_lock(7356999)`)
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, keep := range []bool{false, true} {
		e, err := postgres.Open(ctx, url, postgres.Options{KeepSchema: keep})
		check(t, err)
		check(t, e.Close())
	}
}

// A migration begins when no transaction writes, and no transaction writes until it ends.
func TestMigrationsExcludeWriters(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := database(t, cluster(t))
	e, conn, blocker := open(t, url, postgres.Options{}), connect(t, url), connect(t, url)
	exec := func(conn *pgx.Conn, statement string) {
		t.Helper()
		_, err := conn.Exec(ctx, statement)
		check(t, err)
	}
	insert := func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('written', 'x') ON CONFLICT DO NOTHING`)
		return err
	}
	migrated, wrote := make(chan error, 1), make(chan error, 1)
	for name, write := range map[string]func(context.Context, func(context.Context, store.Tx) error) error{
		"clients": e.WriteForClients, "others": e.Write, "orders": e.WriteOrders, "bookings": e.WriteBookings,
	} {
		err := write(ctx, func(within context.Context, tx store.Tx) error {
			check(t, insert(within, tx))
			exec(conn, toVersion3)
			go func() {
				newer, err := postgres.Open(ctx, url, postgres.Options{})
				if err == nil {
					err = newer.Close()
				}
				migrated <- err
			}()
			awaitWaiting(t, conn, migrated)
			exec(blocker, `begin; lock table rewards in share mode`)
			return nil
		})
		if err != nil {
			t.Errorf("%s: a write that began before the migration: %v", name, err)
		}
		go func() { wrote <- write(ctx, insert) }()
		awaitWaiting(t, conn, wrote)
		exec(blocker, `commit`)
		check(t, <-migrated)
		if err := <-wrote; err != nil {
			t.Errorf("%s: a write after the migration: %v", name, err)
		}
	}
}
