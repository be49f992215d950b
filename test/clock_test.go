package test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
)

// clockAt shifts the brokerage's clock without declaring that it was set.
func (b *brokerage) clockAt(d time.Duration) {
	rewrite := func(body []byte) []byte {
		if !bytes.Contains(body, []byte(`"next_close"`)) {
			return body
		}
		return withText(body, "timestamp", time.Now().Add(d).Format(time.RFC3339Nano))
	}
	b.rewrite.Store(&rewrite)
}

// awaitStatus repeats a request until it gets the status.
func (s *service) awaitStatus(status int, method, path string, body func() string) answer {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		a, err := s.request(s.t.Context(), method, path, body())
		if err == nil && a.status == status {
			return a
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s %s: %d %s, %v; want %d\n%s", method, path, a.status, a.body, err, status, s.logs())
		}
	}
}

// newName is the body of a new user.
func newName() string { return fmt.Sprintf(`{"externalId":%q}`, rand.Text()) }

// While this machine's clock is ahead of the broker's, nothing is recorded, readiness says
// so, and reads work. Recording resumes by itself when the clocks agree.
func TestAClockAheadStopsRecording(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	b := startBrokerage(t, "")
	admin := s.startWatched(b.flags()...)
	user := s.newUser("anna")
	b.clockAt(-3 * time.Minute)
	refused := s.awaitStatus(503, "POST", "/v1/users", newName)
	if refused.header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After in %v", refused.header)
	}
	s.must(503, "POST", "/v1/rewards", giving(user, "too-early", "5", "AAPL"))
	s.must(200, "GET", "/v1/users/"+user, "")
	time.Sleep(1100 * time.Millisecond) // readiness may be a second old
	if status, body := look(t, admin+"/readyz"); status != 503 || !strings.Contains(body, `"clock_ahead"`) {
		t.Errorf("/readyz: %d %s", status, body)
	}
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(s.command("fulfillment", "status"), "clock_ahead:"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no alarm")
		}
	}
	b.clockAt(0)
	s.awaitStatus(201, "POST", "/v1/rewards", func() string { return giving(user, "well-in-time", "5", "AAPL") })
	for deadline := time.Now().Add(20 * time.Second); strings.Contains(s.command("fulfillment", "status"), "clock_ahead:"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the alarm stays")
		}
	}
}

// A store whose newest id is in the future records nothing, until an operator allows it.
func TestAFutureIDStopsRecording(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	s.poison(24 * time.Hour)
	b := startBrokerage(t, "")
	s.start(b.flags()...)
	s.awaitStatus(503, "POST", "/v1/users", newName)
	noError(t, s.stop())
	s.start(append(b.flags(), "--allow-future-ids")...)
	s.must(201, "POST", "/v1/users", newName())
	time.Sleep(2 * time.Second) // both clocks have been read
	s.must(201, "POST", "/v1/users", newName())
}

// poison records a user by a process whose clock is ahead.
func (s *service) poison(d time.Duration) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	engine, err := sqlite.Open(ctx, filepath.Join(s.folder, "rewards.db"), sqlite.Options{})
	noError(s.t, err)
	books, err := store.New(ctx, engine, func() time.Time { return time.Now().Add(d) }, rand.Reader)
	noError(s.t, err)
	_, app, err := books.AppByKey(ctx, rewards.HashKey(s.key))
	if err == nil {
		_, err = books.CreateUsers(ctx, []rewards.User{{AppID: app.ID, ExternalID: "of the future"}})
	}
	noError(s.t, err)
	noError(s.t, books.Close())
}

// The database's clock counts as well.
func TestAClockAheadOfTheDatabase(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Database(t, "behind")
	ctx := t.Context()
	db, err := pgx.Connect(ctx, url)
	noError(t, err)
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }() // nothing is pending
	exec := func(statement string) {
		t.Helper()
		if _, err := db.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	setClock := func(behind string) {
		exec(`CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
			$$ SELECT pg_catalog.clock_timestamp() - interval '` + behind + `' $$`)
	}
	setClock("0")
	exec(`ALTER DATABASE behind SET search_path = public, pg_catalog`)
	f := newFleet(t, url, 1)
	f.must(201, "POST", "/v1/users", newName())
	setClock("3 minutes")
	f.members[0].awaitStatus(503, "POST", "/v1/users", newName)
	setClock("0")
	f.members[0].awaitStatus(201, "POST", "/v1/users", newName)
}
