package test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

	wantEveryDelete(t, blocks[1][1])
	f := newFleet(t, as("rewards_serve"), 1, webhookFlags(t)...)
	received := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.URL.Path }))
	t.Cleanup(hook.Close)
	var made struct{ WebhookEndpoint struct{ ID string } }
	f.members[0].must(201, "POST", "/v1/webhook-endpoints", `{"url":"`+hook.URL+`/here"}`).decode(t, &made)
	user := f.newUser("one")
	r := f.give(user, "with-least-rights", "5", "AAPL")
	f.await(r.ID, "executed", 20*time.Second)
	f.command("fulfillment", "pause", "--reason", "test")
	f.command("fulfillment", "resume", "--reason", "test")
	f.command("asset", "disable", "KO", "--reason", "test")
	f.command("key", "create", "tester")
	f.command("app", "suspend", "tester", "--reason", "test")
	f.command("app", "resume", "tester", "--reason", "test")
	f.command("budget", "set", "tester", "--name", "one", "--per", "app", "--period", "day", "--limit", "9", "--reason", "test")
	f.command("budget", "set", "tester", "--name", "one", "--per", "user", "--period", "day", "--limit", "9", "--reason", "test")
	f.command("budget", "remove", "tester", "one", "--reason", "test")
	f.command("reward", "reverse", r.ID, "--reason", "test")
	if path := <-received; path != "/here" {
		t.Errorf("an event came to %s", path)
	}
	f.members[0].must(204, "DELETE", "/v1/webhook-endpoints/"+made.WebhookEndpoint.ID, "")
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

// wantEveryDelete compares the tables from which the guide lets the service delete with those from which its statements do.
func wantEveryDelete(t *testing.T, grants string) {
	t.Helper()
	granted := map[string]bool{"segment_filters": true} // only over SQLite
	for _, list := range regexp.MustCompile(`GRANT DELETE ON ([a-z_, ]+) TO`).FindAllStringSubmatch(grants, -1) {
		for table := range strings.SplitSeq(list[1], ", ") {
			granted[table] = true
		}
	}
	files, err := filepath.Glob("../internal/store/*.go")
	noError(t, err)
	deleted := make(map[string]bool)
	for _, file := range files {
		code, err := os.ReadFile(file)
		noError(t, err)
		for _, m := range regexp.MustCompile(`DELETE FROM (\w+)`).FindAllStringSubmatch(string(code), -1) {
			deleted[m[1]] = true
		}
	}
	if !maps.Equal(granted, deleted) {
		t.Errorf("the guide grants DELETE on %v, the service deletes from %v", granted, deleted)
	}
}
