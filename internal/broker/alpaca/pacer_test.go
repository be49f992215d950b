package alpaca_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/rewards"
)

// log notes when requests arrive, and answers them.
type log struct {
	mu    sync.Mutex
	times []time.Time
	next  []limited // the first answers; later ones are a good order
}

// limited is a 429 with its reset; "" for none.
type limited string

func (l *log) RoundTrip(*http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, time.Now())
	if len(l.next) == 0 {
		return answer(200, goodOrder), nil
	}
	resp := answer(http.StatusTooManyRequests, `{"code":42910000,"message":"rate limit exceeded"}`)
	if reset := l.next[0]; reset != "" {
		resp.Header.Set("X-RateLimit-Reset", string(reset))
	}
	l.next = l.next[1:]
	return resp, nil
}

func paced(l *log, perMinute int) *alpaca.Client {
	return alpaca.New(alpaca.Options{
		TradingURL: "http://t.test", DataURL: "http://d.test", Transport: l, RequestsPerMinute: perMinute,
	})
}

func TestNoMinuteHasTooManyRequests(t *testing.T) {
	t.Parallel()
	for _, perMinute := range []int{1, 2, 20, 60, 200} {
		t.Run(strconv.Itoa(perMinute), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &log{}
				client := paced(l, perMinute)
				total := 3*perMinute + 2
				var wg sync.WaitGroup
				for range total {
					wg.Go(func() {
						if _, err := client.Submit(t.Context(), request()); err != nil {
							t.Errorf("Submit: %v", err)
						}
					})
				}
				wg.Wait()
				for i, at := range l.times {
					if j := i + perMinute; j < total && l.times[j].Sub(at) < time.Minute {
						t.Fatalf("requests %d to %d came within %s", i, j, l.times[j].Sub(at))
					}
				}
				if took := l.times[total-1].Sub(l.times[0]); took > 8*time.Minute {
					t.Errorf("%d requests took %s", total, took)
				}
			})
		})
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := paced(&log{}, 200)
		for i := range 10 {
			if !client.Ready() {
				t.Errorf("not ready before request %d of the burst", i)
			}
			if _, err := client.Submit(t.Context(), request()); err != nil {
				t.Fatal(err)
			}
		}
		if client.Ready() {
			t.Error("ready after the burst")
		}
		time.Sleep(time.Second)
		if !client.Ready() {
			t.Error("not ready a second after the burst")
		}
	})
}

func TestPauseAfterLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		reset time.Duration // from now; 0 for none
		want  time.Duration
	}{
		{"named", 17 * time.Second, 17 * time.Second},
		{"in the past", -time.Hour, time.Second},
		{"far away", time.Hour, time.Minute},
		{"not named", 0, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var reset limited
				if c.reset != 0 {
					reset = limited(strconv.FormatInt(time.Now().Add(c.reset).Unix(), 10))
				}
				l := &log{next: []limited{reset}}
				client := paced(l, 200)
				_, err := client.Submit(t.Context(), request())
				wantError(t, err, rewards.BrokerUnknown, "")
				if client.Ready() {
					t.Error("ready during the pause")
				}
				if _, err := client.LatestPrices(t.Context(), []string{"A"}); err != nil || l.times[1] != l.times[0] {
					t.Errorf("the data host was paused with the trading host: %v (%v)", l.times, err)
				}
				if _, err := client.Submit(t.Context(), request()); err != nil {
					t.Errorf("Submit after the pause: %v", err)
				}
				if got := l.times[2].Sub(l.times[0]); got != c.want {
					t.Errorf("the pause was %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestPauseGrowsWithoutReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{next: make([]limited, 8)}
		client := paced(l, 200)
		for range 9 {
			_, _ = client.Submit(t.Context(), request())
		}
		var pauses []string
		for i := range 8 {
			pauses = append(pauses, l.times[i+1].Sub(l.times[i]).String())
		}
		want := []string{"1s", "2s", "4s", "8s", "16s", "32s", "1m0s", "1m0s"}
		if diff := cmp.Diff(want, pauses); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
		l.next = append(l.next, "")
		for range 2 {
			_, _ = client.Submit(t.Context(), request())
		}
		if got := l.times[10].Sub(l.times[9]); got != time.Second {
			t.Errorf("after a success the pause was %s, want 1s", got)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{next: []limited{""}}
		client := paced(l, 1)
		_, _ = client.Submit(t.Context(), request())
		for _, timeout := range []time.Duration{100 * time.Millisecond, 10 * time.Second} { // the pause, the limiter
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			begin := time.Now()
			_, err := client.Submit(ctx, request())
			wantError(t, err, rewards.BrokerWait, "not_sent")
			if waited := time.Since(begin); waited > timeout {
				t.Errorf("waited %s of %s", waited, timeout)
			}
			cancel()
		}
		if len(l.times) != 1 {
			t.Errorf("%d requests went out, want 1", len(l.times))
		}
	})
}

// A call whose deadline comes in the moment in which the pause ends is never sent: a simulation must repeat exactly.
func TestThePauseEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			l := &log{next: []limited{""}}
			client := paced(l, 200)
			_, _ = client.Submit(t.Context(), request())
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := client.Submit(ctx, request())
			wantError(t, err, rewards.BrokerWait, "not_sent")
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := alpaca.New(alpaca.Options{
			TradingURL: "http://t.test",
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}),
		})
		begin := time.Now()
		_, err := client.Submit(t.Context(), request())
		wantError(t, err, rewards.BrokerUnknown, "")
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("the timeout was %s, want 10s", took)
		}
	})
}
