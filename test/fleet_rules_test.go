package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/test/world"
)

// everywhere fails unless every process of the fleet answers a request with the status within
// a second.
func (f *fleet) everywhere(status int, method, path, body string) {
	f.t.Helper()
	deadline := time.Now().Add(time.Second)
	for _, m := range f.members {
		m.within(time.Until(deadline), status, method, path, body)
	}
}

// An operator's change is effective in every process within a second.
func TestFleetAppliesChangesWithinASecond(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	f := newFleet(t, c.Database(t, "agrees"), 3)
	user := f.newUser("one")
	body := giving(user, "the-first-key", "5", "AAPL")
	f.must(201, "POST", "/v1/rewards", body)
	f.everywhere(200, "POST", "/v1/rewards", body) // every process has cached the key and the catalog
	f.command("asset", "disable", "KO")
	f.everywhere(422, "POST", "/v1/rewards", giving(user, "disabled-#", "5", "KO"))
	f.command("asset", "enable", "KO")
	f.everywhere(201, "POST", "/v1/rewards", giving(user, "enabled-#", "5", "KO"))
	f.command("app", "suspend", "tester")
	f.everywhere(403, "GET", "/v1/users/"+user, "")
	f.command("app", "resume", "tester")
	f.everywhere(200, "GET", "/v1/users/"+user, "")
	f.command("key", "revoke", f.firstID("key", "list", "tester"))
	f.everywhere(401, "GET", "/v1/users/"+user, "")
	created := strings.TrimSpace(f.command("key", "create", "tester"))
	for _, m := range f.members {
		m.key = created
	}
	f.everywhere(200, "GET", "/v1/users/"+user, "")
}

// Processes that start together on an empty database migrate it once.
func TestFleetStartsAtOnce(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	paper := startPaper(t, "--requests-per-minute", "0")
	for round := range 3 {
		database := fmt.Sprint("empty", round)
		url := c.Database(t, database)
		const size = 3
		var starting [size]*world.Process
		var before [size]int64
		for i := range size {
			starting[i], before[i] = world.Begin(t, fmt.Sprint("serve-", i), program(credentials(),
				append([]string{"serve", "--database", url, "--listen", "127.0.0.1:0"}, paper.buyAt()...)...))
			t.Cleanup(starting[i].Kill)
		}
		for i, p := range starting {
			p.AwaitListening(t, fmt.Sprint("serve-", i), before[i])
		}
		if got := count(t, url, `select count(*) - count(distinct version_id) from goose_db_version`); got != 0 {
			t.Errorf("%d migrations ran twice", got)
		}
		if got := count(t, url, `select count(*) from settings where name = 'installation_id'`); got != 1 {
			t.Errorf("%d installations", got)
		}
	}
}

// After a migration by a newer version the processes of an older one stop at their next write,
// the leader too, and name both versions.
func TestOlderProcessesStopAfterAMigration(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	url := c.Database(t, "rewards")
	f := newFleet(t, url, 1)
	front := f.add("--role", "api")
	front.run()
	leader := f.leader(10 * time.Second)
	user := leader.newUser("one")
	known := count(t, url, `select max(version_id) from goose_db_version`)
	c.Must(t, "rewards", "insert into goose_db_version (version_id, is_applied) select max(version_id) + 1, true from goose_db_version")
	got, err := front.request(t.Context(), "POST", "/v1/rewards", giving(user, "late-0001", "5", "AAPL"))
	noError(t, err)
	if got.status != 503 {
		t.Errorf("an award after the migration got %d, want 503", got.status)
	}
	want := fmt.Sprintf("the schema has version %d, known is %d: the database was written by a newer version", known+1, known)
	for _, m := range f.members {
		var err error
		select {
		case err = <-m.exited:
			m.cmd = nil
		case <-time.After(20 * time.Second):
			t.Fatalf("%s still runs:\n%s", m.name, m.logs())
		}
		logs := m.logs()
		if err == nil || err.Error() != "exit status 1" || !strings.Contains(logs, "stockrewards: cannot write any more: postgres: "+want) {
			t.Errorf("%s ended with %v:\n%s", m.name, err, logs)
		}
		if !strings.Contains(logs, `"msg":"the database stops this process"`) {
			t.Errorf("%s does not log why it stops:\n%s", m.name, logs)
		}
	}
	if got := count(t, url, `select count(*) from rewards`); got != 0 {
		t.Errorf("%d rewards were written after the migration", got)
	}
}

