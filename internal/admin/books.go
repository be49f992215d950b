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

// Limit is a limit of dollars on a UTC day; the zero value is none.
type Limit struct {
	Exists bool
	Amount money.USD
}

// collector tells what is read at the moment of a scrape: the books (at most once
// a second, see cached), the queue, the prices and the worker.
type collector struct{ *Admin }

// metric is one metric that the collector tells.
type metric struct {
	desc *prometheus.Desc
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc(prefix+name, help, labels, nil)}
}

// gauges are all that the collector tells.
type gauges struct {
	waiting, oldest, ordered, live, notional, notionalLimit, house, houseLimit           metric
	paused, conflicts, alarms, readable, ready, leads, depth, priceAge, unusable, expiry metric
	actions                                                                              metric
}

func newGauges() gauges {
	return gauges{
		waiting: gauge("rewards_waiting", "Rewards that wait for an order now; counted up to 100000."),
		oldest: gauge("reward_oldest_waiting_age_seconds",
			"How long the oldest of them has waited, those of suspended apps aside; 0: none waits."),
		ordered:       gauge("rewards_ordered", "Rewards in orders that are not final, now."),
		live:          gauge("orders_live", "Orders that are not final, now.", "state"),
		notional:      gauge("notional_today_dollars", "Notional of the orders planned on this UTC day."),
		notionalLimit: gauge("notional_limit_dollars", "The daily limit of it; +Inf: none."),
		house:         gauge("house_spending_today_dollars", "What the house added to small pools on this UTC day."),
		houseLimit:    gauge("house_spending_limit_dollars", "The daily limit of it; +Inf: none."),
		paused:        gauge("ordering_paused", "Whether an operator has paused ordering (1) or not (0)."),
		conflicts: gauge("broker_conflicts",
			"Orders at the broker that contradict the books, not acknowledged; they stop all ordering."),
		actions: gauge("corporate_actions",
			"Corporate actions that hold a stock now (held) or will (announced).", "state"),
		alarms:   gauge("alarms", "Alarms that stand now; a kind without one is missing.", "kind"),
		readable: gauge("books_readable", "Whether the books could be read for this scrape (1) or not (0)."),
		ready:    gauge("ready", "Whether /readyz would answer 200 (1) or 503 (0)."),
		leads:    gauge("fulfillment_leads", "Whether this process leads fulfilment (1) or not (0)."),
		depth:    gauge("intake_queue_depth", "Requests that wait to be recorded, now; 8192 is full."),
		priceAge: gauge("price_oldest_age_seconds",
			"Age of the oldest price in use, since the broker last confirmed it; it grows while the broker is away."),
		unusable: gauge("prices_unusable", "Stocks that need a price and have no usable one, now."),
		expiry: gauge("tls_certificate_not_after_timestamp_seconds",
			"When the certificate ends, in seconds since 1970; missing without TLS."),
	}
}

// Describe implements prometheus.Collector: nothing, for what is told depends on
// what can be read.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readPatience) //nolint:forbidigo // Prometheus gives none
	defer cancel()
	g := newGauges()
	t := teller{ch}
	t.flag(g.ready, c.refuses(ctx) == nil)
	t.flag(g.leads, c.Worker.Leads())
	t.tell(g.depth, number(c.Intake.Depth()))
	age, unusable := c.Market.PriceAge()
	t.tell(g.priceAge, age.Seconds())
	t.tell(g.unusable, number(unusable))
	if c.Certificate != nil {
		t.tell(g.expiry, number(c.Certificate.NotAfter().Unix()))
	}
	v, err := c.books.get(ctx)
	t.flag(g.readable, err == nil)
	if err == nil {
		c.tellBooks(t, g, v)
	}
}

func (c *collector) tellBooks(t teller, g gauges, v rewards.Overview) {
	t.tell(g.waiting, number(v.Waiting))
	t.tell(g.ordered, number(v.Ordered))
	var oldest time.Duration
	if !v.OldestWaiting.IsZero() {
		oldest = max(0, c.Now().Sub(v.OldestWaiting))
	}
	t.tell(g.oldest, oldest.Seconds())
	for state := rewards.OrderPlanned; !state.Final(); state++ {
		t.tell(g.live, number(v.Live[state]), state.String())
	}
	t.tell(g.notional, dollars(v.NotionalToday))
	t.limit(g.notionalLimit, c.DailyLimit)
	t.tell(g.house, dollars(v.HouseToday))
	t.limit(g.houseLimit, c.HouseLimit)
	t.flag(g.paused, v.Control.Paused != "")
	t.tell(g.conflicts, number(v.Control.Conflicts))
	for _, state := range []rewards.ActionState{rewards.ActionAnnounced, rewards.ActionHeld} {
		t.tell(g.actions, number(v.Actions[state]), state.String())
	}
	kinds := make(map[string]int)
	for _, a := range v.Alarms {
		kinds[boundedKind(a)]++
	}
	for kind, n := range kinds {
		t.tell(g.alarms, number(n), kind)
	}
}

// boundedKind is the kind of an alarm as a label: one of ours, which are few.
func boundedKind(a rewards.Alarm) string {
	kind := a.Kind()
	const longest = 40
	if len(kind) > longest || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return other
	}
	return kind
}

// teller sends metrics.
type teller struct{ ch chan<- prometheus.Metric }

//nolint:forbidigo // Prometheus knows no integers
func (t teller) tell(m metric, value float64, labels ...string) {
	t.ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, value, labels...)
}

func (t teller) flag(m metric, is bool) {
	if is {
		t.tell(m, 1)
		return
	}
	t.tell(m, 0)
}

func (t teller) limit(m metric, l Limit) {
	if l.Exists {
		t.tell(m, dollars(l.Amount))
		return
	}
	t.tell(m, math.Inf(1))
}
