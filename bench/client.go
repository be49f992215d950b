package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client sends requests with an app's key.
type client struct {
	url, key string
	http     *http.Client
}

// newClient returns a client with a limit of connections.
func newClient(url, key string, connections int) client {
	const patience = time.Minute
	return client{url: url, key: key, http: &http.Client{Timeout: patience, Transport: &http.Transport{
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections,
	}}}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (c client) send(ctx context.Context, method, path, body string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("X-Api-Key", c.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	content, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	return answer{response.StatusCode, response.Header, content}, err
}

// must sends a request, checks the status of its answer and decodes it.
func (c client) must(ctx context.Context, status int, method, path, body string, into any) error {
	got, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	if got.status != status {
		return fmt.Errorf("%s %s: %d %s, want %d", method, path, got.status, got.body, status)
	}
	return json.Unmarshal(got.body, into)
}

// metrics are the values of /metrics by series, such as
// `stockrewards_rewards_total{status="executed"}`.
type metrics map[string]float64

func readMetrics(ctx context.Context, admin string) (metrics, error) {
	got, err := client{url: admin, http: http.DefaultClient}.send(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK {
		return nil, fmt.Errorf("%s/metrics: %d %s", admin, got.status, got.body)
	}
	return parseMetrics(string(got.body))
}

func parseMetrics(text string) (metrics, error) {
	m := metrics{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			return nil, fmt.Errorf("metrics: %q: must be a series and a value", line)
		}
		value, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", line, err)
		}
		m[line[:i]] = value
	}
	return m, nil
}

// rewards returns how many rewards reached a status since the process started.
func (m metrics) rewards(status string) int {
	return int(m[`stockrewards_rewards_total{status="`+status+`"}`])
}

// backlog returns how many rewards were recorded since the process started and are not
// final.
func (m metrics) backlog() int {
	return m.rewards("recorded") - m.rewards("executed") - m.rewards("failed")
}

// idle reports whether no reward waits or is executing. The counters are current, the
// gauges can be a second old.
func (m metrics) idle() bool {
	return m.backlog() <= 0 && m["stockrewards_rewards_waiting"] == 0 && m["stockrewards_rewards_ordered"] == 0
}

// statuses returns the number of the API's answers since before, by status.
func (m metrics) statuses(before metrics) map[string]int {
	sums := map[string]int{}
	for series, value := range m {
		if !strings.HasPrefix(series, "stockrewards_http_requests_total{") {
			continue
		}
		_, status, _ := strings.Cut(series, `status="`)
		status, _, _ = strings.Cut(status, `"`)
		if n := int(value - before[series]); n != 0 {
			sums[status] += n
		}
	}
	return sums
}
