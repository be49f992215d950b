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

// booksToMove is a stopped service with executed rewards.
func booksToMove(t *testing.T) *service {
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

// sealed is the state of the move that the source records; "" when it was not moved.
func (s *service) sealed() string {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.folder, "rewards.db"))
	noError(s.t, err)
	defer db.Close()
	var mark string
	err = db.QueryRowContext(s.t.Context(), `SELECT value FROM settings WHERE name = 'moved'`).Scan(&mark)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		s.t.Fatal(err)
	}
	state, _, _ := strings.Cut(mark, " ")
	return state
}

// wantWritable tries to write to the source.
func (s *service) wantWritable(want bool) {
	s.t.Helper()
	_, err := s.try("fulfillment", "pause", "--reason", "a try")
	if (err == nil) != want {
		s.t.Errorf("the source can be written: %v, want %v; %v", err == nil, want, err)
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

func wantSays(t *testing.T, out string, err error, fails bool, says ...string) {
	t.Helper()
	if (err != nil) != fails {
		t.Fatalf("error %v, want one: %v\n%s", err, fails, out)
	}
	for _, text := range says {
		if !strings.Contains(out, text) {
			t.Errorf("it does not say %q:\n%s", text, out)
		}
	}
}

// wantMoved checks both sides after a copy.
func (s *service) wantMoved(url string) {
	s.t.Helper()
	if got := s.sealed(); got != "moved" {
		s.t.Errorf("the source says %q", got)
	}
	s.wantWritable(false)
	if n := count(s.t, url, countRewards); n != 20 {
		s.t.Errorf("the target has %d rewards, want 20", n)
	}
	out, err := runProgram(s.t, "audit", "--database", url)
	wantSays(s.t, out, err, false, "all 43 checks hold")
}

// copy moves a service's database, and refuses whatever would leave two live ones.
func TestCopy(t *testing.T) {
	t.Parallel()
	s := booksToMove(t)
	c := pgtest.Start(t)
	url := newTarget(t, c, "target")

	s.start()
	out, err := s.copyTo(url)
	wantSays(t, out, err, true, "stop serve first")
	noError(t, s.stop())
	out, err = runProgram(t, "copy", "--from", s.database(), "--to", url)
	wantSays(t, out, err, true, "stockrewards paper", "--broker-kind alpaca")
	for name, statements := range map[string]string{
		"strange": `create table other (n int)`,
		"seeded":  `insert into assets (symbol, name) values ('A', 'a')`,
		"used":    `update lease set epoch = 1`,
	} {
		taken := newTarget(t, c, name)
		if name != "strange" {
			makeSchema(t, taken)
		}
		onTarget(t, taken, statements)
		out, err = s.copyTo(taken)
		wantSays(t, out, err, true, "not empty")
	}
	out, err = s.copyTo(strings.Replace(url, "postgres@", "postgres:secret@", 1) + "&connect_timeout=x")
	wantSays(t, out, err, true, "connect_timeout")
	if strings.Contains(out, "secret") {
		t.Errorf("a password is shown: %s", out)
	}
	if s.sealed() != "" {
		t.Error("a refused copy froze the database")
	}
	s.wantWritable(true)

	backup := s.duplicate(t)
	out, err = s.copyTo(url)
	wantSays(t, out, err, false, "rewards: 20 of 20 rows, ", "rewards.db: all 43 checks hold\n", "/target?sslmode=disable: all 43 checks hold\n", "is frozen")
	s.wantMoved(url)
	out, err = s.copyTo(url)
	wantSays(t, out, err, false, "already has the data", "all 43 checks hold")
	out, err = s.copyTo(url, "--abandon")
	wantSays(t, out, err, true, "cannot abandon a complete copy")
	out, err = s.copyTo(newTarget(t, c, "another"))
	wantSays(t, out, err, true, "this database is frozen", "/another")
	out, err = backup.copyTo(url) // a backup from before the move
	wantSays(t, out, err, true, "restored backup", "nothing is changed")
	if n := count(t, url, `SELECT count(*) FROM settings WHERE name = 'broker_kind' AND value = 'alpaca'`); n != 1 {
		t.Error("the target's broker is not alpaca")
	}
}

// A database that violates invariants is not copied.
func TestCopyOfABrokenDatabase(t *testing.T) {
	t.Parallel()
	s := booksToMove(t)
	db, err := sql.Open("sqlite", filepath.Join(s.folder, "rewards.db"))
	noError(t, err)
	if _, err := db.ExecContext(t.Context(), `UPDATE holdings SET quantity = quantity + 1`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	url := newTarget(t, pgtest.Start(t), "target")
	out, err := s.copyTo(url)
	wantSays(t, out, err, true, "violations", "cannot start the copy")
	if s.sealed() != "" {
		t.Error("the database is frozen")
	}
}

// newTarget creates an empty database.
func newTarget(t *testing.T, c *pgtest.Cluster, name string) string {
	t.Helper()
	onTarget(t, c.URL("postgres"), "CREATE DATABASE "+name)
	return c.URL(name)
}

// onTarget runs statements in a database.
func onTarget(t *testing.T, url, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

func makeSchema(t *testing.T, url string) {
	t.Helper()
	engine, err := postgres.Open(t.Context(), url, postgres.Options{Connections: 1})
	noError(t, err)
	noError(t, engine.Close())
}
