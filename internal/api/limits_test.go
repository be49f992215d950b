package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// limited is a client whose app may have one request under way, and has: for some
// seconds whatever else it sends is 429.
func (w *world) limited(t *testing.T) client {
	t.Helper()
	c := w.newApp(t)
	w.limit(t, c, rewards.Limits{Concurrent: 1})
	body, end := io.Pipe()
	held, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+"/v1/users", body)
	if err != nil {
		t.Fatal(err)
	}
	held.Header.Set("X-Api-Key", c.key)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if got, err := w.server.Client().Do(held); err == nil {
			_ = got.Body.Close()
		}
	}()
	t.Cleanup(func() {
		_ = end.CloseWithError(io.ErrUnexpectedEOF)
		<-done
	})
	if _, err := io.WriteString(end, "{"); err != nil {
		t.Fatal(err)
	}
	for c.get(t, "/v1/assets").status != http.StatusTooManyRequests {
		time.Sleep(time.Millisecond) // until the held request has entered
	}
	return c
}

func (w *world) limit(t *testing.T, c client, l rewards.Limits) {
	t.Helper()
	if _, err := w.store.SetLimits(t.Context(), c.app.Name, func(rewards.Limits) rewards.Limits { return l }); err != nil {
		t.Fatal(err)
	}
}

// Decisions, limits: 429 comes behind 401 and 403 and before 413, 415 and 400, with
// headers that say when to ask again; other apps notice nothing.
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
	stranger := c
	stranger.key = newSecret(t)
	stranger.get(t, "/v1/assets").wantStatus(t, http.StatusUnauthorized)
	if _, err := w.store.SetSuspended(t.Context(), c.app.Name, true); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(time.Second)
	c.get(t, "/v1/assets").wantStatus(t, http.StatusForbidden)
}

// A limit of requests per second is in force within a second of its change, for this
// app alone.
func TestLimitOfRequestsPerSecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.newApp(t), w.newApp(t)
	c.get(t, "/v1/assets").wantStatus(t, http.StatusOK) // the app is known
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

// A client that does not read a large answer is cut off when it makes no progress, long
// before the connection's own limit.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.newApp(t)
	user := c.newUser(t)
	metadata := `{"a":"` + strings.Repeat("x", 16<<10-8) + `"}`
	for i := range 200 {
		c.post(t, "/v1/rewards", award(user, "idempotencyKey", quote(fmt.Sprintf("large-%03d", i)), "metadata", metadata)).
			wantStatus(t, http.StatusCreated)
	}
	ask := func() (*net.TCPConn, *bufio.Reader) {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(c.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		tcp, _ := conn.(*net.TCPConn)
		fmt.Fprintf(tcp, "GET /v1/rewards?limit=200 HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nConnection: close\r\n\r\n", c.key)
		return tcp, bufio.NewReader(tcp)
	}
	reading, from := ask()
	defer reading.Close()
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || strconv.Itoa(len(body)) != answer.Header.Get("Content-Length") || len(body) < 3_200_000 {
		t.Errorf("a client that reads: %d bytes, %v", len(body), err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	lazy, _ := ask()
	defer lazy.Close()
	began := time.Now()
	for strings.Count(w.log.String(), `"route":"/v1/rewards","status":200`) < 2 {
		if took := time.Since(began); took > 20*time.Second {
			t.Fatalf("after %s the answer that is not read is still held", took)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
