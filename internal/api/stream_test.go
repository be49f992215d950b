package api_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/admission"
	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// eventStream reads server-sent events.
type eventStream struct {
	status int
	header http.Header
	lines  *bufio.Scanner
	close  func()
}

// stream connects to the stream of events.
func (c client) stream(t *testing.T, target, lastEventID string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+target, http.NoBody)
	check(t, err)
	r.Header.Set("X-Api-Key", c.key)
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	got, err := http.DefaultTransport.(*http.Transport).Clone().RoundTrip(r) //nolint:forcetypeassert // it is one
	check(t, err)
	s := &eventStream{status: got.StatusCode, header: got.Header, lines: bufio.NewScanner(got.Body), close: func() {
		cancel()
		_ = got.Body.Close()
	}}
	s.lines.Buffer(nil, 1<<20)
	t.Cleanup(s.close)
	return s
}

// next returns the fields of the next event, without comments, or nil at the end.
func (s *eventStream) next() map[string]string {
	fields := make(map[string]string)
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case s.lines.Text() == "" && len(fields) > 0:
			return fields
		case name != "" && !strings.HasPrefix(name, ":"):
			fields[name] = value
		}
	}
	return nil
}

// Section 4: the stream sends what the list has, as it comes, and resumes.
func TestEventStream(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	c.cancel(t, user)
	s := c.stream(t, "/v1/events/stream?types=reward.failed", "")
	if s.status != http.StatusOK || s.header.Get("Content-Type") != "text/event-stream" || s.header.Get("X-Request-Id") == "" {
		t.Fatalf("status %d, %v", s.status, s.header)
	}
	c.wantStreamed(t, s, 0)
	c.cancel(t, user)
	second := c.wantStreamed(t, s, 2) // a cancel has two events
	c.cancel(t, user)
	c.wantStreamed(t, c.stream(t, "/v1/events/stream", second), 3)
	c.wantStreamed(t, c.stream(t, "/v1/events/stream?after="+second, ""), 3)
	c.wantStreamed(t, c.stream(t, "/v1/events/stream?after=1", second), 3)
	for _, bad := range []string{"x", "-1", "1.5"} {
		if got := c.stream(t, "/v1/events/stream", bad).status; got != http.StatusBadRequest {
			t.Errorf("Last-Event-ID %s: status %d", bad, got)
		}
	}
}

// wantStreamed reads the n-th event of the app, and returns its sequence.
func (c client) wantStreamed(t *testing.T, s *eventStream, n int) (sequence string) {
	t.Helper()
	e := s.next()
	list := c.get(t, "/v1/events")
	want, ok := list.at(t, "events", n).(object)
	if !ok || e["event"] != list.text(t, "events", n, "type") || !strings.Contains(string(list.body), e["data"]) ||
		!strings.Contains(e["data"], list.text(t, "events", n, "id")) || len(e) != 3 {
		t.Fatalf("streamed %v, want %v", e, want)
	}
	return e["id"]
}

// A stream ends within seconds when its key is revoked or its app suspended.
func TestAStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(client) error{
		"revoked":   func(c client) error { return c.world.store.RevokeKey(t.Context(), c.keyID) },
		"suspended": func(c client) error { _, err := c.world.store.SetSuspended(t.Context(), c.app.Name, true); return err },
	} {
		c := newApp(t)
		s := c.stream(t, "/v1/events/stream", "")
		check(t, end(c))
		if e := s.next(); e != nil {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// It also ends while there is more to send than the client has read.
func TestAStreamEndsBeforeItsBacklog(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	const events = 400 // of 15 kB: far more than the sockets take
	for _, id := range c.giveMany(t, user, events, `{"p":"`+strings.Repeat("x", 15_000)+`"}`) {
		_, _, err := c.world.store.ReverseReward(t.Context(), parseID[rewards.Reward](t, id), 0, "of a test")
		check(t, err)
	}
	s := c.stream(t, "/v1/events/stream?types=reward.failed", "")
	s.next()
	check(t, c.world.store.RevokeKey(t.Context(), c.keyID))
	time.Sleep(1500 * time.Millisecond) // the key is checked once a second
	sent := 1
	for s.next() != nil {
		sent++
	}
	if sent == events {
		t.Errorf("all %d events were sent", sent)
	}
}

// Streams and requests that wait end at once when the service drains.
func TestDrainingEndsFollowers(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	served, statuses := make(chan struct{}, 2), make(chan int)
	handler := w.server.Config.Handler
	w.server.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		served <- struct{}{} // from here on the request is answered: net/http drops what it reads while it shuts down
		handler.ServeHTTP(out, r)
	})
	go func() {
		got, _ := c.try(t, request{method: http.MethodGet, target: "/v1/events?wait=20"})
		statuses <- got.status // 0 after an error
	}()
	<-served
	s := c.stream(t, "/v1/events/stream", "")
	began := time.Now()
	check(t, w.server.Config.Shutdown(t.Context()))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("draining took %s", took)
	}
	if e := s.next(); e != nil {
		t.Errorf("streamed %v", e)
	}
	if got := <-statuses; got != http.StatusOK {
		t.Errorf("status %d", got)
	}
}

