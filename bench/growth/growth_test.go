package growth_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/bench/growth"
	"stockrewards/internal/audit"
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
)

const (
	final   = 2_000
	waiting = 30
	apps    = 7
)

func fill(t *testing.T, database string, seed uint64) growth.Report {
	t.Helper()
	r, err := growth.Fill(t.Context(), growth.Options{
		Database: database, Rewards: final, Waiting: waiting, Users: 300, Apps: apps, Assets: 60, Days: 10, Seed: seed,
		End: time.Date(2026, 9, 21, 15, 0, 0, 0, time.UTC),
	})
	check(t, err)
	return r
}

func TestFillSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "odd ?#% name.db")
	r := fill(t, "sqlite:"+path, 1)
	q, err := reader.OpenSQLite(t.Context(), path)
	check(t, err)
	checkAudit(t, q)
	e, err := sqlite.Open(t.Context(), path, sqlite.Options{KeepSchema: true})
	check(t, err)
	checkStore(t, e, r)
	checkSizes(t, "sqlite:"+path, "rewards")
}

func TestFillPostgres(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), pgtest.Start(t)
	filled, err := c.NewDatabase(ctx)
	check(t, err)
	r := fill(t, filled, 2)
	q, err := reader.OpenPostgres(ctx, filled)
	check(t, err)
	checkAudit(t, q)
	e, err := postgres.Open(ctx, filled, postgres.Options{KeepSchema: true})
	check(t, err)
	checkStore(t, e, r)
	checkSizes(t, filled, "rewards")
}

// TestFillIsRepeatable: the same options make the same past, and a store is filled once.
func TestFillIsRepeatable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "first.db")
	first, second := fill(t, "sqlite:"+path, 3), fill(t, "sqlite:"+filepath.Join(t.TempDir(), "second.db"), 3)
	first.Took, second.Took = 0, 0
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("reports (-first +second):\n%s", diff)
	}
	_, err := growth.Fill(t.Context(), growth.Options{
		Database: "sqlite:" + path, Users: 1, Apps: 1, Assets: 1, Days: 1, End: time.Now(),
	})
	if err == nil {
		t.Error("filled a store twice")
	}
}

func checkAudit(t *testing.T, q reader.Store) {
	t.Helper()
	report, err := audit.Run(t.Context(), q, audit.Options{})
	check(t, err)
	check(t, q.Close())
	for _, c := range report.Checks {
		if c.Violated > 0 {
			t.Errorf("%s: %d violations, the first: %+v", c.Name, c.Violated, c.Violations[0])
		}
	}
}

// checkStore reads the data through the store, as the service does, and closes it.
func checkStore(t *testing.T, e store.Engine, r growth.Report) {
	t.Helper()
	ctx := t.Context()
	s, err := store.New(ctx, e, time.Now, rand.Reader)
	check(t, err)
	counts := map[rewards.Status]int{}
	for _, k := range r.Keys {
		key, app, err := s.AppByKey(ctx, rewards.HashKey(k.Secret))
		check(t, err)
		if app.ID != k.App || app.Name != k.Name || !key.ValidAt(time.Now()) {
			t.Errorf("the key of %s belongs to %+v", k.Name, app)
		}
		of, err := s.CountRewards(ctx, k.App, 1<<30)
		check(t, err)
		for status, n := range of {
			counts[status] += n
		}
	}
	if len(r.Keys) != apps || counts[rewards.Recorded] != waiting || counts[rewards.Executing] != 0 ||
		counts[rewards.Executed]+counts[rewards.Failed] != final ||
		counts[rewards.Failed] == 0 || counts[rewards.Failed] > final/20 {
		t.Errorf("%d apps, rewards by status %v", len(r.Keys), counts)
	}
	v, err := s.Overview(ctx)
	check(t, err)
	if v.Waiting != waiting || len(v.Live) != 0 || v.Control.Stopped() {
		t.Errorf("overview %+v", v)
	}
	lives, split := 0, false
	check(t, s.ReadLedger(ctx, func(ctx context.Context, s store.LedgerReader) error {
		return s.Bookings(ctx, func(b rewards.Booking) error {
			lives++
			split = split || b.Order.BrokerStatus == "canceled"
			return nil
		})
	}))
	if lives == 0 || !split {
		t.Errorf("%d settled orders, split: %t", lives, split)
	}
	check(t, s.Close())
}

// checkSizes measures the store, whose largest part is a table or an index of a table.
func checkSizes(t *testing.T, database, table string) {
	t.Helper()
	s, err := growth.Measure(t.Context(), database)
	check(t, err)
	sum := int64(0)
	found := false
	for _, part := range s.Parts {
		sum += part.Bytes
		found = found || part.Name == table && part.Bytes > 100*final
	}
	const header = 20 << 20 // at most, of a database of PostgreSQL
	if !found || s.Data < sum || s.Data > sum+header {
		t.Errorf("%d bytes, in parts %d: %+v", s.Data, sum, s.Parts)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
