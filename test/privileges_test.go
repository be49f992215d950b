package test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/store/postgres/pgtest"
)

// The roles of docs/security.md suffice: serve and operators' commands cannot change tables,
// the audit only reads, and migrate creates the tables.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/security.md")
	noError(t, err)
	_, section, _ := strings.Cut(string(guide), "## Least privileges")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of SQL in the guide, want 2", len(blocks))
	}
	c := pgtest.Start(t)
	url := c.Database(t, "rewards")
	as := func(role string) string { return strings.Replace(url, "postgres@", role+"@", 1) }
	c.Must(t, "rewards", blocks[0][1])

	before := &service{t: t, storeURL: as("rewards_serve")}
	before.wantError("stockrewards migrate", "app", "create", "early")
	(&service{t: t, storeURL: as("rewards_owner")}).command("migrate")
	c.Must(t, "rewards", blocks[1][1])

	f := newFleet(t, as("rewards_serve"), 1)
	user := f.newUser("one")
	r := f.give(user, "with-least-rights", "5", "AAPL")
	f.await(r.ID, "executed", 20*time.Second)
	f.command("fulfillment", "pause", "--reason", "test")
	f.command("fulfillment", "resume", "--reason", "test")
	f.command("asset", "disable", "KO", "--reason", "test")
	f.command("key", "create", "tester")
	f.command("app", "suspend", "tester", "--reason", "test")
	f.command("app", "resume", "tester", "--reason", "test")
	if logs := f.members[0].logs(); strings.Contains(logs, "permission denied") {
		t.Errorf("serve lacks a right:\n%s", logs)
	}
	reader := &service{t: t, storeURL: as("rewards_audit")}
	reader.command("audit")
	fails(t)(reader.try("app", "create", "more"))
	for _, statement := range []string{
		"DROP TABLE rewards", "CREATE TABLE mine (n int)", "DELETE FROM rewards", "TRUNCATE orders", "DELETE FROM operator_log",
		"UPDATE goose_db_version SET version_id = 1", "ALTER TABLE rewards DISABLE TRIGGER ALL", "UPDATE operator_log SET reason = ''",
	} {
		fails(t, "42501")(statement, c.Exec(t.Context(), "rewards", "SET ROLE rewards_serve; "+statement))
	}
	c.Must(t, "rewards", "RESET ROLE")
}
