package api_test

import (
	"context"
	"fmt"
	"log/slog"
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

// observations collects the calls of Observe.
type observations struct {
	mu   sync.Mutex
	list []string
}

func (s *observations) observe(method, route string, status int, appFault bool, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := fmt.Sprintf("%s %s %d", method, route, status)
	if appFault {
		seen += ", the app's fault"
	}
	s.list = append(s.list, seen)
}

// observed starts a server that observes every response.
func observed(t *testing.T, w *world, record rewards.Recorder, s *observations) *httptest.Server {
	t.Helper()
	server := start(api.Options{
		Service:   rewards.NewService(w.store, record, w.prices, w.clock.now),
		CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler), Observe: s.observe,
	})
	t.Cleanup(server.Close)
	return server
}

// Every response is observed once, including those of net/http.
func TestEveryResponseIsObservedOnce(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	w := c.world
	user := c.newUser(t)
	panics := recorderFunc(func(context.Context, rewards.NewReward) (rewards.Outcome, error) { panic("a test") })
	for want, lines := range map[string]string{
		"GET /v1/assets 200":         "GET /v1/assets HTTP/1.1",
		"HEAD  404":                  "HEAD /v1//assets HTTP/1.1",
		"GET  404":                   "GET /nowhere HTTP/1.1",
		"GET /v1/users/{userId} 401": "GET /v1/users/x HTTP/1.1\r\nX-Api-Key: another",
		"DELETE /v1/assets 405":      "DELETE /v1/assets HTTP/1.1",
		"POST /v1/users 413":         "",
		"POST /v1/users 400":         "POST /v1/users HTTP/1.1\r\nContent-Length: 2",
		"POST /v1/users 415":         "POST /v1/users HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2",
		"GET /openapi.json 200":      "GET /openapi.json HTTP/1.1",
		"  400":                      "GET /%zz HTTP/1.1",
		"  400 of 431":               "GET /v1/assets HTTP/1.1\r\nX: " + strings.Repeat("x", 32<<10),
		"  400 of 417":               "GET /v1/assets HTTP/1.1\r\nExpect: much",
		"POST /v1/rewards 500":       "",
	} {
		s := &observations{}
		server := observed(t, w, panics, s)
		by := c
		by.base = server.URL
		switch {
		case strings.HasSuffix(want, " 413"):
			by.post(t, "/v1/users", strings.Repeat(" ", 99_999)).wantStatus(t, http.StatusRequestEntityTooLarge)
		case strings.HasSuffix(want, " 500"):
			by.post(t, "/v1/rewards", award(user)).wantStatus(t, http.StatusInternalServerError)
		default:
			raw(t, by, lines)
		}
		server.Close()
		want, _, _ = strings.Cut(want, " of ")
		if diff := cmp.Diff([]string{want}, s.list); diff != "" {
			t.Errorf("%q (-want +got):\n%s", lines[:min(len(lines), 60)], diff)
		}
	}
}

// A client that disconnects in the middle of its body is observed too.
func TestABrokenBodyIsObservedOnce(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	w := c.world
	s := &observations{}
	server := observed(t, w, w.intake, s)
	conn := dial(t, server.URL, "POST /v1/users HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+c.key+"\r\nContent-Length: 9\r\n\r\n{")
	check(t, conn.Close())
	server.Close() // waits until the request has ended
	if len(s.list) > 1 || len(s.list) == 1 && s.list[0] != "POST /v1/users 400" {
		t.Errorf("observed %v", s.list)
	}
}

// A request that takes too long gets 503 and is observed once.
func TestATimeoutIsObservedOnce(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	w := c.world
	ended := recorderFunc(func(ctx context.Context, _ rewards.NewReward) (rewards.Outcome, error) {
		if deadline, bounded := ctx.Deadline(); !bounded || time.Until(deadline) > 25*time.Second {
			t.Error("the request is not bounded")
		}
		return rewards.Outcome{}, rewards.Unavailable("the request ended before its outcome was known", context.DeadlineExceeded)
	})
	s := &observations{}
	c.base = observed(t, w, ended, s).URL
	c.post(t, "/v1/rewards", award(unknownID)).wantStatus(t, http.StatusServiceUnavailable)
	if diff := cmp.Diff([]string{"POST /v1/rewards 503"}, s.list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A client that disconnects while it waits is no failure of the service: operators count and page those.
func TestAWaitThatItsClientEnds(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	var s observations
	server := observed(t, w, nil, &s)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v1/events?wait=20", http.NoBody)
	check(t, err)
	r.Header.Set("X-Api-Key", c.key)
	time.AfterFunc(time.Second, cancel)
	if answer, err := http.DefaultClient.Do(r); err == nil {
		t.Errorf("it was answered with %d", answer.StatusCode)
		_ = answer.Body.Close()
	}
	server.Close() // waits for the handler
	if want := []string{"GET /v1/events 499"}; !slices.Equal(s.list, want) {
		t.Errorf("observed %q, want %q", s.list, want)
	}
}
