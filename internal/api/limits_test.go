package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
)

// limited is a client whose app may have one request in flight and has one, so that
// every other request is 429.
func (w *world) limited(t *testing.T) client {
	t.Helper()
	c := w.newApp(t)
	w.limit(t, c, rewards.Limits{Concurrent: 1})
	var end *io.PipeWriter
	var done chan struct{}
	hold := func() {
		rest, writer := io.Pipe()
		held, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+"/v1/users",
			io.MultiReader(strings.NewReader("{"), rest))
		check(t, err)
		held.Header.Set("X-Api-Key", c.key)
		end, done = writer, make(chan struct{})
		go func(done chan struct{}) {
			defer close(done)
			if got, err := w.server.Client().Do(held); err == nil {
				_ = got.Body.Close()
			}
		}(done)
	}
	t.Cleanup(func() {
		_ = end.CloseWithError(io.ErrUnexpectedEOF)
		<-done
	})
	hold()
	for c.get(t, "/v1/assets").status != http.StatusTooManyRequests {
		select {
		case <-done: // a probe had the only place when the held request came
			hold()
		case <-time.After(time.Millisecond): // until it is admitted
		}
	}
	return c
}

func (w *world) limit(t *testing.T, c client, l rewards.Limits) {
	t.Helper()
	_, err := w.store.SetLimits(t.Context(), c.app.Name, func(rewards.Limits) rewards.Limits { return l })
	check(t, err)
}

// Decisions, limits: 429 comes after 401 and 403 and before 413, 415 and 400, with
// headers that say when to retry; other apps are unaffected.
func TestLimitOfRequestsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.limited(t), w.newApp(t)
	huge, text := strings.Repeat("{", 64<<10+1), http.Header{"Content-Type": {"text/plain"}}
	for name, r := range map[string]request{
		"size":       {method: "POST", target: "/v1/rewards", body: huge, header: text},
		"type":       {method: "POST", target: "/v1/users", body: "{", header: text},
		"parameters": {method: "GET", target: "/v1/rewards?limit=0"},
		"id":         {method: "GET", target: "/v1/users/x/portfolio"},
	} {
		a := c.send(t, r).wantError(t, http.StatusTooManyRequests, "forbidden", nil)
		for header, want := range map[string]string{
			"Retry-After": "1", "Ratelimit-Limit": "1", "Ratelimit-Remaining": "0", "Ratelimit-Reset": "1",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("429 before the %s: %s is %q, want %q", name, header, got, want)
			}
		}
	}
	other.get(t, "/v1/assets").wantStatus(t, http.StatusOK)
	c.send(t, request{method: "PUT", target: "/v1/rewards"}).wantStatus(t, http.StatusMethodNotAllowed)
	stranger := c.stranger(t)
	stranger.get(t, "/v1/assets").wantStatus(t, http.StatusUnauthorized)
	c.suspend(t, true)
	w.clock.advance(time.Second)
	c.get(t, "/v1/assets").wantStatus(t, http.StatusForbidden)
}

// A limit of requests per second takes effect within a second, for this app alone.
func TestLimitOfRequestsPerSecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.newApp(t), w.newApp(t)
	c.get(t, "/v1/assets").wantStatus(t, http.StatusOK) // caches the app
	w.limit(t, c, rewards.Limits{RequestsPerSecond: 2})
	w.clock.advance(time.Second)
	refused := 0
	for began := time.Now(); refused == 0 && time.Since(began) < time.Minute; {
		a := c.get(t, "/v1/assets")
		if refused = a.status; refused == http.StatusOK {
			refused = 0
			continue
		}
		a.wantError(t, http.StatusTooManyRequests, "forbidden", nil)
		if limit, wait := a.header.Get("Ratelimit-Limit"), a.header.Get("Retry-After"); limit != "2" || wait != "1" {
			t.Errorf("RateLimit-Limit %q, Retry-After %q", limit, wait)
		}
	}
	if refused == 0 {
		t.Error("the app is never refused")
	}
	for range 20 {
		other.get(t, "/v1/assets").wantStatus(t, http.StatusOK)
	}
	w.limit(t, c, rewards.Limits{})
	w.clock.advance(time.Second)
	for range 20 {
		c.get(t, "/v1/assets").wantStatus(t, http.StatusOK)
	}
}

// A client that does not read a large response is cut off after five seconds without
// progress, long before the server's own limit. The time is fake and the connections are
// pipes without a buffer, so a busy machine cannot cut off the client that reads.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	c.giveMany(t, c.newUser(t), 200, `{"a":"`+strings.Repeat("x", 16<<10-8)+`"}`)
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		connections := pipes(make(chan net.Conn))
		server := api.NewServer(api.Options{Service: w.service, CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler), RequestLog: log})
		go func() { _ = server.Serve(connections) }()
		defer server.Close()
		ask := func() net.Conn {
			conn := connections.dial()
			go fmt.Fprintf(conn, "GET /v1/rewards?limit=200 HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nConnection: close\r\n\r\n", c.key)
			return conn
		}
		reading := ask()
		answer, err := http.ReadResponse(bufio.NewReader(reading), nil)
		check(t, err)
		body, err := io.ReadAll(answer.Body)
		if err != nil || strconv.Itoa(len(body)) != answer.Header.Get("Content-Length") || len(body) < 3_200_000 {
			t.Errorf("a client that reads: %d bytes, %v", len(body), err)
		}
		check(t, errors.Join(answer.Body.Close(), reading.Close()))
		defer ask().Close()
		for _, step := range []struct {
			after    time.Duration
			answered int
		}{{5*time.Second - 1, 1}, {2, 2}} {
			time.Sleep(step.after)
			synctest.Wait()
			if got := strings.Count(log.String(), `"route":"/v1/rewards","status":200`); got != step.answered {
				t.Errorf("after another %s: %d responses have ended, want %d", step.after, got, step.answered)
			}
		}
	})
}

// pipes is a listener of connections in memory.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	conn, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements net.Listener.
func (p pipes) Close() error { close(p); return nil }

// Addr implements net.Listener.
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial() net.Conn {
	client, server := net.Pipe()
	p <- server
	return client
}
