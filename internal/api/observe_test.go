package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
)

// seen collects what Observe was told.
type seen struct {
	mu   sync.Mutex
	told []string
}

func (s *seen) observe(method, route string, status int, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf("%s %s %d", method, route, status))
}

// observed is a server of the world whose every answer is observed.
func observed(t *testing.T, w *world, record rewards.Recorder, s *seen) *httptest.Server {
	t.Helper()
	o := api.Options{
		Service:   rewards.NewService(w.store, record, w.prices, w.clock.now),
		CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler), Observe: s.observe,
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config, server.Listener = api.NewServer(o), api.Listener(server.Listener, o)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// Every answer is observed once, whoever made it.
func TestEveryAnswerIsObservedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.newApp(t)
	user := c.newUser(t)
	panics := recorderFunc(func(context.Context, rewards.NewReward) (rewards.Outcome, error) { panic("of a test") })
	for want, lines := range map[string]string{
		"GET /v1/assets 200":         "GET /v1/assets HTTP/1.1",
		"HEAD  404":                  "HEAD /v1//assets HTTP/1.1",
		"GET  404":                   "GET /nowhere HTTP/1.1",
		"GET /v1/users/{userId} 401": "GET /v1/users/x HTTP/1.1\r\nX-Api-Key: another",
		"DELETE /v1/assets 405":      "DELETE /v1/assets HTTP/1.1",
		"POST /v1/users 413":         "POST /v1/users HTTP/1.1\r\nContent-Length: 99999",
		"POST /v1/users 400":         "POST /v1/users HTTP/1.1\r\nContent-Length: 2",
		"POST /v1/users 415":         "POST /v1/users HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2",
		"GET /openapi.json 200":      "GET /openapi.json HTTP/1.1",
		"  400":                      "GET /%zz HTTP/1.1",
		"  400 of 431":               "GET /v1/assets HTTP/1.1\r\nX: " + strings.Repeat("x", 32<<10),
		"  400 of 417":               "GET /v1/assets HTTP/1.1\r\nExpect: much",
		"POST /v1/rewards 500":       "POST /v1/rewards HTTP/1.1\r\nContent-Length: " + fmt.Sprint(len(award(user))) + "\r\nConnection: close\r\n\r\n" + award(user) + "\r\n\r\nrest",
	} {
		s := &seen{}
		server := observed(t, w, panics, s)
		by := c
		by.base = server.URL
		if method, rest, found := strings.Cut(lines, "\r\nContent-Length: 99999"); found {
			by.post(t, "/v1/users", strings.Repeat(" ", 99_999)).wantStatus(t, http.StatusRequestEntityTooLarge)
			_, _ = method, rest
		} else if strings.Contains(want, "/v1/rewards 500") {
			by.post(t, "/v1/rewards", award(user)).wantStatus(t, http.StatusInternalServerError)
		} else {
			raw(t, by, lines)
		}
		server.Close()
		want, _, _ = strings.Cut(want, " of ")
		if diff := cmp.Diff([]string{want}, s.told); diff != "" {
			t.Errorf("%q (-want +got):\n%s", lines[:min(len(lines), 60)], diff)
		}
	}
}

// A client that goes away in the middle of its body is observed too.
func TestABrokenBodyIsObservedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.newApp(t)
	s := &seen{}
	server := observed(t, w, w.intake, s)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /v1/users HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+c.key+"\r\nContent-Length: 9\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close() // waits for the request
	if len(s.told) > 1 || len(s.told) == 1 && s.told[0] != "POST /v1/users 400" {
		t.Errorf("observed %v", s.told)
	}
}

// A request that takes too long is answered 503, and observed once.
func TestATimeOutIsObservedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.newApp(t)
	ended := recorderFunc(func(ctx context.Context, _ rewards.NewReward) (rewards.Outcome, error) {
		if deadline, bounded := ctx.Deadline(); !bounded || time.Until(deadline) > 25*time.Second {
			t.Error("the request is not bounded")
		}
		return rewards.Outcome{}, rewards.Unavailable("the request ended before its outcome was known", context.DeadlineExceeded)
	})
	s := &seen{}
	c.base = observed(t, w, ended, s).URL
	c.post(t, "/v1/rewards", award(unknownID)).wantStatus(t, http.StatusServiceUnavailable)
	if diff := cmp.Diff([]string{"POST /v1/rewards 503"}, s.told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The endpoints are the operations of the interface, nothing besides.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range api.Endpoints() {
		got = append(got, e.Method+" "+e.Route)
	}
	slices.Sort(got)
	want := []string{
		"GET /openapi.json", "GET /v1/assets", "GET /v1/rewards", "GET /v1/rewards/{rewardId}", "GET /v1/users",
		"GET /v1/users/{userId}", "GET /v1/users/{userId}/portfolio", "POST /v1/rewards", "POST /v1/users",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
