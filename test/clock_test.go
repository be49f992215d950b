package test

import (
	"bytes"
	"context"
	"crypto/rand"
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

// newUser is the body of a request for a new user; see within.
const newUser = `{"externalId":"#"}`

// While this machine's clock is ahead of the broker's, nothing is recorded, readiness says
// so, and reads work. Recording resumes by itself when the clocks agree.
func TestAClockAheadStopsRecording(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	b := startBrokerage(t, "")
	admin := s.startWatched(b.flags()...)
	user := s.newUser("anna")
	b.clockAt(-3 * time.Minute)
	refused := s.within(30*time.Second, 503, "POST", "/v1/users", newUser)
	if refused.header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After in %v", refused.header)
	}
	s.must(503, "POST", "/v1/rewards", giving(user, "too-early", "5", "AAPL"))
	s.must(200, "GET", "/v1/users/"+user, "")
	s.eventually("readiness that says so", 20*time.Second, func() bool { // it may be a second old
		status, body := look(t, admin+"/readyz")
		return status == 503 && strings.Contains(body, `"clock_ahead"`)
	})
	alarm := func() bool { return strings.Contains(s.command("fulfillment", "status"), "clock_ahead:") }
	s.eventually("alarm", 20*time.Second, alarm)
	b.clockAt(0)
	s.within(30*time.Second, 201, "POST", "/v1/rewards", giving(user, "well-in-time", "5", "AAPL"))
	s.eventually("end of the alarm", 20*time.Second, func() bool { return !alarm() })
}

// A store whose newest id is in the future records nothing, until an operator allows it.
func TestAFutureIDStopsRecording(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	s.poison(24 * time.Hour)
	b := startBrokerage(t, "")
	s.start(b.flags()...)
	s.within(30*time.Second, 503, "POST", "/v1/users", newUser)
	noError(t, s.stop())
	s.start(append(b.flags(), "--allow-future-ids")...)
	s.newUser("first")
	time.Sleep(2 * time.Second) // both clocks have been read
	s.newUser("second")
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

// The database's clock counts as well, also for an operator who takes a reward back.
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
	given := f.give(f.newUser("first"), "the-first-key", "5", "AAPL")
	setClock("3 minutes")
	f.members[0].within(30*time.Second, 503, "POST", "/v1/users", newUser)
	f.wantError("a clock is ahead", "reward", "reverse", given.ID, "--reason", "x")
	setClock("0")
	f.command("reward", "reverse", given.ID, "--reason", "x")
	f.members[0].within(30*time.Second, 201, "POST", "/v1/users", newUser)
}
