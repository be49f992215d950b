package api_test

import (
	"context"
	"crypto/rand"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"

	"stockrewards/internal/api"
	"stockrewards/internal/intake"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
)

// world is the service with real parts: HTTP, the domain, the intake and the store. Only
// the market is a table of prices, and tests can advance the clock.
type world struct {
	engine  store.Engine
	store   *store.Operator
	service *rewards.Service
	intake  *intake.Intake
	prices  *prices
	clock   *clock
	log     *lines
	server  *httptest.Server

	cursorKey []byte
	apps      atomic.Int64 // for names
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// onPostgres runs the whole suite over PostgreSQL.
var onPostgres = flag.Bool("postgres", false, "run over PostgreSQL, on a cluster that the tests start")

// cluster starts the PostgreSQL cluster that the tests share.
var cluster = sync.OnceValues(func() (*pgtest.Cluster, error) { return pgtest.New("fsync=on", "max_connections=500") })

// TestMain closes the shared world and the cluster.
func TestMain(m *testing.M) {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	code := m.Run()
	if w, err := shared(); err != nil || w.close() != nil {
		code = 1
	}
	if c, err := cluster(); err != nil || c.Close() != nil {
		code = 1
	}
	os.Exit(code)
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// openEngine opens a new database: SQLite at the path, or PostgreSQL with -postgres.
func openEngine(ctx context.Context, path string) (store.Engine, error) {
	if !*onPostgres {
		return sqlite.Open(ctx, path, sqlite.Options{})
	}
	c, err := cluster()
	if err != nil {
		return nil, err
	}
	open := func(url string) (store.Engine, error) {
		return postgres.Open(ctx, url, postgres.Options{Connections: 4})
	}
	url, err := c.NewDatabaseLike(ctx, func(url string) error {
		engine, err := open(url)
		if err != nil {
			return err
		}
		return engine.Close()
	})
	if err != nil {
		return nil, err
	}
	return open(url)
}

// shared opens the world of tests that only need their own app. They must not advance its
// clock or change its catalog and prices.
var shared = sync.OnceValues(func() (*world, error) { return openWorld(context.Background(), sqlite.Memory) })

// newApp creates an app in the shared world.
func newApp(t *testing.T) client {
	t.Helper()
	w, err := shared()
	check(t, err)
	return w.newApp(t)
}

// newAppWithUser creates an app in the shared world, with a user.
func newAppWithUser(t *testing.T) (c client, user string) {
	t.Helper()
	c = newApp(t)
	return c, c.newUser(t)
}

// newWorldWithApp opens a world with an app.
func newWorldWithApp(t *testing.T) (*world, client) {
	t.Helper()
	w := newWorld(t)
	c := w.newApp(t)
	return w, c
}

// newWorld opens a world with a database in memory and a small catalog: AAPL, BRK.B, KO,
// NVDA and ÄÖ.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldAt(t, sqlite.Memory)
}

// newWorldAt opens a world whose database is a file.
func newWorldAt(t *testing.T, path string) *world {
	t.Helper()
	w, err := openWorld(t.Context(), path)
	check(t, err)
	t.Cleanup(func() { check(t, w.close()) })
	return w
}

func openWorld(ctx context.Context, path string) (*world, error) {
	engine, err := openEngine(ctx, path)
	if err != nil {
		return nil, err
	}
	return worldOn(ctx, engine)
}

// worldOn opens a world on an engine.
func worldOn(ctx context.Context, engine store.Engine) (_ *world, err error) {
	w := &world{engine: engine, prices: &prices{}, clock: &clock{}, log: &lines{}}
	books, err := store.New(ctx, engine, w.clock.now, rand.Reader)
	if err != nil {
		return nil, err
	}
	books.SealEvery(8)
	w.store = books.As(rewards.Operator{Actor: "tester@test", Command: "test"})
	if err := w.store.SeedAssets(ctx, []rewards.Asset{
		{Symbol: "NVDA", Name: "NVIDIA Corporation"},
		{Symbol: "AAPL", Name: "Apple Inc."},
		{Symbol: "KO", Name: "Coca-Cola Company"},
		{Symbol: "BRK.B", Name: "Berkshire Hathaway Inc."},
		{Symbol: "ÄÖ", Name: "Not ASCII"},
	}); err != nil {
		return nil, err
	}
	installation, err := w.store.Installation(ctx)
	if err != nil {
		return nil, err
	}
	w.cursorKey = installation.CursorKey
	w.intake = intake.New(w.store, func() { _, _ = w.store.SealSegment(context.Background()) })
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.running.Go(func() { w.intake.Run(ctx) })
	w.service = rewards.NewService(w.store, w.intake, w.prices, w.clock.now)
	w.service.SetWebhooks(webhooks())
	w.server = w.serve(w.service)
	w.server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w, nil
}

func (w *world) close() error {
	w.server.Close()
	w.stop()
	w.running.Wait()
	return w.store.Close()
}

// serve starts an HTTP server for a service, as the program does.
func (w *world) serve(service *rewards.Service) *httptest.Server {
	return start(api.Options{
		Service: service, CursorKey: w.cursorKey, Log: slog.New(slog.NewJSONHandler(w.log, nil)), RequestLog: w.log,
	})
}

func start(o api.Options) *httptest.Server {
	server := httptest.NewUnstartedServer(nil)
	server.Config, server.Listener = api.NewServer(o), api.Listener(server.Listener, o)
	server.Start()
	return server
}

// exec changes the database directly, in place of fulfillment.
func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	err := w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// prices is a market; an asset without an entry has no usable price.
type prices struct{ table sync.Map } // rewards.AssetID -> money.Price

// Price implements rewards.Prices.
func (p *prices) Price(asset rewards.AssetID, _ int64) (money.Price, bool) {
	v, ok := p.table.Load(asset)
	price, _ := v.(money.Price)
	return price, ok
}

// Generation implements rewards.Prices: no units change.
func (*prices) Generation(rewards.AssetID) int64 { return 0 }

// Reload implements rewards.Prices.
func (*prices) Reload(context.Context) error { return nil }

// set gives a stock a price.
func (w *world) set(t *testing.T, symbol, price string) {
	t.Helper()
	parsed, err := money.ParsePrice(price)
	check(t, err)
	w.prices.table.Store(w.asset(t, symbol), parsed)
}

func (w *world) asset(t *testing.T, symbol string) rewards.AssetID {
	t.Helper()
	assets, err := w.store.Assets(t.Context())
	check(t, err)
	for _, a := range assets {
		if a.Symbol == symbol {
			return a.ID
		}
	}
	t.Fatalf("no asset %q", symbol)
	return 0
}

// clock is the real clock plus an offset.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// lines collects the log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
