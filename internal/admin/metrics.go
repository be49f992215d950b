package admin

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"stockrewards/internal/rewards"
)

// Metrics is what is counted while it happens. It is safe for concurrent use, and
// costs well under a microsecond a request.
type Metrics struct {
	registry  *prometheus.Registry
	endpoints map[Endpoint]*endpoint
	requests  *prometheus.CounterVec

	batch, commit prometheus.Observer
	commitErrors  prometheus.Counter
	rewards       *prometheus.CounterVec
	orders        *prometheus.CounterVec
	calls         *prometheus.CounterVec
	callTime      *prometheus.HistogramVec
}

// Endpoint is a method of a route; both come from the table of routes.
type Endpoint struct {
	Method string
	Route  string
}

// endpoint is the metrics of one endpoint, looked up once.
type endpoint struct {
	labels   Endpoint
	took     prometheus.Observer
	byStatus map[int]prometheus.Counter
}

// Build says what the program was built from.
type Build struct{ Version, Revision, Go string }

// other labels whatever is not in the table of routes.
const other = "other"

// NewMetrics makes the metrics with a registry of their own. Endpoints and
// operations of the broker are all that there will be.
func NewMetrics(endpoints []Endpoint, operations []string, b Build) *Metrics {
	f := factory{prometheus.NewRegistry()}
	f.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := &Metrics{
		registry: f.registry,
		requests: f.counters("http_requests_total",
			"Requests of the API that were answered, since the process started.", "method", "route", "status"),
		batch: f.histogram("intake_batch_size", "Requests per commit of the intake.",
			prometheus.ExponentialBuckets(1, 2, 11)).WithLabelValues(),
		commit: f.histogram("intake_commit_duration_seconds", "How long commits of the intake took.",
			commitBuckets()).WithLabelValues(),
		commitErrors: f.counters("intake_commit_errors_total",
			"Commits of the intake that failed, since the process started.").WithLabelValues(),
		rewards: f.counters("rewards_total",
			"Rewards that came into a status through this process, since it started.", "status"),
		orders: f.counters("order_changes_total",
			"Orders that came into a state through this process, since it started.", "state"),
		calls: f.counters("broker_calls_total", "Calls of the broker by how they ended, since the process started; "+
			"not_sent: the rate limit had no room in time.", "operation", "outcome"),
		callTime: f.histogram("broker_call_duration_seconds",
			"How long the broker took, without the wait for the rate limit.", callBuckets(), "operation"),
	}
	f.gauges("build_info", "What the program was built from; always 1.", "version", "revision", "goversion").
		WithLabelValues(b.Version, b.Revision, b.Go).Set(1)
	m.prepareRequests(f, endpoints)
	m.prepareStates(operations)
	return m
}

func (m *Metrics) prepareRequests(f factory, endpoints []Endpoint) {
	took := f.histogram("http_request_duration_seconds",
		"How long requests of the API took, from their head read to their answer written.",
		requestBuckets(), "method", "route")
	m.endpoints = make(map[Endpoint]*endpoint)
	for _, e := range append([]Endpoint{{other, other}}, endpoints...) {
		p := &endpoint{
			labels: e, took: took.WithLabelValues(e.Method, e.Route), byStatus: make(map[int]prometheus.Counter),
		}
		m.endpoints[e] = p
		if e.Method == other {
			continue // its statuses are looked up when they come
		}
		for _, status := range []int{
			http.StatusOK, http.StatusCreated, http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound,
			http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable,
		} {
			p.byStatus[status] = m.request(e, status)
		}
	}
}

func (m *Metrics) request(e Endpoint, status int) prometheus.Counter {
	return m.requests.WithLabelValues(e.Method, e.Route, strconv.Itoa(status))
}

// prepareStates has every series start at zero, so that its first event is seen.
func (m *Metrics) prepareStates(operations []string) {
	for _, s := range []rewards.Status{rewards.Recorded, rewards.Executed, rewards.Failed} {
		m.rewards.WithLabelValues(s.String())
	}
	for s := rewards.OrderPlanned; s <= rewards.OrderRefused; s++ {
		if s != rewards.OrderResolved { // an operator's command does that
			m.orders.WithLabelValues(s.String())
		}
	}
	for _, o := range operations {
		m.calls.WithLabelValues(o, outcomeOf(nil))
		m.callTime.WithLabelValues(o)
	}
}

// Request counts a request that was answered. One whose route is not in the table,
// or does not have the method, is counted under "other".
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	e := m.endpoints[Endpoint{method, route}]
	if e == nil {
		e = m.endpoints[Endpoint{other, other}]
	}
	e.took.Observe(took.Seconds())
	if c := e.byStatus[status]; c != nil {
		c.Inc()
		return
	}
	m.request(e.labels, status).Inc()
}

// WatchLog counts the lines of the log that were dropped; once for a process.
func (m *Metrics) WatchLog(dropped func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: prefix + "log_lines_dropped_total",
		Help: "Lines of the log that were dropped because nobody read it, since the process started.",
	}, func() float64 { return number(dropped()) })) //nolint:forbidigo // a count
}

// Commit counts a commit of the intake.
func (m *Metrics) Commit(requests, created int, took time.Duration, err error) {
	m.batch.Observe(number(requests))
	m.commit.Observe(took.Seconds())
	m.rewards.WithLabelValues(rewards.Recorded.String()).Add(number(created))
	if err != nil {
		m.commitErrors.Inc()
	}
}

// OrderEntered counts an order that came into a state.
func (m *Metrics) OrderEntered(state rewards.OrderState) {
	m.orders.WithLabelValues(state.String()).Inc()
}

// RewardsEnded counts rewards that came into a status that is final.
func (m *Metrics) RewardsEnded(status rewards.Status, n int) {
	m.rewards.WithLabelValues(status.String()).Add(number(n))
}

// BrokerCall counts a call of the broker.
func (m *Metrics) BrokerCall(operation string, err error, took time.Duration) {
	outcome := outcomeOf(err)
	m.calls.WithLabelValues(operation, outcome).Inc()
	if outcome != rewards.NotSent {
		m.callTime.WithLabelValues(operation).Observe(took.Seconds())
	}
}
