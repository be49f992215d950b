package api_test

import (
	"bufio"
	"fmt"
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

// An app that has all its places with bodies that do not come makes its other requests wait. Who leaves meanwhile is
// counted apart and not logged; the others get 503, which counts as the app's fault and is no error of the service.
func TestWhatAnAppDoesToItself(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	synctest.Test(t, func(t *testing.T) {
		var s observations
		var log lines
		connections, o := pipes(make(chan net.Conn)), api.Options{
			Service: rewards.NewService(w.store, nil, w.prices, w.clock.now), CursorKey: w.cursorKey,
			Log: slog.New(slog.NewJSONHandler(&log, nil)), Observe: s.observe,
		}
		server := api.NewServer(o)
		go func() { _ = server.Serve(api.Listener(connections, o)) }()
		defer func() { check(t, server.Close()) }()
		send := func(length int) net.Conn {
			conn := connections.dial()
			_, err := fmt.Fprintf(conn, "POST /v1/rewards/batches HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n",
				c.key, length)
			check(t, err)
			synctest.Wait()
			return conn
		}
		wants503 := func(conn net.Conn) {
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			check(t, err)
			check(t, answer.Body.Close())
			if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
				t.Errorf("answered with %d %v", answer.StatusCode, answer.Header)
			}
		}
		first, second := send(4_000_000), send(4_000_000)
		leaves, waits := send(0), send(0)
		time.Sleep(time.Second)
		check(t, leaves.Close())
		wants503(waits)
		wants503(first)
		wants503(second)
		time.Sleep(time.Second) // until net/http has closed them
		const batch = "POST /v1/rewards/batches "
		if want := []string{
			batch + "499", batch + "503, the app's fault", batch + "503, the app's fault", batch + "503, the app's fault",
		}; !slices.Equal(s.list, want) {
			t.Errorf("observed %q, want %q", s.list, want)
		}
		if got := log.String(); strings.Count(got, "\n") != 3 || strings.Count(got, `"level":"WARN"`) != 3 {
			t.Errorf("want three warnings, got %s", got)
		}
	})
}
