package admin

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"stockrewards/internal/rewards"
)

// Metrics counts events as they happen. It is safe for concurrent use and costs well
// under a microsecond per request.
type Metrics struct {
	registry  *prometheus.Registry
	endpoints map[Endpoint]*endpoint
	requests  *prometheus.CounterVec
	appFaults prometheus.Counter

	batch, commit prometheus.Observer
	commitErrors  prometheus.Counter
	rewards       *prometheus.CounterVec
	orders        *prometheus.CounterVec
	calls         *prometheus.CounterVec
	callTime      *prometheus.HistogramVec
	webhooks      *prometheus.CounterVec
	webhookTime   prometheus.Observer
}

// Endpoint is a method of a route, from the API's table of routes.
type Endpoint struct {
	Method string
	Route  string
}

// endpoint holds the metrics of one endpoint, so that they are looked up once.
type endpoint struct {
	labels   Endpoint
	took     prometheus.Observer
	byStatus map[int]prometheus.Counter
}

// Build identifies the program.
type Build struct{ Version, Revision, Go string }

// other labels requests outside of the table of routes, and unknown kinds of alarms.
const other = "other"

// NewMetrics returns the metrics, in a separate registry. The endpoints and the
// broker's operations are complete lists.
func NewMetrics(endpoints []Endpoint, operations []string, b Build) *Metrics {
	f := factory{prometheus.NewRegistry()}
	f.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := &Metrics{
		registry: f.registry,
		requests: f.counters("http_requests_total",
			"API requests answered since the process started.", "method", "route", "status"),
		appFaults: f.counters("http_app_faults_total", "API requests whose app caused their 503 since the process "+
			"started: its other requests had all its places, or its body came too slowly.").WithLabelValues(),
		batch: f.histogram("intake_batch_size", "Requests per intake commit.",
			prometheus.ExponentialBuckets(1, 2, 11)).WithLabelValues(),
		commit: f.histogram("intake_commit_duration_seconds", "Duration of intake commits.",
			commitBuckets()).WithLabelValues(),
		commitErrors: f.counters("intake_commit_errors_total",
			"Failed intake commits since the process started.").WithLabelValues(),
		rewards: f.counters("rewards_total",
			"Rewards that entered a status through this process since it started.", "status"),
		orders: f.counters("order_changes_total",
			"Orders that entered a state through this process since it started.", "state"),
		calls: f.counters("broker_calls_total", "Broker calls by outcome since the process started; "+
			"not_sent: the rate limit allowed none in time.", "operation", "outcome"),
		callTime: f.histogram("broker_call_duration_seconds",
			"Duration of broker calls, without the wait for the rate limit.", callBuckets(), "operation"),
		webhooks: f.counters("webhook_attempts_total",
			"Attempts to send an event to a webhook endpoint since the process started, by outcome.", "outcome"),
		webhookTime: f.histogram("webhook_attempt_duration_seconds", "Duration of attempts to send an event.",
			callBuckets()).WithLabelValues(),
	}
	f.gauges("build_info", "Version, revision and Go version of the program; always 1.",
		"version", "revision", "goversion").
		WithLabelValues(b.Version, b.Revision, b.Go).Set(1)
	m.prepareRequests(f, endpoints)
	m.prepareStates(operations)
	return m
}

func (m *Metrics) prepareRequests(f factory, endpoints []Endpoint) {
	took := f.histogram("http_request_duration_seconds",
		"Duration of API requests, from the headers read to the answer written.",
		requestBuckets(), "method", "route")
	m.endpoints = make(map[Endpoint]*endpoint)
	for _, e := range append([]Endpoint{{other, other}}, endpoints...) {
		p := &endpoint{
			labels: e, took: took.WithLabelValues(e.Method, e.Route), byStatus: make(map[int]prometheus.Counter),
		}
		m.endpoints[e] = p
		if e.Method == other {
			continue // its statuses are created on demand
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

// prepareStates creates every series at zero, so that rate() sees the first event.
func (m *Metrics) prepareStates(operations []string) {
	for _, s := range []rewards.Status{rewards.Recorded, rewards.Executed, rewards.Failed} {
		m.rewards.WithLabelValues(s.String())
	}
	for s := rewards.OrderPlanned; s <= rewards.OrderRefused; s++ {
		if s != rewards.OrderResolved { // only an operator's command resolves
			m.orders.WithLabelValues(s.String())
		}
	}
	for _, outcome := range []string{webhookDelivered, webhookRefused, webhookUnanswered} {
		m.webhooks.WithLabelValues(outcome)
	}
	for _, o := range operations {
		m.calls.WithLabelValues(o, outcomeOf(nil))
		m.callTime.WithLabelValues(o)
	}
}

// Request counts an answered request. One outside of the table of routes is counted as
// "other". An app's fault is a 503 that the app caused, with too many requests at once for example.
func (m *Metrics) Request(method, route string, status int, appFault bool, took time.Duration) {
	if appFault {
		m.appFaults.Inc()
	}
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

// WatchLog adds a counter of dropped log lines. Call it once.
func (m *Metrics) WatchLog(dropped func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: prefix + "log_lines_dropped_total",
		Help: "Log lines dropped since the process started, because nobody read the log or it could not be written.",
	}, func() float64 { return number(dropped()) })) //nolint:forbidigo // a count
}

// Commit counts an intake commit.
func (m *Metrics) Commit(requests, created int, took time.Duration, err error) {
	m.batch.Observe(number(requests))
	m.commit.Observe(took.Seconds())
	m.rewards.WithLabelValues(rewards.Recorded.String()).Add(number(created))
	if err != nil {
		m.commitErrors.Inc()
	}
}

// OrderEntered counts an order that entered a state.
func (m *Metrics) OrderEntered(state rewards.OrderState) {
	m.orders.WithLabelValues(state.String()).Inc()
}

// RewardsEnded counts n rewards that entered a final status.
func (m *Metrics) RewardsEnded(status rewards.Status, n int) {
	m.rewards.WithLabelValues(status.String()).Add(number(n))
}

// BrokerCall counts a broker call.
func (m *Metrics) BrokerCall(operation string, err error, took time.Duration) {
	outcome := outcomeOf(err)
	m.calls.WithLabelValues(operation, outcome).Inc()
	if outcome != rewards.NotSent {
		m.callTime.WithLabelValues(operation).Observe(took.Seconds())
	}
}

// The outcomes of an attempt to send an event.
const (
	webhookDelivered  = "delivered"
	webhookRefused    = "refused"    // an answer other than 2xx
	webhookUnanswered = "unanswered" // no answer, or the address is not allowed
)

// WebhookAttempt counts an attempt to send an event to an endpoint.
func (m *Metrics) WebhookAttempt(a rewards.WebhookAnswer, took time.Duration) {
	outcome := webhookRefused
	switch {
	case a.Success():
		outcome = webhookDelivered
	case a.StatusCode == 0:
		outcome = webhookUnanswered
	}
	m.webhooks.WithLabelValues(outcome).Inc()
	m.webhookTime.Observe(took.Seconds())
}
