package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stall is a service that stalls at its first request, closes the connection at the second
// and refuses the third.
type stall struct{ asked atomic.Int64 }

func (s *stall) dial(context.Context) (net.Conn, error) {
	client, service := net.Pipe()
	go func() {
		defer service.Close()
		in := bufio.NewReader(service)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			status := "201 Created"
			switch s.asked.Add(1) {
			case 1:
				time.Sleep(550 * time.Millisecond)
			case 2:
				return
			case 3:
				status = "503 Service Unavailable\r\nConnection: close"
			}
			if _, err := io.WriteString(service, "HTTP/1.1 "+status+"\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
				return
			}
		}
	}()
	return client, nil
}

// TestOpenLoopMeasuresFromThePlannedTime: the stall delays the requests that are planned
// during it.
func TestOpenLoopMeasuresFromThePlannedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &generator{
			dial: new(stall).dial, head: "POST / HTTP/1.1\r\nHost: service.invalid\r\nContent-Length: ",
			users: []string{sampleID}, gap: 100 * time.Millisecond, total: 10,
		}
		g.run(t.Context(), 1)
		const ms = time.Millisecond
		if diff := cmp.Diff([]time.Duration{550 * ms, 450 * ms, 350 * ms, 250 * ms, 150 * ms, 50 * ms, 0, 0, 0, 0},
			g.took); diff != "" {
			t.Error(diff)
		}
		got := g.sum()
		if !strings.Contains(got.Error, io.EOF.Error()) {
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
