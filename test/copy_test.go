package test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // to read the source

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// stoppedService is a stopped service with executed rewards.
func stoppedService(t *testing.T) *service {
	t.Helper()
	s := newService(t, t.TempDir())
	s.start()
	var last award
	for i := range 20 {
		user := s.newUser(fmt.Sprint("user-", i))
		last = s.give(user, fmt.Sprint("gift-key-", i), "5.25", []string{"AAPL", "MSFT", "KO"}[i%3])
	}
	s.await(last.ID, "executed", 20*time.Second)
	noError(t, s.stop())
	return s
}

// duplicate copies the files of a stopped service into a new folder.
func (s *service) duplicate(t *testing.T) *service {
	t.Helper()
	copied := &service{t: t, folder: t.TempDir(), key: s.key}
	noError(t, os.CopyFS(copied.folder, os.DirFS(s.folder)))
	return copied
}

func (s *service) copyTo(url string, flags ...string) (string, error) {
	s.t.Helper()
	return runProgram(s.t, s.copyArgs(url, flags...)...)
}

func (s *service) copyArgs(url string, flags ...string) []string {
	return append([]string{"copy", "--from", s.database(), "--to", url, "--broker-kind", "alpaca"}, flags...)
}

// wantState checks the state of the copy that the source records: "moving" or "moved", and ""
// for one that can be written.
func (s *service) wantState(want string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.folder, "rewards.db"))
	noError(s.t, err)
	defer db.Close()
	var mark string
	err = db.QueryRowContext(s.t.Context(), `SELECT value FROM settings WHERE name = 'moved'`).Scan(&mark)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		s.t.Fatal(err)
	}
	if state, _, _ := strings.Cut(mark, " "); state != want {
		s.t.Errorf("the source says %q, want %q", state, want)
	}
	if _, err := s.try("fulfillment", "pause", "--reason", "a try"); (err == nil) != (want == "") {
		s.t.Errorf("the source with the state %q was written: %v", want, err)
	}
}

const countRewards = `SELECT count(*) FROM rewards`

// count runs a query for a number at a target.
func count(t *testing.T, url, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	noError(t, conn.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// wantMoved checks both sides after a copy.
func (s *service) wantMoved(url string) {
	s.t.Helper()
	s.wantState("moved")
	if n := count(s.t, url, countRewards); n != 20 {
		s.t.Errorf("the target has %d rewards, want 20", n)
	}
	succeeds(s.t, "all 64 checks hold")(runProgram(s.t, "audit", "--database", url))
}

// copy moves a service's database, and refuses whatever would leave two live ones.
func TestCopy(t *testing.T) {
	t.Parallel()
	s := stoppedService(t)
	c := pgtest.Start(t)
	url := c.Database(t, "target")

	s.start()
	fails(t, "stop serve first")(s.copyTo(url))
	noError(t, s.stop())
	fails(t, "stockrewards paper", "--broker-kind alpaca")(runProgram(t, "copy", "--from", s.database(), "--to", url))
	for name, statements := range map[string]string{
		"strange": `create table other (n int)`,
		"seeded":  `insert into assets (symbol, name) values ('A', 'a')`,
		"used":    `update lease set epoch = 1`,
	} {
		taken := c.Database(t, name)
		if name != "strange" {
			makeSchema(t, taken)
		}
		c.Must(t, name, statements)
		fails(t, "not empty")(s.copyTo(taken))
	}
	out, err := s.copyTo(strings.Replace(url, "postgres@", "postgres:secret@", 1) + "&connect_timeout=x")
	fails(t, "connect_timeout")(out, err)
	if strings.Contains(out, "secret") {
		t.Errorf("a password is shown: %s", out)
	}
	s.wantState("")

	backup, broken := s.duplicate(t), s.duplicate(t)
	broken.onFile("rewards.db", `UPDATE holdings SET quantity = quantity + 1`)
	fails(t, "violations", "cannot start the copy")(broken.copyTo(url))
	broken.wantState("")
	succeeds(t, "rewards: 20 of 20 rows, ", "rewards.db: all 64 checks hold\n", "/target?sslmode=disable: all 64 checks hold\n", "is frozen")(s.copyTo(url))
	s.wantMoved(url)
	succeeds(t, "already has the data", "all 64 checks hold")(s.copyTo(url))
	fails(t, "cannot abandon a complete copy")(s.copyTo(url, "--abandon"))
	fails(t, "this database is frozen", "/another")(s.copyTo(c.Database(t, "another")))
	fails(t, "restored backup", "nothing is changed")(backup.copyTo(url)) // from before the move
	if n := count(t, url, `SELECT count(*) FROM settings WHERE name = 'broker_kind' AND value = 'alpaca'`); n != 1 {
		t.Error("the target's broker is not alpaca")
	}
}

func makeSchema(t *testing.T, url string) {
	t.Helper()
	engine, err := postgres.Open(t.Context(), url, postgres.Options{Connections: 1})
	noError(t, err)
	noError(t, engine.Close())
}
