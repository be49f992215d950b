package sqlite_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

// Who enables an endpoint, replays, or retries large deliveries makes the service write little: their bodies stay.
func TestDeliveriesAreChangedWithoutTheirBodies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	engine, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	check(t, err)
	w := storetest.NewWorld(t, engine)
	e, err := w.CreateWebhookEndpoint(t.Context(), rewards.WebhookEndpoint{
		AppID: w.App.ID, URL: "https://a/", Secret: rewards.SealedSecret("secret"),
	})
	check(t, err)
	shards, err := w.TakeWebhookShards(t.Context(), "tester", time.Hour, true)
	check(t, err)

	const count, large = 100, 16 << 10
	written := func() int64 {
		info, err := os.Stat(path + "-wal")
		check(t, err)
		return info.Size()
	}
	before := written()
	little := func(what string) {
		t.Helper()
		if n := written() - before; n <= 0 || n > count*large/4 {
			t.Errorf("%s: %d bytes were written for %d deliveries of %d bytes", what, n, count, large)
		}
		before = written()
	}
	failed := func() {
		t.Helper()
		p := rewards.WebhookProgress{Endpoint: e, Shard: shards[e.Shard()]}
		for i := range int64(count) {
			p.Deliveries = append(p.Deliveries, rewards.Delivery{
				AppID: e.AppID, EndpointID: e.ID, Sequence: i + 1, Type: "reward.executed", Number: i,
				Status: rewards.DeliveryPending, Attempts: 1, StatusCode: 503, TriedAt: w.Now(),
				NextAt: w.Now().Add(time.Hour), Body: make([]byte, large),
			})
		}
		stale, err := w.SaveWebhooks(t.Context(), []rewards.WebhookProgress{p})
		check(t, err)
		if len(stale) > 0 {
			t.Fatal("the endpoint is stale")
		}
	}
	change := func(f func(*rewards.WebhookEndpoint)) {
		t.Helper()
		e, err = w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, f)
		check(t, err)
	}

	e.Cursor = math.MaxInt32
	failed()
	before = written()
	change(func(e *rewards.WebhookEndpoint) { e.Disable(rewards.DisabledByApp) })
	change((*rewards.WebhookEndpoint).Enable)
	little("enable")
	failed()
	little("retry")
	change(func(e *rewards.WebhookEndpoint) { e.ReplayFrom(0) })
	little("replay")
	due, _, err := w.DueDeliveries(t.Context(), e, w.Now(), 2*count)
	check(t, err)
	if len(due) != count {
		t.Errorf("%d of %d deliveries are due after a replay", len(due), count)
	}
	for _, d := range due {
		if !d.NextAt.IsZero() || len(d.Body) != large {
			t.Fatalf("a delivery is due at %s and has %d bytes, want at once and %d", d.NextAt, len(d.Body), large)
		}
	}
	check(t, engine.Close())
}
