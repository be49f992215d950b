package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
)

// A request gets 503 after 25 seconds, whatever the age of its connection, which then closes.
func TestRequestsExpire(t *testing.T) {
	t.Parallel()
	const limit = 25 * time.Second
	w, c := newWorldWithApp(t)
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration // how long the recorder worked, at most until its context ends
		var ended error        // the error of the last context
		waits := recorderFunc(func(ctx context.Context, _ rewards.NewReward) (rewards.Outcome, error) {
			select {
			case <-ctx.Done():
				ended = ctx.Err()
				return rewards.Outcome{}, rewards.Unavailable("ended", ctx.Err())
			case <-time.After(took):
				return rewards.Outcome{Verdict: rewards.Created}, nil
			}
		})
		conn := w.connect(t, waits)
		answers := bufio.NewReader(conn)
		send := func() time.Time {
			body := award(unknownID)
			_, err := fmt.Fprintf(conn, "POST /v1/rewards HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s", c.key, len(body), body)
			check(t, err)
			return time.Now()
		}
		for _, step := range []struct {
			took, want time.Duration
			status     int
		}{{20 * time.Second, 20 * time.Second, 201}, {limit - 1, limit - 1, 201}, {time.Hour, limit, 503}} {
			took = step.took
			began := send()
			answer, err := http.ReadResponse(answers, nil)
			check(t, err)
			check(t, answer.Body.Close())
			closes := answer.StatusCode == http.StatusServiceUnavailable
			if after := time.Since(began); answer.StatusCode != step.status || after != step.want || answer.Close != closes {
				t.Errorf("status %d after %s, closes: %t; want %d after %s", answer.StatusCode, after, answer.Close, step.status, step.want)
			}
		}
		if !errors.Is(ended, context.DeadlineExceeded) {
			t.Errorf("at the deadline: %v", ended)
		}
	})
}

// connect returns a connection to a server of the world whose awards r records, until the test ends.
func (w *world) connect(t *testing.T, r rewards.Recorder) net.Conn {
	t.Helper()
	connections, o := pipes(make(chan net.Conn)), api.Options{
		Service:   rewards.NewService(w.store, r, w.prices, w.clock.now),
		CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler),
	}
	server := api.NewServer(o)
	go func() { _ = server.Serve(api.Listener(connections, o)) }()
	t.Cleanup(func() { check(t, server.Close()) })
	return connections.dial()
}

// connect returns a connection to a server whose requests h handles, until the test ends.
func connect(t *testing.T, h http.HandlerFunc) net.Conn {
	t.Helper()
	connections, o := pipes(make(chan net.Conn)), api.Options{Log: slog.New(slog.DiscardHandler)}
	server := api.NewServer(o)
	api.Front(server, h)
	go func() { _ = server.Serve(api.Listener(connections, o)) }()
	t.Cleanup(func() { check(t, server.Close()) })
	return connections.dial()
}

// A body that does not arrive in time is not the client's mistake: the answer asks it to try again.
func TestASlowBody(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	synctest.Test(t, func(t *testing.T) {
		conn := w.connect(t, nil)
		_, err := fmt.Fprintf(conn, "POST /v1/rewards HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: 9\r\n\r\n{", c.key)
		check(t, err)
		began := time.Now()
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		check(t, err)
		body, err := io.ReadAll(got.Body)
		check(t, err)
		if took := time.Since(began); got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" ||
			took > 20*time.Second || !strings.Contains(string(body), "the body did not arrive within 15 seconds") {
			t.Errorf("after %s: %d %s %s", took, got.StatusCode, got.Header, body)
		}
	})
}

// A client that disconnects ends its reading at once. What it sent with a body goes on to its end.
func TestClientsDisconnect(t *testing.T) {
	t.Parallel()
	const takes, leaves = 5 * time.Second, time.Second
	for request, want := range map[string]time.Duration{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                         leaves,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}": takes,
	} {
		synctest.Test(t, func(t *testing.T) {
			var took time.Duration
			conn := connect(t, func(_ http.ResponseWriter, r *http.Request) {
				began := time.Now()
				_, err := io.Copy(io.Discard, r.Body)
				check(t, err)
				select {
				case <-r.Context().Done():
				case <-time.After(takes):
				}
				took = time.Since(began)
			})
			_, err := io.WriteString(conn, request)
			check(t, err)
			time.Sleep(leaves)
			check(t, conn.Close())
			time.Sleep(takes)
			synctest.Wait()
			if took != want {
				t.Errorf("%.4s ended after %s, want %s", request, took, want)
			}
		})
	}
}

// Requests that a client sends without waiting for the answers to those before them are answered in their order, with
// bodies and without, with headers longer than what is read at once, however their bytes arrive.
func TestPipelinedRequests(t *testing.T) {
	t.Parallel()
	each := "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}" +
		"GET /b HTTP/1.1\r\nHost: x\r\n\r\n" +
		"PATCH /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n" +
		"POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nX-Long: " + strings.Repeat("x", 5000) + "\r\n\r\n."
	for _, size := range []int{1, 3, 1000} {
		synctest.Test(t, func(t *testing.T) {
			conn := connect(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				check(t, err)
				time.Sleep(time.Second) // what comes next arrives meanwhile
				_, err = fmt.Fprint(w, r.Method, r.URL.Path, string(body))
				check(t, err)
			})
			go func() {
				for part := range slices.Chunk([]byte(each+each), size) {
					_, _ = conn.Write(part) // a failure shows as a missing answer
				}
			}()
			answers := bufio.NewReader(conn)
			for _, want := range []string{"POST/a{}", "GET/b", "PATCH/c{}", "POST/d.", "POST/a{}", "GET/b", "PATCH/c{}", "POST/d."} {
				answer, err := http.ReadResponse(answers, nil)
				check(t, err)
				got, err := io.ReadAll(answer.Body)
				check(t, err)
				if string(got) != want {
					t.Errorf("parts of %d bytes: %q, want %q", size, got, want)
				}
			}
		})
	}
}
