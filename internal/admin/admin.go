// Package admin serves /livez, /readyz and /metrics to operators and their monitoring.
// However often it is polled, it costs little and never delays the recording of
// rewards. It exposes no secrets, personal data or ids of clients. Read ready.go for
// readiness, metrics.go for the counters and gauges.go for what a scrape reads.
package admin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"stockrewards/internal/rewards"
)

// Store is the durable state.
type Store interface {
	// Overview summarizes orders, rewards and alarms, at little cost.
	Overview(ctx context.Context) (rewards.Overview, error)
	// CheckWrites returns an error when the store cannot be written. It writes only
	// when nothing was written recently.
	CheckWrites(ctx context.Context) error
	// HeldBack says what keeps the database from freeing space, at little cost; "" when nothing does.
	HeldBack(ctx context.Context) (string, error)
	// DamagedFilters lists the filters of keys that were damaged in the store.
	DamagedFilters() []string
}

// Market holds the prices.
type Market interface {
	// PriceAge is the age of the oldest price, and the number of assets without a
	// usable one.
	PriceAge() (oldest time.Duration, unusable int)
}

// Intake is the queue of requests that wait to be recorded.
type Intake interface {
	// Depth is the number of waiting requests.
	Depth() int
	// Busy is the duration of the current commit; zero without one.
	Busy() time.Duration
}

// Worker is the fulfillment worker of this process.
type Worker interface {
	// Leads reports whether this process holds the lease.
	Leads() bool
	// Busy is the time since the current step's last heartbeat; zero between steps.
	Busy() time.Duration
	// LeaderChanges is how often the leader has changed in the last five minutes, as far as this process knows.
	LeaderChanges() int
}

// Webhooks sends events to the endpoints of apps.
type Webhooks interface {
	// Count counts the endpoints that this process sends to.
	Count() rewards.WebhookCounts
}

// Gate admits requests.
type Gate interface {
	// Followers is the number of requests that wait for events, streams included.
	Followers() int
}

// Certificate is the TLS certificate of the API.
type Certificate interface {
	// NotAfter is when it expires, also when its files were changed just now.
	NotAfter(ctx context.Context) time.Time
}

// DatabaseServer is PostgreSQL.
type DatabaseServer interface {
	// Weakness says why acknowledged commits may be lost; "" when they are durable.
	Weakness(ctx context.Context) (string, error)
	// TransactionIDsLow says how many transactions are left before the server refuses all writes; "" when enough are.
	TransactionIDsLow(ctx context.Context) (string, error)
	// CheckAccess fails when rights are missing that clients need.
	CheckAccess(ctx context.Context) error
}

// Options are what New reads and counts.
type Options struct {
	Metrics     *Metrics
	Store       Store
	Market      Market
	Intake      Intake
	Worker      Worker
	Webhooks    Webhooks // nil: this process sends nothing
	Gate        Gate
	Certificate Certificate    // nil without TLS
	Server      DatabaseServer // nil over SQLite
	DailyLimit  Limit          // of all orders
	HouseLimit  Limit          // of what the house adds to small pools
	Now         func() time.Time
	Log         *slog.Logger
	Reference   http.Handler // the reference of the API, at /docs; nil: none
}

// Admin serves the endpoints. It is safe for concurrent use.
type Admin struct {
	Options
	overview *cached[rewards.Overview]
	writes   *cached[struct{}]
	database *cached[condition]
	draining atomic.Bool
}

// condition is what is wrong with the database; "" means nothing.
type condition struct {
	weakness string // why acknowledged commits may be lost
	heldBack string // what keeps it from freeing space
	idsLow   string // how few transaction ids are left
	unknown  error  // why heldBack is not known
}

// New returns an Admin. It registers its gauges with o.Metrics, which can be used once.
func New(o Options) (*Admin, error) {
	a := &Admin{Options: o}
	a.overview = newCached(readEvery, readTimeout, o.Store.Overview)
	a.writes = newCached(readEvery, writeTimeout, func(ctx context.Context) (struct{}, error) {
		err := o.Store.CheckWrites(ctx)
		if err == nil && o.Server != nil {
			err = o.Server.CheckAccess(ctx)
		}
		if err != nil && ctx.Err() != nil { // whatever it says, the time of the try is over
			err = errSlow
		}
		return struct{}{}, err
	})
	a.database = newCached(conditionEvery, conditionTimeout, func(ctx context.Context) (c condition, _ error) {
		if o.Server != nil {
			c.weakness, _ = o.Server.Weakness(ctx) // "" while it is unknown
			c.idsLow, _ = o.Server.TransactionIDsLow(ctx)
		}
		c.heldBack, c.unknown = o.Store.HeldBack(ctx)
		return c, nil
	})
	return a, o.Metrics.registry.Register(&collector{a})
}

// Drain makes /readyz answer 503: the process is about to stop.
func (a *Admin) Drain() { a.draining.Store(true) }

// NewServer returns an HTTP server for Handler, with its limits.
func (a *Admin) NewServer() *http.Server {
	const (
		readTimeout    = 5 * time.Second
		writeTimeout   = 30 * time.Second
		idleTimeout    = 60 * time.Second
		maxHeaderBytes = 16 << 10
	)
	return &http.Server{
		Handler: a.Handler(), ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(a.Log.Handler(), slog.LevelDebug),
	}
}

// Handler answers /, /livez, /readyz, /metrics and /docs.
func (a *Admin) Handler() http.Handler {
	const maxScrapes = 8 // concurrent; more get 503
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", index)
	mux.HandleFunc("GET /livez", a.livez)
	mux.HandleFunc("GET /readyz", a.readyz)
	if a.Reference != nil {
		mux.Handle("GET /docs", a.Reference)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.Metrics.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes,
		ErrorLog: slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, `<!doctype html><title>Stock Rewards Service</title><h1>Stock Rewards Service</h1>
<ul><li><a href="/livez">/livez</a>: does the process make progress?</li>
<li><a href="/readyz">/readyz</a>: can rewards be recorded, and what else is wrong?</li>
<li><a href="/metrics">/metrics</a>: for Prometheus</li>
<li><a href="/docs">/docs</a>: the reference of the API</li></ul>
`) // the client may have disconnected
}

// stuckAfter is how long a loop may go without a heartbeat. Every call that it makes
// times out sooner, even when the broker hangs, the rate limit is used up or the disk
// is full.
const stuckAfter = 5 * time.Minute

// livez answers 200 while the loops make progress. A stuck loop is the only reason for
// a restart.
func (a *Admin) livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, loop := range []struct {
		name string
		busy time.Duration
	}{{"the intake", a.Intake.Busy()}, {"fulfillment", a.Worker.Busy()}} {
		if loop.busy > stuckAfter {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintf(w, "%s has not moved for %s\n", loop.name, loop.busy.Round(time.Second))
			return
		}
	}
	_, _ = io.WriteString(w, "ok\n")
}
