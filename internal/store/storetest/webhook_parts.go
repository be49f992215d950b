package storetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// measured is an engine that notes the most rows that a Write changed.
type measured struct {
	store.Engine
	most   *int64
	writes *int
	after  func(writes int) // called after each Write
}

func (e measured) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	var changed int64
	err := e.Engine.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		changed = 0
		return f(ctx, measuredTx{tx, &changed})
	})
	*e.most = max(*e.most, changed)
	*e.writes++
	e.after(*e.writes)
	return err
}

// WriteBooks implements store.Engine.
func (e measured) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

type measuredTx struct {
	store.Tx
	changed *int64
}

func (x measuredTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := x.Tx.Exec(ctx, query, args...)
	*x.changed += n
	return n, err
}

// deliveries stores deliveries of a status, which are due in an hour if they are pending.
func (w *World) deliveries(
	t *testing.T, e rewards.WebhookEndpoint, status rewards.DeliveryStatus, count int64, body []byte,
) {
	t.Helper()
	p := rewards.WebhookProgress{Endpoint: e, Shard: w.shard(t, e)}
	for i := range count {
		d := rewards.Delivery{
			AppID: e.AppID, EndpointID: e.ID, Sequence: 3 * (i + 1), EventID: rewards.EventID{1, byte(i)},
			Type: "reward.failed", Number: i, Status: status, Attempts: 1, StatusCode: 500, TriedAt: w.Now(),
			Body: body,
		}
		if status == rewards.DeliveryPending {
			d.NextAt = w.Now().Add(time.Hour)
		}
		p.Deliveries = append(p.Deliveries, d)
	}
	w.saveDeliveries(t, p)
}

// testWebhookParts changes endpoints with many deliveries. No transaction is large, so that nobody waits for it, and a
// deletion that is interrupted goes on.
func testWebhookParts(t *testing.T, w *World) {
	var most int64
	var writes int
	ctx, cancel := context.WithCancel(t.Context())
	stopAfter := 0
	s, err := store.New(t.Context(), measured{w.engine, &most, &writes, func(n int) {
		if n == stopAfter {
			cancel()
		}
	}}, w.Now, rand.NewChaCha8([32]byte{9}))
	check(t, err)
	o := s.As(w.By())
	atMost := func(what string, limit int64) {
		t.Helper()
		if most > limit {
			t.Errorf("%s: a transaction changed %d rows, want at most %d", what, most, limit)
		}
		most = 0
	}
	const few = 10 // rows of a transaction that are no deliveries

	failed := w.endpoint(t, w.App.ID)
	const many = 10_003
	w.deliveries(t, failed, rewards.DeliveryFailed, many, nil)
	count, err := o.RedeliverWebhooks(ctx, failed.ID, rewards.EventID{})
	check(t, err)
	wantEqual(t, "redelivered", many, count)
	atMost("deliver again", 10_000+few)

	e := w.endpoint(t, w.App.ID)
	const some = 2_005
	w.enableWithMany(t, s, e.ID, some, nil, func(what string) { atMost(what, 1000+few) })

	writes, stopAfter = 0, 2 // it disables the endpoint and deletes a part
	err = s.DeleteWebhookEndpoint(ctx, e.AppID, e.ID)
	wantCode(t, err, rewards.CodeUnavailable)
	ctx = t.Context()
	stored, err := w.WebhookEndpoint(ctx, e.AppID, e.ID)
	check(t, err)
	wantEqual(t, "why an endpoint is disabled whose deletion was interrupted", rewards.DisabledByApp, stored.Disabled)
	wantEqual(t, "its deliveries", some-1000, w.countDeliveries(t, e))
	check(t, s.DeleteWebhookEndpoint(ctx, e.AppID, e.ID))
	atMost("delete", 1000+few)
	wantCode(t, failure(w.WebhookEndpoint(ctx, e.AppID, e.ID)), rewards.CodeNotFound)
	wantEqual(t, "deliveries of a deleted endpoint", 0, w.countDeliveries(t, e))
	wantEqual(t, "deliveries of the other one", many, w.countDeliveries(t, failed))

	e = w.endpoint(t, w.App.ID)
	const inPart = 256 << 10 / largeBody // deliveries
	w.enableWithMany(t, s, e.ID, some/10, make([]byte, largeBody), func(what string) { atMost(what+", large", inPart+few) })
	check(t, s.DeleteWebhookEndpoint(ctx, e.AppID, e.ID))
	atMost("delete, large", inPart+few)
	wantEqual(t, "large deliveries of a deleted endpoint", 0, w.countDeliveries(t, e))
}

// largeBody is about the size of an event with the most metadata.
const largeBody = 16 << 10

func (w *World) countDeliveries(t *testing.T, e rewards.WebhookEndpoint) (count int) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&count) },
			`SELECT count(*) FROM webhook_deliveries WHERE app_id = ?1 AND endpoint_id = ?2`, e.AppID[:], e.ID[:])
	}))
	return count
}

// enableWithMany enables an endpoint with many deliveries that wait, and with as many that failed. small is called after
// each time.
func (w *World) enableWithMany(
	t *testing.T, s *store.Store, id rewards.WebhookEndpointID, some int64, body []byte, small func(what string),
) {
	t.Helper()
	ctx := t.Context()
	for what, enable := range map[string]func(context.Context, *rewards.WebhookEndpoint) error{
		"enable by the app": func(ctx context.Context, e *rewards.WebhookEndpoint) error {
			_, err := s.ChangeWebhookEndpoint(ctx, e.AppID, e.ID, (*rewards.WebhookEndpoint).Enable)
			return err
		},
		"enable by an operator": func(ctx context.Context, e *rewards.WebhookEndpoint) error {
			_, err := s.As(w.By()).EnableWebhook(ctx, e.ID)
			return err
		},
	} {
		for _, status := range []rewards.DeliveryStatus{rewards.DeliveryPending, rewards.DeliveryFailed} {
			e, err := w.WebhookEndpoint(ctx, w.App.ID, id)
			check(t, err)
			w.deliveries(t, e, status, some, body)
			_, err = w.DisableWebhook(ctx, e.ID, "a test")
			check(t, err)
			check(t, enable(ctx, &e))
			small(what)
			due, _, err := w.DueDeliveries(ctx, rewards.WebhookEndpoint{AppID: e.AppID, ID: e.ID}, w.Now(), int(2*some))
			check(t, err)
			wantEqual(t, what+": due of those that were "+status.String(), int(some), len(due))
			if slices.ContainsFunc(due, func(d rewards.Delivery) bool { return d.Attempts > 0 }) {
				t.Errorf("%s: %s deliveries have not all their retries", what, status)
			}
		}
	}
}
