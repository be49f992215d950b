package test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store/postgres/pgtest"
)

var copyKills = flag.Int("copy-kills", 4, "at how many tables, chosen at random, a copy is killed or fails; 0: at each")

// moved are the tables in the order in which they are copied.
var moved = []string{
	"settings", "apps", "keys", "users", "assets", "prices", "rewards", "orders", "member_blocks", "member_parts", "past_members",
	"order_resolutions", "past_allocations", "past_lots", "order_lots", "lot_segments", "lot_blocks", "executed_spans", "holdings",
	"spending", "lease", "alarms", "broker_conflicts",
}

// someTables are the tables at which this run kills a copy, or lets it fail.
func someTables() []string {
	if *copyKills == 0 {
		return moved
	}
	var some []string
	for _, i := range rand.Perm(len(moved))[:*copyKills] {
		some = append(some, moved[i])
	}
	return some
}

// gate is a place in a target at which a copy waits until it is opened.
type gate struct {
	t    *testing.T
	conn *pgx.Conn
}

const newGate = `CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END $$; `

// atTable is where the rows of a table arrive; atCommit is within the commit.
func atTable(table string) string {
	return newGate + `CREATE TRIGGER pass BEFORE INSERT ON ` + table + ` FOR EACH STATEMENT EXECUTE FUNCTION pass()`
}

const atCommit = newGate + `CREATE CONSTRAINT TRIGGER pass AFTER INSERT ON lease DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION pass()`

// closeGate makes a gate, and closes it.
func closeGate(t *testing.T, url, where string) *gate {
	t.Helper()
	makeSchema(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	g := &gate{t, conn}
	g.exec(where)
	g.exec(`SELECT pg_advisory_lock(42)`)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return g
}

func (g *gate) exec(statements string) {
	g.t.Helper()
	if _, err := g.conn.PgConn().Exec(g.t.Context(), statements).ReadAll(); err != nil {
		g.t.Fatal(err)
	}
}

// wait waits until a query returns a number above zero.
func (g *gate) wait(query string) {
	g.t.Helper()
	eventually(g.t, query, 2*time.Minute, func() bool {
		var n int
		noError(g.t, g.conn.QueryRow(g.t.Context(), query).Scan(&n))
		return n > 0
	})
}

// arrived waits for a copy at the gate.
func (g *gate) arrived() {
	g.t.Helper()
	g.wait(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}

func (g *gate) open() { g.t.Helper(); g.exec(`SELECT pg_advisory_unlock(42)`) }

// beginCopy starts a copy and leaves it alone.
func (s *service) beginCopy(url string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(binary, s.copyArgs(url)...)
	noError(s.t, cmd.Start())
	return cmd
}

func kill9(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestCopyIsKilled kills the program at tables and within the commit: the
// source is frozen, and the same command again moves everything.
func TestCopyIsKilled(t *testing.T) {
	t.Parallel()
	source := stoppedService(t)
	c := pgtest.Start(t)
	places := map[string]string{"commit": atCommit}
	for _, table := range someTables() {
		places[table] = atTable(table)
	}
	for place, where := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := source.duplicate(t)
			url := c.Database(t, "killed_in_"+place)
			g := closeGate(t, url, where)
			cmd := s.beginCopy(url)
			g.arrived()
			kill9(cmd)
			s.wantState("moving")
			g.open()
			if place == "commit" { // nobody listens any more, and it happens
				g.wait(countRewards)
				fails(t, "is not empty")(s.copyTo(url, "--abandon"))
			}
			succeeds(t, "is frozen")(s.copyTo(url))
			s.wantMoved(url)
		})
	}
}

// TestCopyIsKilledBeforeItIsNoted kills the program when the target has the rows
// and the source does not yet say so.
func TestCopyIsKilledBeforeItIsNoted(t *testing.T) {
	t.Parallel()
	s := stoppedService(t)
	url := pgtest.Start(t).Database(t, "target")
	g := closeGate(t, url, atTable("alarms"))
	cmd := s.beginCopy(url)
	g.arrived()
	db, err := sql.Open("sqlite", filepath.Join(s.folder, "rewards.db"))
	noError(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	noError(t, err)
	if _, err := conn.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	g.open()
	g.wait(countRewards)
	kill9(cmd)
	if _, err := conn.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	s.wantState("moving")
	succeeds(t, "already has the data", "all 64 checks hold")(s.copyTo(url))
	s.wantMoved(url)
}

// TestCopyLosesItsConnection within the commit: whether it happened is not known, so
// the source stays frozen.
func TestCopyLosesItsConnection(t *testing.T) {
	t.Parallel()
	s := stoppedService(t)
	url := pgtest.Start(t).Database(t, "target")
	g := closeGate(t, url, atCommit)
	var stderr strings.Builder
	cmd := exec.Command(binary, s.copyArgs(url)...)
	cmd.Stderr = &stderr
	noError(t, cmd.Start())
	g.arrived()
	g.exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)
	err := cmd.Wait()
	fails(t, "unknown outcome", "repeat the command")(stderr.String(), err)
	s.wantState("moving")
	g.open()
	succeeds(t, "is frozen")(s.copyTo(url))
	s.wantMoved(url)
}

// TestCopyIsAbandoned goes back after a kill.
func TestCopyIsAbandoned(t *testing.T) {
	t.Parallel()
	s := stoppedService(t)
	c := pgtest.Start(t)
	url := c.Database(t, "target")
	fails(t, "nothing to abandon")(s.copyTo(url, "--abandon"))
	g := closeGate(t, url, atTable("orders"))
	cmd := s.beginCopy(url)
	g.arrived()
	kill9(cmd)
	g.open()
	fails(t, "this database is frozen")(s.copyTo(c.Database(t, "another"), "--abandon"))
	succeeds(t, "can be served again")(s.copyTo(url, "--abandon"))
	s.wantState("")
	succeeds(t, "is frozen")(s.copyTo(url))
	s.wantMoved(url)
}

// TestCopyFails at tables, and at the commit: nothing is in the target, and the
// source lives on.
func TestCopyFails(t *testing.T) {
	t.Parallel()
	s := stoppedService(t)
	c := pgtest.Start(t)
	url := c.Database(t, "target")
	makeSchema(t, url)
	c.Must(t, "target", `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$`)
	for _, table := range append(someTables(), "commit") {
		trigger := fmt.Sprintf(`CREATE TRIGGER fail BEFORE INSERT ON %s FOR EACH STATEMENT EXECUTE FUNCTION fail()`, table)
		if table == "commit" {
			table = "lease"
			trigger = strings.ReplaceAll(atCommit[len(newGate):], "pass", "fail")
		}
		c.Must(t, "target", trigger)
		fails(t, "the store was not copied", "no room")(s.copyTo(url))
		c.Must(t, "target", `DROP TRIGGER fail ON `+table)
		if n := count(t, url, `SELECT (SELECT count(*) FROM settings) + (SELECT count(*) FROM apps) + (SELECT count(*) FROM rewards)`); n != 0 {
			t.Errorf("%s: %d rows are in the target", table, n)
		}
		s.wantState("")
	}
	succeeds(t, "is frozen")(s.copyTo(url))
	s.wantMoved(url)
}
