package linear

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/intake"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
	"stockrewards/test/world"
)

var (
	operations = flag.Int("operations", 1_000, "number of operations to check on each engine")
	kills      = flag.Int("kills", 4, "number of kills of the built service")
)

// The handler, the intake and the store, over an SQLite file.
func TestLinearizableOnSQLite(t *testing.T) {
	t.Parallel()
	play(t, newSite(t, sqliteEngines(t)...), func(n int) bool { return n >= *operations })
}

// Two of each, as in two processes, over one PostgreSQL database.
func TestLinearizableOnPostgreSQL(t *testing.T) {
	t.Parallel()
	play(t, newSite(t, postgresEngines(t, 2)...), func(n int) bool { return n >= *operations })
}

// sqliteEngines opens the engine of a new SQLite file.
func sqliteEngines(t *testing.T) []store.Engine {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "rewards.db"), sqlite.Options{})
	check(t, err)
	return []store.Engine{engine}
}

// postgresEngines opens n engines, as n processes do, over one new PostgreSQL database.
func postgresEngines(t *testing.T, n int) (engines []store.Engine) {
	t.Helper()
	url, err := pgtest.Start(t).NewDatabase(t.Context())
	check(t, err)
	for range n {
		engine, err := postgres.Open(t.Context(), url, postgres.Options{Connections: 4})
		check(t, err)
		engines = append(engines, engine)
	}
	return engines
}

// newSite serves the API once per engine; all engines use one database.
func newSite(t *testing.T, engines ...store.Engine) site {
	t.Helper()
	var s site
	for i, engine := range engines {
		books, err := store.New(t.Context(), engine, time.Now, rand.Reader)
		check(t, err)
		books.SealEvery(world.SegmentSize)
		t.Cleanup(func() { check(t, books.Close()) })
		if i == 0 {
			check(t, books.SeedAssets(t.Context(), []rewards.Asset{{Symbol: "AAPL", Name: "Apple Inc."}}))
			s.newApp = func() string { return newApp(t, books) }
		}
		s.doors = append(s.doors, serve(t, books))
	}
	return s
}

var check = world.Check

func newApp(t *testing.T, books *store.Store) string {
	t.Helper()
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
	check(t, err)
	name := fmt.Sprint("app ", time.Now().UnixNano())
	tester := books.As(rewards.Operator{Actor: "tester@test", Command: "test"})
	_, _, err = tester.CreateApp(t.Context(), name, rewards.Key{Hash: rewards.HashKey(secret)})
	check(t, err)
	return secret
}

type noPrices struct{}

func (noPrices) Price(rewards.AssetID, int64) (money.Price, bool) { return 0, false }

// Generation implements rewards.Prices: no units change.
func (noPrices) Generation(rewards.AssetID) int64 { return 0 }

// Reload implements rewards.Prices.
func (noPrices) Reload(context.Context) error { return nil }

func serve(t *testing.T, books *store.Store) string {
	t.Helper()
	in, err := books.Installation(t.Context())
	check(t, err)
	recorder := intake.New(books, func() { _, _ = books.SealSegment(t.Context()) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); recorder.Run(ctx) }()
	o := api.Options{
		Service:   rewards.NewService(books, recorder, noPrices{}, time.Now),
		CursorKey: in.CursorKey, Log: slog.New(slog.DiscardHandler),
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config, server.Listener = api.NewServer(o), api.Listener(server.Listener, o)
	server.Start()
	t.Cleanup(func() { server.Close(); cancel(); <-done })
	return server.URL
}
