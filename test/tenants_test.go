package test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// another is the same service for another app.
func (s *service) another(name string) *service {
	s.t.Helper()
	other := *s
	other.key = strings.TrimSpace(s.command("app", "create", name))
	return &other
}

// fill gives a user enough rewards for a list of 3.3 MB.
func (s *service) fill() {
	s.t.Helper()
	user, metadata := s.newUser("large"), strings.Repeat("x", 16_000)
	for i := range 200 {
		s.must(201, "POST", "/v1/rewards", fmt.Sprintf(
			`{"userId":%q,"idempotencyKey":"large-%03d","amountUsd":5,"assetSymbol":"KO","metadata":{"a":%q}}`, user, i, metadata))
	}
}

// unread requests large lists on many connections and reads no answer.
func (s *service) unread(connections int) {
	s.t.Helper()
	address := strings.TrimPrefix(s.url, "http://")
	for range connections {
		conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", address)
		noError(s.t, err)
		s.t.Cleanup(func() { _ = conn.Close() })
		const buffer = 4096                                               // otherwise the kernel buffers the answers
		if err := conn.(*net.TCPConn).SetReadBuffer(buffer); err != nil { //nolint:forcetypeassert // "tcp" says so
			s.t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /v1/rewards?limit=200 HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\n\r\n", address, s.key)
	}
}

// While a tenant does not read its answers, another one is served. internal/admission tests
// the limit on the memory of such answers.
func TestUnreadAnswersOfAnotherTenant(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	greedy := s.another("greedy")
	greedy.fill()
	const connections = 200 // the answers alone are 660 MB
	greedy.unread(connections)
	user := s.newUser("user")
	for i := range 150 {
		id := s.give(user, fmt.Sprintf("meanwhile-%03d", i), "5", "AAPL").ID
		s.must(200, "GET", "/v1/rewards/"+id, "")
		s.must(200, "GET", "/v1/rewards?limit=10", "")
		time.Sleep(20 * time.Millisecond)
	}
}

// A flooding tenant's requests are batched, and another tenant's are never refused. Limits
// that an operator sets stop the flood within a second.
func TestFloodOfAnotherTenant(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	admin := s.startWatched()
	flooding := s.another("flooding")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	statuses := make(map[int]int)
	var flood sync.WaitGroup
	for c := range 100 {
		flood.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a, err := flooding.request(ctx, "POST", "/v1/users", fmt.Sprintf(`{"externalId":"%d-%d"}`, c, n))
				if err != nil {
					return
				}
				mu.Lock()
				statuses[a.status]++
				mu.Unlock()
				if a.status == http.StatusTooManyRequests && (a.header.Get("Retry-After") == "" || a.header.Get("RateLimit-Limit") != "5") {
					t.Errorf("429 with the headers %v", a.header)
				}
				if a.status != http.StatusCreated {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	count := func(status int) int {
		mu.Lock()
		defer mu.Unlock()
		return statuses[status]
	}
	for i := range 30 {
		user := s.newUser(fmt.Sprint("user-", i))
		s.must(200, "GET", "/v1/users/"+user, "")
	}
	s.eventually("flood", time.Minute, func() bool { return count(201) > 1000 })
	s.command("app", "limits", "flooding", "--requests-per-second", "5")
	s.eventually("429", time.Minute, func() bool { return count(429) > 0 })
	before := count(429)
	for i := range 30 {
		s.newUser(fmt.Sprint("later-", i))
	}
	s.eventually("more of them", time.Minute, func() bool { return count(429) > before })
	stop()
	flood.Wait()
	requests, commits := metric(t, admin, "intake_batch_size_sum"), metric(t, admin, "intake_batch_size_count")
	if commits*2 > requests {
		t.Errorf("%v requests were stored in %v commits", requests, commits)
	}
	if len(statuses) != 2 {
		t.Errorf("the flood was answered %v, want 201 and then 429 too", statuses)
	}
	if !strings.Contains(s.logs(), `"address":"127.0.0.1"`) {
		t.Error("the log has no address")
	}
}