// An app has a bounded number of streams; beyond it the answer is 429.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	_, c := newWorldWithApp(t)
	const most = 128
	var all []*eventStream
	for range most {
		s := c.stream(t, "/v1/events/stream", "")
		if s.status != http.StatusOK {
			t.Fatalf("stream %d: status %d", len(all), s.status)
		}
		all = append(all, s)
	}
	c.get(t, "/v1/events?wait=1").wantError(t, http.StatusTooManyRequests, "forbidden", nil)
	c.get(t, "/v1/events").wantStatus(t, http.StatusOK)
	for _, s := range all {
		s.close()
	}
}

// brokenFeed is a store that panics when the second page of a stream is read.
type brokenFeed struct {
	*store.Operator
	pages *atomic.Int64
}

func (s brokenFeed) EventsAfter(
	ctx context.Context, app rewards.AppID, after int64, types rewards.EventTypes, limit int,
) (page rewards.EventPage, err error) {
	if s.pages.Add(1)%2 == 0 {
		panic("a defect")
	}
	page, err = s.Operator.EventsAfter(ctx, app, after, types, limit)
	page.More = true
	return page, err
}

// A defect ends a stream, and leaves none of the app's places taken.
func TestABrokenStreamLeavesItsPlace(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	gate := admission.New()
	server := start(api.Options{
		Service:   rewards.NewService(brokenFeed{w.store, new(atomic.Int64)}, w.intake, w.prices, w.clock.now),
		CursorKey: w.cursorKey, Log: slog.New(slog.NewJSONHandler(w.log, nil)), RequestLog: w.log, Gate: gate,
	})
	c.base = server.URL
	for n := range 9 {
		s := c.stream(t, "/v1/events/stream", "")
		if s.status != http.StatusOK || s.next() != nil {
			t.Errorf("stream %d: status %d", n, s.status)
		}
		s.close()
	}
	c.get(t, "/v1/rewards").wantStatus(t, http.StatusOK)
	server.Close() // waits for the connections
	if n := gate.Followers(); n > 0 {
		t.Errorf("%d followers are left", n)
	}
}

// A client that does not read is cut off, and finds the events in the log later.
func TestASlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	const events = 250 // 4 MB, more than the kernel buffers
	for _, id := range c.giveMany(t, user, events, `{"x":"`+strings.Repeat("x", rewards.MaxMetadataBytes-8)+`"}`) {
		_, _, err := c.world.store.ReverseReward(t.Context(), parseID[rewards.Reward](t, id), 0, "of a test")
		check(t, err)
	}
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 8<<10) })
	}}
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(c.base, "http://"))
	check(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow-reader\r\nX-Api-Key: " + c.key + "\r\n\r\n"))
	check(t, err)
	began := time.Now()
	for !strings.Contains(c.world.log.String(), `"request_id":"slow-reader"`) {
		c.get(t, "/v1/events?wait=1&after=9007199254740991")
		if time.Since(began) > 20*time.Second {
			t.Fatal("the stream goes on")
		}
	}
}

// A request may wait for 20 seconds, longer than it may take to arrive. A stream has no end, and a comment after
// 15 seconds without an event, whatever other apps do. Both notice that the client has gone.
func TestFollowersOutliveTheLimitsOfRequests(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	busy := w.newApp(t)
	const comments = 20
	theirs := busy.giveMany(t, busy.newUser(t), comments, `{}`)
	synctest.Test(t, func(t *testing.T) {
		gate := admission.New()
		o := api.Options{
			Service:   rewards.NewService(w.store, w.intake, w.prices, time.Now),
			CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler), Gate: gate,
		}
		connections := pipes(make(chan net.Conn))
		server := api.NewServer(o)
		go func() { _ = server.Serve(api.Listener(connections, o)) }()
		defer server.Close()
		conn := connections.dial()
		answers := bufio.NewReader(conn)
		ask := func(target string) *http.Response {
			_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n\r\n", target, c.key)
			check(t, err)
			got, err := http.ReadResponse(answers, nil)
			check(t, err)
			return got
		}
		for range 2 {
			began := time.Now()
			got := ask("/v1/events?wait=20")
			if took := time.Since(began); got.StatusCode != http.StatusOK || took < 20*time.Second || took > 21*time.Second || got.Close {
				t.Errorf("status %d after %s, closes: %t", got.StatusCode, took, got.Close)
			}
			check(t, got.Body.Close())
		}
		got := ask("/v1/events/stream")
		began, lines := time.Now(), bufio.NewScanner(got.Body)
		for n := range comments {
			_, _, err := w.store.ReverseReward(t.Context(), parseID[rewards.Reward](t, theirs[n]), 0, "of a test")
			check(t, err)
			for lines.Scan() && lines.Text() != ":" {
			}
			want := time.Duration(n) * 15 * time.Second
			if after := time.Since(began); after < want || after > want+3*time.Second {
				t.Errorf("comment %d after %s", n, after)
			}
		}
		check(t, conn.Close())
		synctest.Wait()
		ended := make(chan struct{})
		go func() { check(t, server.Shutdown(t.Context())); close(ended) }()
		<-ended
	})
}
