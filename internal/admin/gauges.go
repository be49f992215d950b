package admin

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Limit is a limit in dollars per UTC day; the zero value means no limit.
type Limit struct {
	Exists bool
	Amount money.USD
}

// collector reads gauges during a scrape: the store (at most once a second, see cached),
// the intake, the prices and the worker.
type collector struct{ *Admin }

// Describe implements prometheus.Collector. It describes nothing, since the metrics
// depend on what can be read.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout) //nolint:forbidigo // Prometheus passes none
	defer cancel()
	s := scrape{ch}
	s.flag("ready", "Whether /readyz would answer 200 (1) or 503 (0).", c.notReady(ctx) == nil)
	s.flag("fulfillment_leads", "Whether this process leads fulfillment (1) or not (0).", c.Worker.Leads())
	s.gauge("intake_queue_depth", "Requests that wait to be recorded; 8192 is full.", number(c.Intake.Depth()))
	age, unusable := c.Market.PriceAge()
	s.gauge("price_oldest_age_seconds",
		"Time since the broker last confirmed the oldest price in use; it grows while the broker is down.",
		age.Seconds())
	s.gauge("prices_unusable", "Stocks that need a price and have no usable one.", number(unusable))
	s.gauge("event_followers", "Requests that wait for events, streams included.", number(c.Gate.Followers()))
	c.collectWebhooks(s)
	if c.Certificate != nil {
		s.gauge("tls_certificate_not_after_timestamp_seconds",
			"When the TLS certificate expires, in seconds since 1970; missing without TLS.",
			number(c.Certificate.NotAfter(ctx).Unix()))
	}
	if condition, err := c.database.get(ctx); err == nil && condition.unknown == nil {
		s.flag("space_held_back", "Whether something keeps the database from freeing space (1) or not (0).",
			condition.heldBack != "")
	}
	for code, n := range c.warnings(ctx).byCode() {
		s.gauge("warnings", "Warnings of /readyz.", number(n), "code", code)
	}
	v, err := c.overview.get(ctx)
	s.flag("books_readable", "Whether the store could be read for this scrape (1) or not (0).", err == nil)
	if err != nil {
		return
	}
	c.collectRewards(s, v)
	c.collectOrders(s, v)
}

// collectWebhooks sends the metrics of endpoints, which only a process that sends webhooks has.
func (c *collector) collectWebhooks(s scrape) {
	if c.Webhooks == nil {
		return
	}
	n := c.Webhooks.Count()
	const name, help = "webhook_endpoints", "Webhook endpoints that this process sends to."
	s.gauge(name, help, number(n.Enabled), "status", "enabled")
	s.gauge(name, help, number(n.Failing), "status", "failing")
	s.gauge(name, help, number(n.Disabled), "status", "disabled")
	s.gauge(name, help, number(n.Locked), "status", "locked")
	var lag time.Duration
	if !n.Oldest.IsZero() {
		lag = max(0, c.Now().Sub(n.Oldest))
	}
	s.gauge("webhook_lag_seconds", "Age of the oldest event that an enabled endpoint was not sent; 0: all were sent.",
		lag.Seconds())
}

func (c *collector) collectRewards(s scrape, v rewards.Overview) {
	s.gauge("rewards_waiting", "Rewards that wait for an order; counted up to 100000.", number(v.Waiting))
	s.gauge("rewards_ordered", "Rewards in non-final orders.", number(v.Ordered))
	var oldest time.Duration
	if !v.OldestWaiting.IsZero() {
		oldest = max(0, c.Now().Sub(v.OldestWaiting))
	}
	s.gauge("reward_oldest_waiting_age_seconds",
		"Age of the oldest reward that waits, without those of suspended apps; 0: no reward waits.", oldest.Seconds())
}

func (c *collector) collectOrders(s scrape, v rewards.Overview) {
	for state := rewards.OrderPlanned; !state.Final(); state++ {
		s.gauge("orders_live", "Non-final orders.", number(v.Live[state]), "state", state.String())
	}
	s.gauge("notional_today_dollars", "Notional of the orders planned on this UTC day.", dollars(v.NotionalToday))
	s.limit("notional_limit_dollars", "Daily limit of the notional; +Inf: no limit.", c.DailyLimit)
	s.gauge("house_spending_today_dollars", "Dollars that the house added to small pools on this UTC day.",
		dollars(v.HouseToday))
	s.limit("house_spending_limit_dollars", "Daily limit of what the house adds; +Inf: no limit.", c.HouseLimit)
	for _, u := range v.Budgets {
		labels := []string{"app", u.App, "budget", u.Name, "period", u.Period.String()}
		s.gauge("budget_used_dollars", "Dollars awarded of an app's budget in its present period.", dollars(u.Used),
			labels...)
		s.gauge("budget_limit_dollars", "Limit of an app's budget.", dollars(u.Limit), labels...)
	}
	s.flag("ordering_paused", "Whether an operator has paused ordering (1) or not (0).", v.Control.Paused != "")
	s.gauge("broker_conflicts", "Orders at the broker that contradict the store, not acknowledged; they stop ordering.",
		number(v.Control.Conflicts))
	for _, state := range []rewards.ActionState{rewards.ActionAnnounced, rewards.ActionHeld} {
		s.gauge("corporate_actions", "Corporate actions that hold a stock (held) or will (announced).",
			number(v.Actions[state]), "state", state.String())
	}
	kinds := make(map[string]int)
	for _, a := range v.Alarms {
		kinds[boundedKind(a.Kind())]++
	}
	for kind, n := range kinds {
		s.gauge("alarms", "Raised alarms; a kind without one is missing.", number(n), "kind", kind)
	}
}

// boundedKind is the kind of an alarm or a warning as a label: short, of lower-case letters.
func boundedKind(kind string) string {
	const longest = 40
	if len(kind) > longest || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return other
	}
	return kind
}

// scrape sends the metrics of one scrape.
type scrape struct{ ch chan<- prometheus.Metric }

// gauge sends a value with its labels: names and values in turn.
//
//nolint:forbidigo // Prometheus has no integers
func (s scrape) gauge(name, help string, value float64, label ...string) {
	var names, values []string
	for i := 0; i+1 < len(label); i += 2 {
		names, values = append(names, label[i]), append(values, label[i+1])
	}
	s.ch <- prometheus.MustNewConstMetric(
		prometheus.NewDesc(prefix+name, help, names, nil), prometheus.GaugeValue, value, values...)
}

func (s scrape) flag(name, help string, is bool) {
	if is {
		s.gauge(name, help, 1)
		return
	}
	s.gauge(name, help, 0)
}

func (s scrape) limit(name, help string, l Limit) {
	if l.Exists {
		s.gauge(name, help, dollars(l.Amount))
		return
	}
	s.gauge(name, help, math.Inf(1))
}
