package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// begin begins a transaction that sees the state of this moment.
const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class`

// keeper is an engine, and what it says that keeps removed rows.
type keeper struct {
	*postgres.Engine
	conn *pgx.Conn // of an administrator
}

func (k keeper) exec(t *testing.T, statements string) {
	t.Helper()
	_, err := k.conn.Exec(t.Context(), statements)
	check(t, err)
}

func (k keeper) want(t *testing.T, long time.Duration, parts ...string) {
	t.Helper()
	message, err := k.HeldBackFor(t.Context(), long)
	check(t, err)
	if (message == "") != (len(parts) == 0) {
		t.Errorf("%q, want %q", message, parts)
	}
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Errorf("%q lacks %q", message, part)
		}
	}
}

// Whatever keeps removed rows from being freed is named, as far as the role may know it.
func TestWhatHoldsTheVacuumBackIsNamed(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, "max_prepared_transactions=2", "synchronous_commit=off", "autovacuum=off")
	c.Must(t, "postgres", "CREATE ROLE plain LOGIN")
	c.Must(t, "postgres", "CREATE DATABASE kept OWNER plain")
	byRole := strings.Replace(c.URL("kept"), "postgres@", "plain@", 1)
	plain := keeper{open(t, byRole, postgres.Options{}), nil}
	k := keeper{open(t, c.URL("kept"), postgres.Options{}), connect(t, c.URL("kept"))}
	k.want(t, 0)
	k.exec(t, `BEGIN; SELECT count(*) FROM pg_class`) // it sees what is committed meanwhile
	k.want(t, 0)
	k.exec(t, `COMMIT; SET application_name = psql; `+begin)
	process := fmt.Sprintf("process %d (user postgres", k.conn.PgConn().PID())
	k.want(t, 0, process, "psql", "idle in transaction", "pg_terminate_backend")
	k.want(t, time.Hour)
	elsewhere := keeper{open(t, database(t, c), postgres.Options{}), nil}
	elsewhere.want(t, 0)
	if message, err := k.HeldBack(t.Context()); err != nil || message != "" {
		t.Errorf("for a moment: %q, %v", message, err)
	}

	plain.want(t, time.Microsecond) // it has just been seen
	plain.want(t, time.Microsecond, process)
	k.exec(t, `COMMIT`)
	plain.want(t, 0)

	k.exec(t, `BEGIN; CREATE TABLE forgotten (n int); PREPARE TRANSACTION 'forgotten'`)
	plain.want(t, 0, "the prepared transaction 'forgotten' (user postgres)")
	k.exec(t, `ROLLBACK PREPARED 'forgotten'`)
	plain.want(t, 0)
}

// While an idle transaction has written, every statement that begins later holds the same rows. The idle one is named
// all the same, and its time goes on.
func TestAnIdleWriterIsNamedUnderLoad(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, "synchronous_commit=off", "autovacuum=off")
	c.Must(t, "postgres", "CREATE ROLE plain LOGIN")
	c.Must(t, "postgres", "CREATE DATABASE kept OWNER plain")
	byRole := strings.Replace(c.URL("kept"), "postgres@", "plain@", 1)
	plain := keeper{open(t, byRole, postgres.Options{}), nil}
	k := keeper{open(t, c.URL("kept"), postgres.Options{}), connect(t, c.URL("kept"))}
	const before, after, polls = 3, 3, 20
	busy := make([]*pgx.Conn, before, before+after)
	for i := range before { // the server lists the oldest connections first
		busy[i] = connect(t, c.URL("kept"))
	}
	idle := connect(t, c.URL("kept"))
	for range after {
		busy = append(busy, connect(t, c.URL("kept")))
	}
	_, err := idle.Exec(t.Context(), `BEGIN; CREATE TABLE forgotten (n int)`)
	check(t, err)
	writer := fmt.Sprintf("process %d (user postgres", idle.PgConn().PID())
	plain.want(t, time.Microsecond) // it has just been seen

	ctx, stop := context.WithCancel(t.Context())
	var statements sync.WaitGroup
	defer statements.Wait()
	defer stop()
	for _, conn := range busy {
		statements.Go(func() { _, _ = conn.Exec(ctx, `SELECT pg_sleep(600)`) })
	}
	k.exec(t, fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..300 LOOP PERFORM pg_stat_clear_snapshot();
		EXIT WHEN %d = (SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'); PERFORM pg_sleep(0.1);
		END LOOP; END $$`, len(busy)))
	for range polls {
		k.want(t, 0, writer)
		plain.want(t, time.Microsecond, writer)
	}

	_, err = idle.Exec(t.Context(), `COMMIT`)
	check(t, err)
	k.want(t, 0, "active") // the statements need what it left
}

// A reader at a standby that reports it keeps removed rows of the primary, with and without a replication slot.
func TestAReaderAtAStandbyHoldsTheVacuumBack(t *testing.T) {
	t.Parallel()
	p := pgtest.StartPair(t)
	k := keeper{open(t, database(t, p.Primary), postgres.Options{}), connect(t, p.Primary.URL("postgres"))}
	standby := connect(t, p.Standby.URL("postgres"))
	set := func(statement string) {
		t.Helper()
		p.Standby.Must(t, "postgres", "ALTER SYSTEM SET "+statement)
		p.Standby.Must(t, "postgres", "SELECT pg_reload_conf()")
	}
	await := func(condition string) {
		t.Helper()
		k.exec(t, `DO $$ BEGIN FOR i IN 1..300 LOOP PERFORM pg_stat_clear_snapshot(); EXIT WHEN EXISTS (`+condition+`);
			PERFORM pg_sleep(0.1); END LOOP; END $$`)
	}
	_, err := standby.Exec(t.Context(), begin)
	check(t, err)
	set("wal_receiver_status_interval = 1")
	set("hot_standby_feedback = on")
	await(`SELECT FROM pg_stat_activity WHERE backend_type = 'walsender' AND backend_xmin IS NOT NULL`)
	k.want(t, time.Microsecond)
	k.want(t, time.Microsecond, "the standby of process", "hot_standby_feedback")

	k.exec(t, `SELECT pg_create_physical_replication_slot('feed')`)
	set("primary_slot_name = feed")
	await(`SELECT FROM pg_replication_slots WHERE xmin IS NOT NULL`)
	k.want(t, time.Microsecond)
	k.want(t, time.Microsecond, "the replication slot feed (in use)", "pg_drop_replication_slot")
}
