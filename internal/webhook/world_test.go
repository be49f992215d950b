package webhook_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
	"stockrewards/internal/webhook"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a real store with dispatchers in fake time, and receivers that are functions.
type world struct {
	*storetest.World
	t *testing.T

	schedule []time.Duration // the pauses before retries
	read     atomic.Int64    // events that dispatchers read
	listed   atomic.Int64    // how often they read all endpoints
	stored   atomic.Int64    // the most deliveries that were stored in one transaction
	bytes    atomic.Int64    // the most bytes, likewise
	storing  atomic.Int64    // how long each of these takes, in nanoseconds
	data     []byte          // of each event
	apart    atomic.Bool     // no lease can be renewed
	renewed  atomic.Int64    // when leases were renewed last, in nanoseconds since 1970
	unkept   atomic.Int64    // the longest time between two renewals, in nanoseconds

	mu        sync.Mutex
	receivers map[string]func(webhook.Request) rewards.WebhookAnswer // by URL
	got       map[string][]webhook.Request
	open      map[string]int // requests that are not answered
}

// inWorld runs a test in a bubble of fake time.
func inWorld(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		engine, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
		check(t, err)
		test(t, &world{
			World: storetest.NewWorld(t, engine), t: t, got: make(map[string][]webhook.Request), open: make(map[string]int),
			receivers: make(map[string]func(webhook.Request) rewards.WebhookAnswer),
			schedule:  []time.Duration{5 * time.Second, time.Minute}, data: []byte(`{}`),
		})
		check(t, engine.Close())
	})
}

// plain seals nothing.
type plain struct{}

func (plain) Seal(_ rewards.AppID, secret []byte) (rewards.SealedSecret, error) { return secret, nil }

// Open fails for the secret "locked".
func (plain) Open(_ rewards.AppID, sealed rewards.SealedSecret) ([]byte, error) {
	if string(sealed) == "locked" {
		return nil, errors.New("no key fits")
	}
	return sealed, nil
}

// Send implements webhook.Deliverer.
func (w *world) Send(ctx context.Context, r webhook.Request) rewards.WebhookAnswer {
	w.mu.Lock()
	w.got[r.URL] = append(w.got[r.URL], r)
	w.open[r.URL]++
	receive := w.receivers[r.URL]
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.open[r.URL]--
		w.mu.Unlock()
	}()
	if r.Written != nil {
		r.Written()
	}
	if receive != nil {
		return receive(r)
	}
	timer := time.NewTimer(15 * time.Second) // it does not answer
	defer timer.Stop()
	select {
	case <-timer.C:
		return rewards.WebhookAnswer{Error: "no answer"}
	case <-ctx.Done():
		return rewards.WebhookAnswer{Error: "canceled"}
	}
}

// EventsAfter implements webhook.Store.
func (w *world) EventsAfter(
	ctx context.Context, app rewards.AppID, after int64, types rewards.EventTypes, limit int,
) (rewards.EventPage, error) {
	page, err := w.World.EventsAfter(ctx, app, after, types, limit)
	w.read.Add(int64(len(page.Events)))
	return page, err
}

// SendingEndpoints implements webhook.Store.
func (w *world) SendingEndpoints(ctx context.Context) ([]rewards.WebhookEndpoint, error) {
	w.listed.Add(1)
	return w.World.SendingEndpoints(ctx)
}

// SaveWebhooks implements webhook.Store.
func (w *world) SaveWebhooks(
	ctx context.Context, list []rewards.WebhookProgress,
) (map[rewards.WebhookEndpointID]bool, error) {
	n, bytes := 0, 0
	for _, p := range list {
		n += len(p.Deliveries)
		bytes += p.Size()
	}
	w.stored.Store(max(w.stored.Load(), int64(n)))
	w.bytes.Store(max(w.bytes.Load(), int64(bytes)))
	time.Sleep(time.Duration(w.storing.Load()))
	return w.World.SaveWebhooks(ctx, list)
}

// TakeWebhookShards implements webhook.Store.
func (w *world) TakeWebhookShards(
	ctx context.Context, holder string, ttl time.Duration, force bool,
) (map[int]rewards.WebhookShard, error) {
	now := time.Now().UnixNano()
	if before := w.renewed.Swap(now); before > 0 {
		w.unkept.Store(max(w.unkept.Load(), now-before))
	}
	if w.apart.Load() {
		return nil, rewards.Unavailable("the database cannot be reached", nil)
	}
	return w.World.TakeWebhookShards(ctx, holder, ttl, force)
}

// WebhookAttempt implements webhook.Observer.
func (w *world) WebhookAttempt(rewards.WebhookAnswer, time.Duration) {}

// endpoint creates an endpoint whose receiver is a function; nil: it does not answer.
func (w *world) endpoint(url string, receive func(webhook.Request) rewards.WebhookAnswer) rewards.WebhookEndpoint {
	w.t.Helper()
	w.receivers[url] = receive
	e, err := w.CreateWebhookEndpoint(w.t.Context(), rewards.WebhookEndpoint{
		AppID: w.App.ID, URL: url, Secret: rewards.SealedSecret("secret"),
	})
	check(w.t, err)
	return e
}

// events makes n awards final in one order.
func (w *world) events(n int) {
	w.t.Helper()
	for range n {
		w.Give(w.t, 5*money.Dollar)
	}
	const price = 200 * 1_000_000_000
	qty := money.Shares(n) * 25_000_000
	check(w.t, w.Settle(w.t, w.Open(w.t), "filled", qty, price))
}

const leaseTTL = 6 * time.Second

// dispatch runs a dispatcher until stop is called.
func (w *world) dispatch(holder string) (d *webhook.Dispatcher, stop func()) {
	d = webhook.New(webhook.Options{
		Store: w, Sender: w, Sealer: plain{}, Observer: w, Encode: func(rewards.Event) []byte { return w.data },
		Holder: holder, LeaseTTL: leaseTTL, Schedule: w.schedule, Now: time.Now,
		Random: func(int64) int64 { return 0 }, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { d.Run(ctx); close(done) }()
	return d, func() { cancel(); <-done }
}

// received lists the requests to a URL until now.
func (w *world) received(url string) []webhook.Request {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]webhook.Request{}, w.got[url]...)
}

// statuses counts the stored deliveries of an endpoint.
func (w *world) statuses(e rewards.WebhookEndpoint) map[rewards.DeliveryStatus]int {
	w.t.Helper()
	list, err := w.Deliveries(w.t.Context(), e.AppID, e.ID, rewards.DeliveryPage{Limit: 10_000})
	check(w.t, err)
	counts := make(map[rewards.DeliveryStatus]int)
	for _, d := range list {
		counts[d.Status]++
	}
	return counts
}

func accept(webhook.Request) rewards.WebhookAnswer { return rewards.WebhookAnswer{StatusCode: 200} }

func refuse(webhook.Request) rewards.WebhookAnswer {
	return rewards.WebhookAnswer{StatusCode: 500, Error: "the receiver answered 500"}
}
