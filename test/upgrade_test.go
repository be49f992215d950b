package test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
)

// TestUpgrade opens databases that older versions wrote (tools/upgrade-fixture.sh). Their users,
// rewards and holdings read the same, every key replays, and what waited is executed.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/upgrade/*")
	noError(t, err)
	if len(folders) < 7 {
		t.Fatalf("only %d databases", len(folders))
	}
	var cluster *pgtest.Cluster
	for _, folder := range folders {
		engine, schema, _ := strings.Cut(filepath.Base(folder), "-")
		s := &service{t: t, folder: t.TempDir()}
		unpack(t, filepath.Join(folder, "paper.db.gz"), filepath.Join(s.folder, "paper.db"))
		if engine == "sqlite" {
			unpack(t, filepath.Join(folder, "rewards.db.gz"), filepath.Join(s.folder, "rewards.db"))
		} else {
			if cluster == nil {
				cluster = pgtest.Start(t)
			}
			dump := filepath.Join(s.folder, "rewards.sql")
			unpack(t, filepath.Join(folder, "rewards.sql.gz"), dump)
			s.storeURL = cluster.Database(t, "schema"+schema)
			out, err := exec.CommandContext(t.Context(), "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", dump, s.storeURL).CombinedOutput()
			succeeds(t)(string(out), err)
		}
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			s.t = t
			s.upgrade(filepath.Join(folder, "answers.json"))
		})
	}
}

// upgrade migrates the database as docs/upgrade.md says, and compares what the service then
// answers with what the older version answered.
func (s *service) upgrade(answers string) {
	t := s.t
	t.Helper()
	text, err := os.ReadFile(answers)
	noError(t, err)
	var before map[string]json.RawMessage
	noError(t, json.Unmarshal(text, &before))
	noError(t, json.Unmarshal(before["key"], &s.key))
	delete(before, "key")

	if s.storeURL == "" {
		s.beforeUpgrade()
	}
	s.command("migrate")
	s.wantOutput("checks hold", "audit")
	broker, env := s.startWithBooks()
	for path, old := range before {
		now := s.must(200, "GET", path, "").body
		if strings.HasSuffix(path, "/portfolio") { // its value changes with the prices
			now, old = holdings(t, now), holdings(t, old)
		}
		if diff := cmp.Diff(decoded(t, old), decoded(t, now)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", path, diff)
		}
	}
	var list struct{ Rewards []award }
	noError(t, json.Unmarshal(before["/v1/rewards?limit=100"], &list))
	for _, r := range list.Rewards {
		body := giving(r.UserID, r.IdempotencyKey, r.AmountUSD.String(), r.AssetSymbol)
		var replay struct {
			Reward           award
			IdempotentReplay bool
		}
		s.must(200, "POST", "/v1/rewards", body).decode(t, &replay)
		if !replay.IdempotentReplay || replay.Reward.ID != r.ID {
			t.Errorf("%s: %+v, want a replay of %s", r.IdempotencyKey, replay, r.ID)
		}
	}
	s.command("fulfillment", "resume")
	for _, r := range list.Rewards {
		s.await(r.ID, "executed", 30*time.Second)
	}
	eventually(t, "order without past members", 30*time.Second, func() bool { return s.unmoved() == 0 })
	s.wantOutput("checks hold", "audit")
	if len(broker) > 0 {
		out, err := program(env, append([]string{"audit", "--broker", "--database", s.database()}, broker...)...).CombinedOutput()
		succeeds(t, "breaks: 0 (")(string(out), err)
	} else {
		s.wantOutput("breaks: 0 (", "audit", "--broker")
	}
}

// beforeUpgrade backs up what an older version serves, as the package of a new version asks. No command updates the
// database then: that would end the older process.
func (s *service) beforeUpgrade() {
	t := s.t
	t.Helper()
	unlock, err := sqlite.Lock(filepath.Join(s.folder, "rewards.db"))
	noError(t, err)
	copied := &service{t: t, folder: t.TempDir()}
	s.wantOutput("with the schema of the older version", "backup", filepath.Join(copied.folder, "rewards.db"))
	for _, args := range [][]string{{"app", "create", "games"}, {"migrate"}} {
		s.wantError("another process serves this database", args...)
	}
	noError(t, unlock())
	copied.command("migrate")
	copied.wantOutput("checks hold", "audit")
}

// unmoved counts the members and the allocations that are stored as an older version did.
func (s *service) unmoved() (n int) {
	s.t.Helper()
	const count = `SELECT (SELECT count(*) FROM past_members) + (SELECT count(*) FROM past_allocations)`
	driver, source := "pgx", s.storeURL
	if source == "" {
		driver, source = "sqlite", filepath.Join(s.folder, "rewards.db")
	}
	db, err := sql.Open(driver, source)
	noError(s.t, err)
	defer db.Close()
	noError(s.t, db.QueryRowContext(s.t.Context(), count).Scan(&n))
	return n
}

// startWithBooks starts serve over the paper brokerage's books, and returns the flags and the
// environment that reach it: over PostgreSQL it is a process.
func (s *service) startWithBooks() (broker, env []string) {
	s.t.Helper()
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--database", s.database(), "--small-pool-wait", "0s"}
	if s.storeURL != "" {
		paper := launch(s.t, "paper", nil, "paper", "--listen", "127.0.0.1:0",
			"--database", "sqlite:"+filepath.Join(s.folder, "paper.db"))
		s.t.Cleanup(paper.Kill)
		broker, env = []string{"--alpaca-url", paper.URL, "--alpaca-data-url", paper.URL}, credentials()
		serve = append(append(serve, "--broker", "alpaca"), broker...)
	}
	p := launch(s.t, "serve", env, serve...)
	s.t.Cleanup(p.Kill)
	s.url = p.URL
	return broker, env
}

// holdings are the quantities and cost bases of a portfolio, by stock.
func holdings(t *testing.T, portfolio []byte) []byte {
	t.Helper()
	var p struct {
		Holdings []struct {
			Asset               string
			Quantity, CostBasis json.RawMessage
		}
	}
	noError(t, json.Unmarshal(portfolio, &p))
	text, err := json.Marshal(p)
	noError(t, err)
	return text
}

// decoded is a JSON value with the digits of its numbers.
func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	noError(t, d.Decode(&value))
	return value
}

// unpack writes the content of a compressed file.
func unpack(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	noError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	noError(t, err)
	content, err := io.ReadAll(r)
	noError(t, errors.Join(err, os.WriteFile(to, content, 0o600)))
}

// docs/upgrade.md has a row for each migration, newest first.
func TestUpgradeNotes(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/upgrade.md")
	for column, engine := range []string{"sqlite", "postgres"} {
		var got, want []string
		for _, row := range regexp.MustCompile(`(?m)^\| (\d+|-) \| (\d+|-) \|`).FindAllStringSubmatch(page, -1) {
			if row[column+1] != "-" {
				got = append([]string{row[column+1]}, got...)
			}
		}
		files, err := filepath.Glob("../internal/store/" + engine + "/migrations/*.sql")
		noError(t, err)
		for _, file := range files {
			number, _, _ := strings.Cut(filepath.Base(file), "_")
			want = append(want, strings.TrimLeft(number, "0"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: docs/upgrade.md (-migrations +rows):\n%s", engine, diff)
		}
	}
}