func TestServeRefusesADatabase(t *testing.T) {
	t.Parallel()
	good, unsafe := pgtest.Start(t), pgtest.Start(t, "fsync=off")
	newer := good.Database(t, "newer")
	s := &service{t: t, storeURL: newer}
	s.command("app", "create", "tester")
	good.Must(t, "newer", "insert into goose_db_version (version_id, is_applied) values (20990101000000, true)")
	alpaca := []string{"--broker", "alpaca", "--alpaca-url", "http://127.0.0.1:1", "--alpaca-data-url", "http://127.0.0.1:1"}
	for name, refused := range map[string]struct {
		database string
		flags    []string
		want     string
	}{
		"fsync is off":           {unsafe.Database(t, "lost"), alpaca, "fsync is off"},
		"a newer schema":         {newer, alpaca, "written by a newer version"},
		"the embedded brokerage": {good.Database(t, "own"), nil, "a fleet needs one brokerage"},
		"a role over a file":     {"sqlite:" + t.TempDir() + "/rewards.db", []string{"--role", "api"}, "--role api"},
		"no such database":       {good.URL("nowhere"), alpaca, `database "nowhere" does not exist`},
	} {
		other := &service{t: t, storeURL: refused.database, env: credentials()}
		t.Log(name)
		other.wantError(refused.want, append([]string{"serve", "--listen", "127.0.0.1:0"}, refused.flags...)...)
	}
	s.wantError("newer version", "app", "list")
}

// serve warns of a server that may lose acknowledged commits.
func TestWeakCommitsAreLogged(t *testing.T) {
	t.Parallel()
	for setting, warned := range map[string]bool{"off": true, "local": true, "remote_write": true, "on": false, "remote_apply": false} {
		c := pgtest.Start(t, "synchronous_commit="+setting)
		f := newFleet(t, c.Database(t, "weak"), 1)
		m := f.members[0]
		_, body := look(t, "http://"+m.admin+"/readyz")
		if got := strings.Contains(body, `"weak_commits"`); got != warned {
			t.Errorf("%s: /readyz: %s", setting, body)
		}
		if got := strings.Contains(m.logs(), "synchronous_commit is "+setting); got != warned {
			t.Errorf("%s: the log warns: %t", setting, got)
		}
		noError(t, m.stop())
		c.Kill()
	}
}

// An api process never orders, and a worker serves no API. One that lacks the key file of webhooks says so.
func TestRoles(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	f := newFleet(t, c.Database(t, "roles"), 0)
	api, worker := f.add(append(webhookFlags(t), "--role", "api")...), f.add("--role", "worker")
	api.run()
	api.must(201, "POST", "/v1/webhook-endpoints", `{"url":"http://127.0.0.1:9/"}`)
	user := api.newUser("one")
	given := api.give(user, "the-first-key", "5", "AAPL")
	// Longer than the pooling window, an idle worker's poll and its lease.
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		api.await(given.ID, "recorded", time.Second)
	}
	if api.leads() {
		t.Error("a process of the API leads")
	}
	worker.run()
	api.await(given.ID, "executed", 10*time.Second)
	_, warnings := look(t, "http://"+worker.admin+"/readyz")
	_, metrics := look(t, "http://"+worker.admin+"/metrics")
	wantText(t, warnings, "webhook_key_missing")
	wantText(t, metrics, `stockrewards_webhook_endpoints{status="locked"} 1`)
	if !worker.leads() {
		t.Error("the worker does not lead")
	}
	if response, err := http.Get(worker.url + "/v1/assets"); err == nil {
		response.Body.Close()
		t.Error("a worker answers the API")
	}
	began := time.Now()
	api.await(api.give(user, "the-second-key", "5", "AAPL").ID, "executed", 10*time.Second)
	t.Logf("bought after %s", time.Since(began).Round(time.Millisecond))
	for _, m := range f.members {
		if err := m.stop(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// A reward is recorded and bought through PgBouncer in transaction mode.
func TestFleetBehindPgBouncer(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	c.Database(t, "bounced")
	port := pgtest.StartPgBouncer(t, c)
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/bounced?sslmode=disable", port)
	f := newFleet(t, url, 2, "--pgbouncer", "--pooling-window", "50ms")
	load := f.load(8)
	leader := f.leader(10 * time.Second)
	leader.kill()
	f.leader(15*time.Second, leader)
	leader.run()
	f.verify(load)
}
