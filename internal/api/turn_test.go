package api_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
)

// slowRecorder takes a long time for a new user.
type slowRecorder struct{ rewards.Recorder }

func (slowRecorder) CreateUser(_ context.Context, u rewards.User) (rewards.User, error) {
	time.Sleep(time.Second)
	return u, nil
}

// The turn to decode a large body ends when it is decoded: the app's next one does not wait for the database.
func TestATurnToDecodeEndsBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	w, first := newWorldWithApp(t)
	second := w.newApp(t)
	synctest.Test(t, func(t *testing.T) {
		connections, o := pipes(make(chan net.Conn)), api.Options{
			Service: rewards.NewService(w.store, slowRecorder{}, w.prices, w.clock.now), CursorKey: w.cursorKey,
			Log: slog.New(slog.DiscardHandler), Observe: func(string, string, int, bool, time.Duration) {},
		}
		server := api.NewServer(o)
		go func() { _ = server.Serve(api.Listener(connections, o)) }()
		defer func() { check(t, server.Close()) }()
		send := func(c client, name string) net.Conn {
			body := fmt.Sprintf(`{"externalId":%q%s}`, name, strings.Repeat(" ", 5<<10))
			conn := connections.dial()
			_, err := fmt.Fprintf(conn, "POST /v1/users HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", c.key, len(body), body)
			check(t, err)
			synctest.Wait()
			return conn
		}
		began := time.Now()
		waiting := []net.Conn{send(second, "another app"), send(first, "one"), send(first, "two"), send(first, "three")}
		for _, conn := range waiting {
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			check(t, err)
			check(t, answer.Body.Close())
			if answer.StatusCode != http.StatusCreated {
				t.Errorf("answered with %d", answer.StatusCode)
			}
		}
		if took := time.Since(began); took >= 2*time.Second {
			t.Errorf("large bodies that the database has at once took %s", took)
		}
	})
}
