package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseOutcome(t *testing.T) {
	t.Parallel()
	const output = `Running 1s test @ http://127.0.0.1:1
  2 threads and 64 connections
Requests/sec:   1000.00

RESULT requests=3000 us=3000400 p50=700 p99=13780 max=20000 status=1 socket=2 timeout=3 ` +
		"created=4 refused=5 unadvised=6 other=7\n"
	got, err := parseOutcome(output)
	if err != nil {
		t.Fatal(err)
	}
	want := outcome{
		Requests: 3000, Took: 3_000_400 * time.Microsecond, P50: 700 * time.Microsecond,
		P99: 13_780 * time.Microsecond, Max: 20 * time.Millisecond, Refused: 1, Socket: 2, Timeouts: 3,
		Counted: counted{Created: 4, Unavailable: 5, Unadvised: 6, Other: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rate := got.rate(); rate < 999 || rate > 1000 {
		t.Errorf("the rate is %f", rate)
	}
	for name, broken := range map[string]string{
		"no result":  "unable to connect",
		"cut":        "\nRESULT requests=3 us=",
		"no request": strings.Replace(output, "requests=3000", "requests=0", 1),
	} {
		if _, err := parseOutcome(broken); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestProcess measures the test itself, and a process that does not exist.
func TestProcess(t *testing.T) {
	t.Parallel()
	for used := int64(0); used < 40*time.Millisecond.Nanoseconds(); { // some ticks of the kernel
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			t.Fatal(err)
		}
		used = usage.Utime.Nano() + usage.Stime.Nano()
	}
	if used, err := cpuTime(os.Getpid()); err != nil || used <= 0 || used > time.Hour {
		t.Errorf("CPU time %v, %v", used, err)
	}
	if now, peak, err := memory(os.Getpid()); err != nil || now < 1<<20 || peak < now {
		t.Errorf("memory %d, peak %d, %v", now, peak, err)
	}
	const missing = 1 << 30
	if _, err := cpuTime(missing); err == nil {
		t.Error("CPU time of a missing process")
	}
}

func TestParseMetrics(t *testing.T) {
	t.Parallel()
	before, err := parseMetrics("# HELP x y\n" +
		"stockrewards_http_requests_total{method=\"POST\",route=\"/v1/rewards\",status=\"201\"} 5\n")
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseMetrics(`# TYPE stockrewards_rewards_total counter
stockrewards_rewards_total{status="executed"} 10
stockrewards_rewards_total{status="failed"} 2
stockrewards_rewards_total{status="recorded"} 1.5e+01
stockrewards_rewards_ordered 0
stockrewards_rewards_waiting 0
stockrewards_http_requests_total{method="GET",route="/v1/rewards",status="200"} 3
stockrewards_http_requests_total{method="POST",route="/v1/rewards",status="201"} 9
stockrewards_http_requests_total{method="POST",route="/v1/users",status="201"} 1
stockrewards_notional_limit_dollars +Inf
`)
	if err != nil {
		t.Fatal(err)
	}
	if after.backlog() != 3 || after.idle() {
		t.Errorf("the backlog is %d, idle: %t", after.backlog(), after.idle())
	}
	if diff := cmp.Diff(map[string]int{"200": 3, "201": 5}, after.statuses(before)); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"lonely\n", "a b\n"} {
		if _, err := parseMetrics(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	for series, want := range map[string]bool{
		"stockrewards_rewards_waiting": false, "stockrewards_rewards_ordered": false,
		`stockrewards_rewards_total{status="recorded"}`: false, "another": true,
	} {
		if (metrics{series: 1}).idle() != want {
			t.Errorf("%s: idle %t", series, !want)
		}
	}
}

func TestExpected(t *testing.T) {
	t.Parallel()
	c := benchCase{status: "201", connections: 2}
	for _, good := range []map[string]int{{"201": 5}, {"201": 5, "499": 4}} {
		if err := expected(good, c); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []map[string]int{{}, {"499": 1}, {"201": 5, "499": 5}, {"201": 5, "503": 1}, {"201": 5, "400": 1}, {"200": 5}} {
		if expected(bad, c) == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

func TestNextPage(t *testing.T) {
	t.Parallel()
	if got := nextPage(`</v1/users?cursor=abc&limit=200>; rel="next"`); got != "/v1/users?cursor=abc&limit=200" {
		t.Error(got)
	}
	if got := nextPage(""); got != "" {
		t.Error(got)
	}
}
