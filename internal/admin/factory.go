package admin

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// prefix begins the name of every metric.
const prefix = "stockrewards_"

// factory creates metrics and registers them.
type factory struct{ registry *prometheus.Registry }

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(f.registry).NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

func (f factory) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.With(f.registry).NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
}

// histogram creates a histogram with the upper bounds of its buckets.
//
//nolint:forbidigo // buckets are not money
func (f factory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return promauto.With(f.registry).NewHistogramVec(
		prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels)
}

// requestBuckets end at the longest time that a request may take.
//
//nolint:forbidigo // seconds
func requestBuckets() []float64 {
	return []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25}
}

// commitBuckets end at several fsyncs of a slow disk.
//
//nolint:forbidigo // seconds
func commitBuckets() []float64 {
	return []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}
}

// callBuckets end at the client's timeout.
//
//nolint:forbidigo // seconds
func callBuckets() []float64 {
	return []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
}

// number converts a count for Prometheus, which has no integers.
//
//nolint:forbidigo // for display only
func number[N ~int | ~int64](n N) float64 { return float64(n) }

// dollars converts an amount for Prometheus.
//
//nolint:forbidigo // for display only
func dollars(u money.USD) float64 { return float64(u) / float64(money.Dollar) }

// outcomeOf is the label for the result of a broker call: "ok", or the error's kind.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	if e, ok := errors.AsType[*rewards.BrokerError](err); ok && e.Code == rewards.NotSent {
		return rewards.NotSent
	}
	return rewards.BrokerKindOf(err).String()
}
