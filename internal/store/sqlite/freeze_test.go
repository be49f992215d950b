package sqlite_test

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// After a cutover no program can write to the store, until the cutover is abandoned.
func TestCutover(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	engine := openFile(t, path)
	now := time.Date(2026, 3, 2, 15, 0, 0, 0, time.UTC)
	plain, err := store.New(t.Context(), engine, func() time.Time { return now }, rand.Reader)
	check(t, err)
	s := plain.As(rewards.Operator{Actor: "tester@test", Command: "copy"})
	_, _, err = s.CreateApp(t.Context(), "first", rewards.Key{Hash: rewards.HashKey("first")})
	check(t, err)
	_, err = s.Installation(t.Context())
	check(t, err)
	other, err := sql.Open("sqlite", path) // like an older version of the program
	check(t, err)
	defer func() { check(t, other.Close()) }()

	check(t, s.CheckCutover(t.Context()))
	wantWrites(t, s, other, true)
	check(t, s.BeginCutover(t.Context(), "host:5432/name"))
	wantCutover(t, s, store.Cutover{To: "host:5432/name", At: now}, "being moved to host:5432/name")
	wantWrites(t, s, other, false)
	check(t, s.BeginCutover(t.Context(), "host:5432/name"))
	check(t, s.AbandonCutover(t.Context()))
	check(t, s.CheckCutover(t.Context()))
	wantWrites(t, s, other, true)
	check(t, s.BeginCutover(t.Context(), "host:5432/a name"))
	now = now.Add(time.Minute)
	check(t, s.CompleteCutover(t.Context(), "host:5432/a name"))
	wantCutover(t, s, store.Cutover{To: "host:5432/a name", At: now, Done: true}, "was moved to host:5432/a name")
	wantWrites(t, s, other, false)
	if err := s.SetPaused(t.Context(), "why"); err == nil || err.Error() != s.CheckCutover(t.Context()).Error() {
		t.Errorf("an operator's change: %v, want an error that names the other database", err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCutover(t *testing.T, s *store.Operator, want store.Cutover, says string) {
	t.Helper()
	got, err := s.Cutover(t.Context())
	check(t, err)
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := s.CheckCutover(t.Context()); !errors.Is(err, store.ErrCutOver) || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want %q", err, says)
	}
}

// wantWrites checks whether the store and other programs can write.
func wantWrites(t *testing.T, s *store.Operator, other *sql.DB, want bool) {
	t.Helper()
	tries := map[string]error{"a setting": s.SetPaused(t.Context(), "why"), "an alarm": s.RaiseAlarm(t.Context(), "name", "text")}
	_, tries["a lease"] = s.TakeLease(t.Context(), "test", time.Hour, true)
	for _, statement := range []string{
		`INSERT INTO spending (day, notional, house) VALUES (abs(random()), 1, 1)`, `UPDATE apps SET suspended = 0`, `DELETE FROM keys WHERE hint = ''`,
		`UPDATE settings SET value = value WHERE name = 'installation_id'`, `DELETE FROM settings WHERE name = 'installation_id'`,
	} {
		tx, err := other.BeginTx(t.Context(), nil)
		check(t, err)
		_, tries[statement] = tx.ExecContext(t.Context(), statement)
		check(t, tx.Rollback())
	}
	for what, err := range tries {
		if (err == nil) != want {
			t.Errorf("%s: error %v, want it written: %t", what, err, want)
		}
	}
}

// A cutover is the last entry of the frozen operator log, once, even when the command is repeated
// after a kill. Abandoning it is an entry too.
func TestMovesAreLogged(t *testing.T) {
	t.Parallel()
	engine := opener(file)(t)
	plain, err := store.New(t.Context(), engine, time.Now, rand.Reader)
	check(t, err)
	s := plain.As(rewards.Operator{Actor: "tester@test", Command: "copy", Reason: "a fleet"})
	_, _, err = s.CreateApp(t.Context(), "first", rewards.Key{Hash: rewards.HashKey("first")})
	check(t, err)
	want := func(rows int64, changed string) {
		t.Helper()
		list, err := s.LogEntries(t.Context(), store.LogFilter{Limit: 1})
		check(t, err)
		if d := list[0]; d.Number != rows || d.Object != rewards.ObjectBooks || d.Changed() != changed || d.Reason != "a fleet" {
			t.Errorf("the newest entry is %+v, want number %d: %s", d, rows, changed)
		}
	}
	for range 2 {
		check(t, s.BeginCutover(t.Context(), "host:5432/name"))
		want(3, "movedTo: host:5432/name")
	}
	check(t, s.AbandonCutover(t.Context()))
	want(4, "movedTo: host:5432/name -> -")
	check(t, s.BeginCutover(t.Context(), "host:5432/name"))
	check(t, s.CompleteCutover(t.Context(), "host:5432/name"))
	want(5, "movedTo: host:5432/name")
	if _, err := store.New(t.Context(), engine, time.Now, rand.Reader); err != nil {
		t.Errorf("cannot read a store after its cutover: %v", err)
	}
}
