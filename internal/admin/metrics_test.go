package admin_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"stockrewards/internal/rewards"
)

// busy is a world in which every metric has a value.
func busy(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.depth = 7
	w.overview = rewards.Overview{
		Waiting: 12, OldestWaiting: time.Now().Add(-time.Hour), Ordered: 3,
		Live: map[rewards.OrderState]int{rewards.OrderOpen: 2, rewards.OrderQuarantined: 1},
		Budgets: []rewards.BudgetUse{{
			Budget: rewards.Budget{Name: "daily", Period: rewards.PeriodDay, Limit: 500_000_000}, App: "shop", Used: 12_500_000,
		}},
		NotionalToday: 1_234_567_890_000, HouseToday: 590_000,
		Alarms: []rewards.Alarm{
			{Name: "price_in_doubt:KO"}, {Name: "price_in_doubt:AAPL"}, {Name: "Strange: 01a1fdd5"},
		},
	}
	w.metrics.Request("GET", "/v1/assets", 200, false, time.Millisecond)
	w.metrics.Request("GET", "/v1/assets", 418, false, time.Millisecond)
	w.metrics.Request("POST", "/v1/rewards", 503, true, time.Millisecond)
	w.metrics.Request("BREW", "/v1/assets", 405, false, 0)
	w.metrics.Request("GET", "", 404, false, 0)
	w.metrics.Commit(5, 4, time.Millisecond, nil)
	w.metrics.Commit(2, 0, time.Millisecond, errors.New("full"))
	w.metrics.OrderEntered(rewards.OrderSettled)
	w.metrics.RewardsEnded(rewards.Executed, 3)
	w.metrics.BrokerCall("submit", nil, time.Second)
	w.metrics.BrokerCall("submit", &rewards.BrokerError{Kind: rewards.BrokerRefused}, time.Second)
	w.metrics.BrokerCall("submit", &rewards.BrokerError{Kind: rewards.BrokerWait, Code: rewards.NotSent}, 0)
	w.metrics.BrokerCall("submit", errors.New("another"), time.Second)
	return w
}

// families parses /metrics with Prometheus' parser.
func families(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(text))
	check(t, err)
	return found
}

func TestMetricsCountEvents(t *testing.T) {
	t.Parallel()
	_, text := busy(t).get(t, "/metrics")
	families(t, text)
	for _, want := range []string{
		`http_requests_total{method="GET",route="/v1/assets",status="200"} 1`,
		`http_requests_total{method="GET",route="/v1/assets",status="418"} 1`,
		`http_app_faults_total 1`,
		`http_requests_total{method="POST",route="/v1/rewards",status="503"} 1`,
		`http_requests_total{method="other",route="other",status="405"} 1`,
		`http_requests_total{method="other",route="other",status="404"} 1`,
		`http_request_duration_seconds_count{method="GET",route="/v1/assets"} 2`,
		`intake_batch_size_sum 7`, `intake_commit_errors_total 1`, `rewards_total{status="recorded"} 4`,
		`rewards_total{status="executed"} 3`, `rewards_total{status="failed"} 0`,
		`order_changes_total{state="settled"} 1`, `orders_live{state="open"} 2`, `orders_live{state="planned"} 0`,
		`broker_calls_total{operation="submit",outcome="ok"} 1`,
		`broker_calls_total{operation="submit",outcome="refused"} 1`,
		`broker_calls_total{operation="submit",outcome="not_sent"} 1`,
		`broker_calls_total{operation="submit",outcome="unknown"} 1`,
		`broker_call_duration_seconds_count{operation="submit"} 3`,
		`event_followers 3`, `webhook_endpoints{status="enabled"} 5`, `webhook_endpoints{status="failing"} 2`,
		`webhook_endpoints{status="disabled"} 1`, `webhook_endpoints{status="locked"} 0`,
		`rewards_waiting 12`, `rewards_ordered 3`, `intake_queue_depth 7`, `notional_today_dollars 1.23456789e+06`,
		`notional_limit_dollars +Inf`, `house_spending_today_dollars 0.59`, `house_spending_limit_dollars 100`,
		`budget_used_dollars{app="shop",budget="daily",period="day"} 12.5`,
		`budget_limit_dollars{app="shop",budget="daily",period="day"} 500`, `alarms{kind="price_in_doubt"} 2`, `alarms{kind="other"} 1`, `ready 1`, `books_readable 1`,
		`price_oldest_age_seconds 3`, `tls_certificate_not_after_timestamp_seconds 4e+09`,
		`build_info{goversion="go1",revision="abc",version="1"} 1`,
	} {
		if !strings.Contains(text, "\nstockrewards_"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	oldest := regexp.MustCompile(`(?m)^stockrewards_(?:reward_oldest_waiting_age|webhook_lag)_seconds (36\d\d\.)`)
	if len(oldest.FindAllString(text, -1)) != 2 || strings.Contains(text, "BREW") || strings.Contains(text, "01a1fdd5") {
		t.Error(text)
	}
}

// A store that cannot be read hides no other metric.
func TestMetricsWithoutTheStore(t *testing.T) {
	t.Parallel()
	w := busy(t)
	w.unread, w.unwrite = errors.New("disk"), errors.New("disk")
	status, text := w.get(t, "/metrics")
	for _, want := range []string{"books_readable 0", "ready 0", "intake_queue_depth 7"} {
		if status != 200 || !strings.Contains(text, "\nstockrewards_"+want+"\n") {
			t.Errorf("%d: %s is missing", status, want)
		}
	}
	if strings.Contains(text, "rewards_waiting") {
		t.Error("a metric of the store is present")
	}
}

// Names, types and help follow Prometheus' conventions.
func TestMetricsAreLinted(t *testing.T) {
	t.Parallel()
	_, text := busy(t).get(t, "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	check(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// The table in docs/monitor.md lists every metric with its labels.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/monitor.md")
	check(t, err)
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(stockrewards_[a-z_]+)(\\{[a-z, ]+\\})?` \\|").FindAllStringSubmatch(string(guide), -1) {
		documented = append(documented, row[1]+strings.ReplaceAll(row[2], " ", ""))
	}
	slices.Sort(documented)
	_, text := busy(t).get(t, "/metrics")
	var served []string
	for name, family := range families(t, text) {
		if !strings.HasPrefix(name, "stockrewards_") {
			continue
		}
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		served = append(served, name)
	}
	slices.Sort(served)
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Errorf("(-served +documented):\n%s", diff)
	}
	for _, path := range []string{"docs/monitor.md", "packaging/prometheus/alerts.yaml", "packaging/grafana/dashboard.json"} {
		content, err := os.ReadFile("../../" + path)
		check(t, err)
		used := regexp.MustCompile(`\b(?:stockrewards|process|go)_[a-z_]+`).FindAllString(string(content), -1)
		if len(used) < 10 {
			t.Errorf("%s has only %d metrics", path, len(used))
		}
		for _, metric := range used {
			name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, "")
			if !strings.Contains(text, "# TYPE "+name+" ") && !strings.HasSuffix(metric, "_") {
				t.Errorf("%s mentions %s, which does not exist", path, metric)
			}
		}
	}
}

// Counting a request allocates no memory.
func TestCountingARequestAllocatesNothing(t *testing.T) { //nolint:paralleltest // it measures
	m := newMetrics()
	if n := testing.AllocsPerRun(100, func() { m.Request("POST", "/v1/rewards", 201, false, time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
