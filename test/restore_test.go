package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store/postgres/pgtest"
)

// An old backup replaces a newer database: ordering stops, commands show the operator what
// to do, and nothing is bought twice.
func TestARestoredBackupBuysNothingTwice(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	user := s.newUser("anna")
	s.await(s.give(user, "long-before", "7", "KO").ID, "executed", 10*time.Second)
	s.command("fulfillment", "pause")
	waiting := s.give(user, "before-backup", "3", "AAPL")
	backup := filepath.Join(s.folder, "backup", "rewards.db")
	noError(t, os.Mkdir(filepath.Dir(backup), 0o700))
	s.wantOutput("written and audited", "backup", backup)
	s.wantError("exists", "backup", backup)
	s.command("fulfillment", "resume")
	s.await(waiting.ID, "executed", 10*time.Second) // the backup does not have it
	s.wantOutput("ordering: on\n", "fulfillment", "status")
	s.await(s.give(user, "after-backup", "5", "AAPL").ID, "executed", 10*time.Second)
	noError(t, s.stop())
	s.wantOutput("ordering: on, but no process places orders now", "fulfillment", "status")
	restore(t, backup, filepath.Join(s.folder, "rewards.db"))

	s.start()
	s.command("fulfillment", "resume")
	again := s.give(user, "after-backup", "5", "AAPL") // its app repeats the lost request
	status := ""
	s.eventually("conflicts", 20*time.Second, func() bool {
		status = s.command("fulfillment", "status")
		return strings.Count(status, "conflict: sr-") >= 2
	})
	wantText(t, status, "order adopt", "ordering: stopped")
	if exit, found, _ := s.auditBroker(); exit != 1 || strings.Count(strings.Join(found, ","), "break order_unknown AAPL") != 2 {
		t.Errorf("the comparison with the broker ends with %d: %v; want two unknown orders", exit, found)
	}
	for _, m := range regexp.MustCompile(`conflict: (sr-\S+):`).FindAllStringSubmatch(status, -1) {
		s.command("order", "adopt", m[1], "--reason", "restored the backup of before")
		fails(t)(s.try("order", "adopt", m[1], "--reason", "twice"))
	}
	s.await(waiting.ID, "executed", 20*time.Second)
	s.await(again.ID, "executed", 20*time.Second)
	s.wantOutput("ordering: on", "fulfillment", "status")
	noError(t, s.stop())
	s.command("audit")
	if exit, found, _ := s.auditBroker(); exit != 0 || strings.Join(found, ",") != "explained conflict_acknowledged AAPL,explained conflict_acknowledged AAPL" {
		t.Errorf("the comparison with the broker ends with %d: %v; want two adopted orders", exit, found)
	}
	comparePositions(t, s.folder)
	mustHold(t, s.ledger("--positions"))
}

// restore replaces an unused database by a backup.
func restore(t *testing.T, backup, database string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(database + suffix); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	copyFile(t, backup, database)
}

// PostgreSQL's data are put back to a snapshot while the fleet runs: its leader knows a newer lease than the one that is
// stored, so it compares its orders with the broker's first, as after a start.
func TestADatabaseThatWentBackBuysNothingTwice(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	f := newFleet(t, c.Database(t, "back"), 2)
	user, leader := f.newUser("anna"), f.leader(10*time.Second)
	f.operate("fulfillment", "pause")
	waiting := leader.give(user, "before-snapshot", "3", "AAPL")
	putBack := c.Keep(t)
	recovered := func(command ...string) {
		f.eventually("start of the database", 30*time.Second, func() bool { _, err := f.try(command...); return err == nil })
	}
	ends := leaseEnd(t, f.storeURL)
	recovered("fulfillment", "resume")
	leader.await(waiting.ID, "executed", 30*time.Second) // the snapshot does not have it
	f.eventually("renewal of the lease", 30*time.Second, func() bool { return leaseEnd(t, f.storeURL) > ends })
	putBack()
	recovered("fulfillment", "resume")
	var found [][]string
	f.eventually("conflict", 30*time.Second, func() bool {
		found = regexp.MustCompile(`conflict: (sr-\S+):`).FindAllStringSubmatch(f.operate("fulfillment", "status"), -1)
		return len(found) > 0
	})
	f.operate("order", "adopt", found[0][1], "--reason", "the machine went back to a snapshot", "--alpaca-url", f.paper.URL)
	leader.await(waiting.ID, "executed", 20*time.Second)
	if logs := f.members[0].logs() + f.members[1].logs(); !strings.Contains(logs, "the database went back in time") {
		t.Errorf("the log does not say that the database went back in time:\n%s", logs)
	}
	f.end()
}

// leaseEnd reads when the lease ends, in microseconds.
func leaseEnd(t *testing.T, url string) (until int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	noError(t, conn.QueryRow(t.Context(), `SELECT until FROM lease`).Scan(&until))
	noError(t, conn.Close(t.Context()))
	return until
}
