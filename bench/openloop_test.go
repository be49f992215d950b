package main

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stall is a service that stalls at its first request and fails the next two.
type stall struct{ asked atomic.Int64 }

func (s *stall) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusCreated
	switch s.asked.Add(1) {
	case 1:
		time.Sleep(550 * time.Millisecond)
	case 2:
		return nil, io.ErrUnexpectedEOF
	case 3:
		status = http.StatusServiceUnavailable
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// TestOpenLoopMeasuresFromThePlannedTime: the stall delays the requests that are planned
// during it.
func TestOpenLoopMeasuresFromThePlannedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &generator{
			client: client{url: "http://service.invalid", http: &http.Client{Transport: &stall{}}},
			users:  []string{sampleID}, gap: 100 * time.Millisecond, total: 10,
		}
		g.run(t.Context(), 1)
		const ms = time.Millisecond
		if diff := cmp.Diff([]time.Duration{550 * ms, 450 * ms, 350 * ms, 250 * ms, 150 * ms, 50 * ms, 0, 0, 0, 0},
			g.took); diff != "" {
			t.Error(diff)
		}
		got := g.sum()
		if !strings.Contains(got.Error, io.ErrUnexpectedEOF.Error()) {
			t.Errorf("the error is %q", got.Error)
		}
		got.Error = ""
		want := offered{
			Requests: 10, Took: 900 * ms, Statuses: map[string]int{"201": 8, "503": 1, "error": 1},
			P50: 50 * ms, P99: 550 * ms, Max: 550 * ms, Late: 450 * ms,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
