package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
)

// A request gets 503 after 25 seconds, whatever the age of its connection, which
// then closes. A client that disconnects ends its request at once.
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
		o := api.Options{
			Service:   rewards.NewService(w.store, waits, w.prices, w.clock.now),
			CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler),
		}
		connections := pipes(make(chan net.Conn))
		server := api.NewServer(o)
		go func() { _ = server.Serve(api.Listener(connections, o)) }()
		defer server.Close()
		conn := connections.dial()
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
		conn = connections.dial()
		began := send()
		time.Sleep(time.Second)
		check(t, conn.Close())
		synctest.Wait()
		if !errors.Is(ended, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("after a disconnection: %v", ended)
		}
	})
}
