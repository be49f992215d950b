// Package admin is what operators and their machines look at: /livez, /readyz and
// /metrics. It promises that looking costs little however often it is done, that it
// never holds up the recording of rewards, and that no secret, no personal data and
// no id of a client appears in it. Read ready.go for what decides readiness,
// metrics.go for what is counted and books.go for what is read.
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

// Store is the books.
type Store interface {
	// Overview reads how the books stand, at little cost.
	Overview(ctx context.Context) (rewards.Overview, error)
	// CheckWrites tells whether the books can be written; it writes only when nothing
	// was written of late.
	CheckWrites(ctx context.Context) error
}

// Market is the prices.
type Market interface {
	// PriceAge is the age of the oldest price, and how many assets have no usable one.
	PriceAge() (oldest time.Duration, unusable int)
}

// Intake is the queue of rewards to be recorded.
type Intake interface {
	// Depth is how many requests wait.
	Depth() int
	// Busy is how long the commit under way has taken; zero while there is none.
	Busy() time.Duration
}

// Worker is the fulfilment of this process.
type Worker interface {
	// Leads tells whether this process leads fulfilment.
	Leads() bool
	// Busy is how long the step under way has not moved; zero between steps.
	Busy() time.Duration
}

// Certificate is the certificate of the API.
type Certificate interface {
	// NotAfter is when it ends.
	NotAfter() time.Time
}

// Server is the database's server, where there is one.
type Server interface {
	// Weakness tells why commits may be lost although the server acknowledges them;
	// "" when they are not.
	Weakness(ctx context.Context) (string, error)
}

// Options says what is looked at.
type Options struct {
	Metrics     *Metrics
	Store       Store
	Market      Market
	Intake      Intake
	Worker      Worker
	Certificate Certificate // nil without TLS
	Server      Server      // nil without one
	DailyLimit  Limit       // of all orders of a day
	HouseLimit  Limit       // of what the house adds on a day
	Now         func() time.Time
	Log         *slog.Logger
}

// Admin answers. It is safe for concurrent use.
type Admin struct {
	Options
	books    cached[rewards.Overview]
	writes   cached[struct{}]
	weakness cached[string]
	draining atomic.Bool
}

// New makes it; the metrics are of this one from now on.
func New(o Options) (*Admin, error) {
	a := &Admin{Options: o}
	a.books = newCached(readEvery, readPatience, o.Store.Overview)
	a.writes = newCached(readEvery, writePatience, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.Store.CheckWrites(ctx)
	})
	a.weakness = newCached(weaknessEvery, weaknessPatience, func(ctx context.Context) (string, error) {
		if o.Server == nil {
			return "", nil
		}
		return o.Server.Weakness(ctx)
	})
	return a, o.Metrics.registry.Register(&collector{a})
}

// Drain has /readyz answer 503 from now on: the process is going to stop.
func (a *Admin) Drain() { a.draining.Store(true) }

// The limits of a connection.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 16 << 10
	maxScrapes     = 8 // at once; more get 503
)

// Server makes the server, with its limits.
func (a *Admin) Server() *http.Server {
	return &http.Server{
		Handler: a.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(a.Log.Handler(), slog.LevelDebug),
	}
}

// Handler answers /, /livez, /readyz and /metrics.
func (a *Admin) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", index)
	mux.HandleFunc("GET /livez", a.livez)
	mux.HandleFunc("GET /readyz", a.readyz)
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
<ul><li><a href="/livez">/livez</a>: does the process move?</li>
<li><a href="/readyz">/readyz</a>: can rewards be recorded, and what else is wrong?</li>
<li><a href="/metrics">/metrics</a>: for Prometheus</li></ul>
`) // the client may have gone
}

// stuckAfter is how long a loop may stand still. Every call that it makes ends
// sooner by itself, also when the broker hangs, its rate limit is used up or the
// disk is full.
const stuckAfter = 5 * time.Minute

// livez answers 200 while the loops move: a restart helps when they don't, and
// nothing else is a reason for one.
func (a *Admin) livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, loop := range []struct {
		name string
		busy time.Duration
	}{{"the intake", a.Intake.Busy()}, {"fulfilment", a.Worker.Busy()}} {
		if loop.busy > stuckAfter {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintf(w, "%s has not moved for %s\n", loop.name, loop.busy.Round(time.Second))
			return
		}
	}
	_, _ = io.WriteString(w, "ok\n")
}
