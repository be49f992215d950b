package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// webhookContract are the tests of webhook endpoints and their deliveries.
func webhookContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"Webhooks":          testEndpoints,
		"WebhookTenancy":    testEndpointTenancy,
		"WebhookDeliveries": testDeliveries,
		"WebhookParts":      testWebhookParts,
		"WebhookShards":     testShards,
		"WebhookFence":      testWebhookFence,
		"WebhookMeanwhile":  testChangedMeanwhile,
		"WebhookSuspended":  testSuspendedEndpoints,
		"WebhookSecrets":    testReseal,
		"WebhookOperator":   testWebhookOperator,
	}
}

// endpoint creates an endpoint of the app.
func (w *World) endpoint(t *testing.T, app rewards.AppID) rewards.WebhookEndpoint {
	t.Helper()
	e, err := w.CreateWebhookEndpoint(t.Context(), rewards.WebhookEndpoint{
		AppID: app, URL: "https://example.com/hook", Types: rewards.EventRewardFailed, Description: "first",
		Secret: rewards.SealedSecret("sealed"),
	})
	check(t, err)
	return e
}

func testEndpoints(t *testing.T, w *World) {
	ctx := t.Context()
	wantEqual(t, "changes before the first endpoint", "", read(t, w.WebhookChanges))
	w.Fill(t) // an event
	e := w.endpoint(t, w.App.ID)
	if newest := read(t, w.NewestEvent); e.Cursor != newest {
		t.Errorf("the cursor is %d, want that of the newest event, %d", e.Cursor, newest)
	}
	got, err := w.WebhookEndpoint(ctx, w.App.ID, e.ID)
	check(t, err)
	wantEqual(t, "the stored endpoint", e, got)
	changed, err := w.ChangeWebhookEndpoint(ctx, w.App.ID, e.ID, func(e *rewards.WebhookEndpoint) {
		e.URL, e.Types, e.Description = "https://example.com/other", 0, ""
		e.Rotate(rewards.SealedSecret("newer"), w.Now())
		e.Disable(rewards.DisabledByApp)
	})
	check(t, err)
	got, err = w.WebhookEndpoint(ctx, w.App.ID, e.ID)
	check(t, err)
	wantEqual(t, "the changed endpoint", changed, got)
	if got.Version <= e.Version {
		t.Errorf("version %d, want a newer one", got.Version)
	}
	for _, secret := range []string{"third", "fourth"} { // one old secret and several are stored in different forms
		changed, err = w.ChangeWebhookEndpoint(ctx, w.App.ID, e.ID, func(e *rewards.WebhookEndpoint) {
			e.Rotate(rewards.SealedSecret(secret), w.Now().Add(time.Minute))
		})
		check(t, err)
		got, err = w.WebhookEndpoint(ctx, w.App.ID, e.ID)
		check(t, err)
		wantEqual(t, "the endpoint after a rotation", changed, got)
	}
	wantEqual(t, "secrets that sign", 4, len(got.Secrets(w.Now())))
	for range rewards.MaxWebhookEndpoints - 1 {
		w.endpoint(t, w.App.ID)
	}
	_, err = w.CreateWebhookEndpoint(ctx, e)
	wantCode(t, err, rewards.CodeUnprocessable)
	list, err := w.WebhookEndpoints(ctx, w.App.ID, rewards.Page[rewards.WebhookEndpoint]{Before: e.ID, Limit: 5})
	check(t, err)
	wantEqual(t, "endpoints before the first", 0, len(list))
	check(t, w.DeleteWebhookEndpoint(ctx, w.App.ID, e.ID))
	wantCode(t, w.DeleteWebhookEndpoint(ctx, w.App.ID, e.ID), rewards.CodeNotFound)
	wantEqual(t, "all endpoints", rewards.MaxWebhookEndpoints-1, len(read(t, w.AllWebhookEndpoints)))
	heads := read(t, w.NewestEvents)
	wantEqual(t, "the app's newest event", read(t, w.NewestEvent), heads[w.App.ID])
}

func testEndpointTenancy(t *testing.T, w *World) {
	ctx := t.Context()
	e := w.endpoint(t, w.App.ID)
	other := w.NewApp(t, "second").ID
	_, err := w.WebhookEndpoint(ctx, other, e.ID)
	wantCode(t, err, rewards.CodeNotFound)
	_, err = w.ChangeWebhookEndpoint(ctx, other, e.ID, func(*rewards.WebhookEndpoint) { t.Error("another app's endpoint is changed") })
	wantCode(t, err, rewards.CodeNotFound)
	wantCode(t, w.DeleteWebhookEndpoint(ctx, other, e.ID), rewards.CodeNotFound)
	wantCode(t, failure(w.AddWebhookTest(ctx, other, e.ID)), rewards.CodeNotFound)
	wantCode(t, failure(w.Deliveries(ctx, other, e.ID, rewards.DeliveryPage{Limit: 1})), rewards.CodeNotFound)
	list, err := w.WebhookEndpoints(ctx, other, rewards.Page[rewards.WebhookEndpoint]{Limit: 5})
	check(t, err)
	wantEqual(t, "another app's list", 0, len(list))
}

// shard takes the shard of an endpoint.
func (w *World) shard(t *testing.T, e rewards.WebhookEndpoint) rewards.WebhookShard {
	t.Helper()
	mine, err := w.TakeWebhookShards(t.Context(), "tester", time.Hour, true)
	check(t, err)
	return mine[e.Shard()]
}

// saveDeliveries stores deliveries and ends the test if the endpoint is stale.
func (w *World) saveDeliveries(t *testing.T, p rewards.WebhookProgress) {
	t.Helper()
	stale, err := w.SaveWebhooks(t.Context(), []rewards.WebhookProgress{p})
	check(t, err)
	if len(stale) > 0 {
		t.Fatal("the endpoint is stale")
	}
}

func testDeliveries(t *testing.T, w *World) {
	ctx := t.Context()
	e := w.endpoint(t, w.App.ID)
	p := rewards.WebhookProgress{Endpoint: e, Shard: w.shard(t, e)}
	p.Endpoint.Cursor, p.Endpoint.FailingSince = 10, w.Now()
	for i := range int64(9) {
		d := rewards.Delivery{
			AppID: e.AppID, EndpointID: e.ID, Sequence: i + 1, EventID: rewards.EventID{1, byte(i)}, Type: "reward.failed",
			Number: i, Status: rewards.DeliveryStatus(i%3 + 1), Attempts: 1, StatusCode: 500, Error: "no", Answer: "why",
			TriedAt: w.Now(), Body: []byte("{}"),
		}
		if d.Status == rewards.DeliveryPending {
			d.NextAt = w.Now().Add(time.Duration(i) * time.Second)
		}
		p.Deliveries = append(p.Deliveries, d)
	}
	w.saveDeliveries(t, p)
	stored, err := w.WebhookEndpoint(ctx, e.AppID, e.ID)
	check(t, err)
	wantEqual(t, "the cursor", 10, stored.Cursor)
	list, err := w.Deliveries(ctx, e.AppID, e.ID, rewards.DeliveryPage{Limit: 100})
	check(t, err)
	for i, d := range list {
		wantEqual(t, "a delivery, newest first", p.Deliveries[8-i], d)
	}
	var paged []rewards.Delivery
	for place := (rewards.DeliveryPlace{}); ; {
		part, err := w.Deliveries(ctx, e.AppID, e.ID, rewards.DeliveryPage{Status: rewards.DeliveryFailed, Before: place, Limit: 2})
		check(t, err)
		if len(part) == 0 {
			break
		}
		paged = append(paged, part...)
		place = rewards.DeliveryPlace{Number: part[len(part)-1].Number, Sequence: part[len(part)-1].Sequence}
	}
	wantEqual(t, "failed deliveries in pages", []rewards.Delivery{p.Deliveries[8], p.Deliveries[5], p.Deliveries[2]}, paged)

	due, next, err := w.DueDeliveries(ctx, stored, w.Now().Add(3*time.Second), 10)
	check(t, err)
	wantEqual(t, "due deliveries", []rewards.Delivery{p.Deliveries[0], p.Deliveries[3]}, due)
	wantEqual(t, "the next one", p.Deliveries[6].NextAt, next)
	wantEqual(t, "pending after a cursor", []int64{4, 7}, read(t, func(ctx context.Context) ([]int64, error) {
		return w.PendingAfterCursor(ctx, rewards.WebhookEndpoint{AppID: e.AppID, ID: e.ID, Cursor: 3})
	}))
	wantEqual(t, "the newest one", 9, read(t, func(ctx context.Context) (int64, error) { return w.NewestDelivery(ctx, e) }))
	testOfDisabled(t, w, stored)
	testReplay(t, w, e)
	testTrim(t, w, e)
}

// testOfDisabled checks that only tests are due of a disabled endpoint, and all after it is enabled.
func testOfDisabled(t *testing.T, w *World, e rewards.WebhookEndpoint) {
	t.Helper()
	ctx := t.Context()
	id, err := w.AddWebhookTest(ctx, e.AppID, e.ID)
	check(t, err)
	e, err = w.ChangeWebhookEndpoint(ctx, e.AppID, e.ID, func(e *rewards.WebhookEndpoint) { e.Disable(rewards.DisabledByApp) })
	check(t, err)
	wantEqual(t, "endpoints with a test", []rewards.WebhookEndpointID{e.ID}, read(t, w.PendingTests))
	other := w.endpoint(t, e.AppID)
	for n := range rewards.MaxPendingTests + 1 {
		_, err := w.AddWebhookTest(ctx, e.AppID, other.ID)
		if full := n == rewards.MaxPendingTests; full != (rewards.CodeOf(err) == rewards.CodeUnprocessable) || err != nil && !full {
			t.Errorf("test %d of an endpoint: %v", n+1, err)
		}
	}
	wantEqual(t, "endpoints with tests", 2, len(read(t, w.PendingTests)))
	check(t, w.DeleteWebhookEndpoint(ctx, e.AppID, other.ID))
	due, _, err := w.DueDeliveries(ctx, e, w.Now().Add(time.Hour), 10)
	check(t, err)
	if len(due) != 1 || due[0].EventID != id || !due[0].Test() || due[0].Type != rewards.TypePing {
		t.Errorf("due of a disabled endpoint: %+v, want the test", due)
	}
	e, err = w.ChangeWebhookEndpoint(ctx, e.AppID, e.ID, (*rewards.WebhookEndpoint).Enable)
	check(t, err)
	due, next, err := w.DueDeliveries(ctx, e, w.Now(), 10)
	check(t, err)
	if len(due) != 7 || !next.IsZero() {
		t.Errorf("%d due after the endpoint was enabled, and the next at %v; want 7 and no other", len(due), next)
	}
}

// testReplay checks that a replay makes pending deliveries due.
func testReplay(t *testing.T, w *World, e rewards.WebhookEndpoint) {
	t.Helper()
	ctx := t.Context()
	stored, err := w.WebhookEndpoint(ctx, e.AppID, e.ID)
	check(t, err)
	const past = 1_795_835_646_808_067 // as real sequences are
	stored.Cursor = past + 10
	d := rewards.Delivery{
		AppID: e.AppID, EndpointID: e.ID, Sequence: past + 9, EventID: rewards.EventID{9}, Type: "reward.failed",
		Status: rewards.DeliveryPending, Attempts: 1, NextAt: w.Now().Add(time.Hour), Body: []byte("{}"),
	}
	w.saveDeliveries(t, rewards.WebhookProgress{Endpoint: stored, Shard: w.shard(t, e), Deliveries: []rewards.Delivery{d}})
	for after, want := range map[int64]int64{past + 11: past + 10, past + 10: past + 10, past + 8: past + 8} {
		if stored, err = w.ChangeWebhookEndpoint(ctx, e.AppID, e.ID, func(e *rewards.WebhookEndpoint) {
			e.Cursor = past + 10
			e.ReplayFrom(after)
		}); err != nil || stored.Cursor != want {
			t.Errorf("replay after %d: cursor %d, error %v; want %d", after, stored.Cursor, err, want)
		}
	}
	_, next, err := w.DueDeliveries(ctx, stored, w.Now(), 10)
	check(t, err)
	if !next.IsZero() {
		t.Errorf("the next delivery is due at %v, want all after the replay's sequence due now", next)
	}
}

// testTrim checks that an endpoint keeps what was delivered last, of whatever age.
func testTrim(t *testing.T, w *World, e rewards.WebhookEndpoint) {
	t.Helper()
	ctx := t.Context()
	stored, err := w.WebhookEndpoint(ctx, e.AppID, e.ID)
	check(t, err)
	p := rewards.WebhookProgress{Endpoint: stored, Shard: w.shard(t, e), Trim: true}
	const more = rewards.KeptDeliveries + 10
	for i := range int64(more) {
		p.Deliveries = append(p.Deliveries, rewards.Delivery{
			AppID: e.AppID, EndpointID: e.ID, Sequence: 100 + i, EventID: rewards.EventID{7, byte(i)}, Type: "reward.failed",
			Number: 100 - i, Status: rewards.DeliveryDelivered, Attempts: 1, StatusCode: 200, TriedAt: w.Now(),
		})
	}
	w.saveDeliveries(t, p)
	list, err := w.Deliveries(ctx, e.AppID, e.ID, rewards.DeliveryPage{Status: rewards.DeliveryDelivered, Limit: 2 * more})
	check(t, err)
	if len(list) != rewards.KeptDeliveries || list[0].Sequence != 100+10 {
		t.Errorf("%d deliveries are kept, the first %d; want %d, the first %d", len(list), list[0].Sequence,
			rewards.KeptDeliveries, 100+10)
	}
}

func testShards(t *testing.T, w *World) {
	ctx := t.Context()
	take := func(holder string, force bool) map[int]rewards.WebhookShard {
		t.Helper()
		mine, err := w.TakeWebhookShards(ctx, holder, time.Minute, force)
		check(t, err)
		return mine
	}
	wantEqual(t, "shards of the only process", rewards.WebhookShards, len(take("a", false)))
	wantEqual(t, "shards of the second, at first", 0, len(take("b", false)))
	wantEqual(t, "shards of the first, then", rewards.WebhookShards/2, len(take("a", false)))
	second := take("b", false)
	wantEqual(t, "shards of the second, then", rewards.WebhookShards/2, len(second))
	for number, s := range take("a", false) {
		if _, both := second[number]; both || s.Epoch != 1 {
			t.Errorf("shard %d in epoch %d: it belongs to both, or its epoch changed", number, s.Epoch)
		}
	}
	w.Advance(30 * time.Second)
	take("b", false)
	w.Advance(40 * time.Second) // the first one's leases have ended
	wantEqual(t, "shards after the first has ended", rewards.WebhookShards, len(take("b", false)))
	check(t, w.DropWebhookShards(ctx, "b"))
	wantEqual(t, "shards after they were given back", rewards.WebhookShards, len(take("c", false)))
	wantEqual(t, "shards of a process that is alone", rewards.WebhookShards, len(take("d", true)))
}

func testWebhookFence(t *testing.T, w *World) {
	ctx := t.Context()
	e := w.endpoint(t, w.App.ID)
	shard := w.shard(t, e)
	p := rewards.WebhookProgress{Endpoint: e, Shard: shard, Deliveries: []rewards.Delivery{{
		AppID: e.AppID, EndpointID: e.ID, Sequence: 1, EventID: rewards.EventID{1}, Type: "reward.failed",
		Status: rewards.DeliveryFailed,
	}}}
	p.Endpoint.Cursor += 5
	wantStale := func(why string) {
		t.Helper()
		stale, err := w.SaveWebhooks(ctx, []rewards.WebhookProgress{p})
		check(t, err)
		stored, _ := w.WebhookEndpoint(ctx, e.AppID, e.ID)
		list, _ := w.Deliveries(ctx, e.AppID, e.ID, rewards.DeliveryPage{Limit: 1})
		if !stale[e.ID] || stored.Cursor == p.Endpoint.Cursor || len(list) > 0 {
			t.Errorf("%s: stale %v, cursor %d, %d deliveries; want nothing stored", why, stale, stored.Cursor, len(list))
		}
	}
	_, err := w.TakeWebhookShards(ctx, "another", time.Hour, true)
	check(t, err)
	wantStale("another process has the shard")
	p.Shard = w.shard(t, e)
	_, err = w.ChangeWebhookEndpoint(ctx, e.AppID, e.ID, func(e *rewards.WebhookEndpoint) { e.Types = 0 })
	check(t, err)
	wantStale("the endpoint was changed")
	check(t, w.DeleteWebhookEndpoint(ctx, e.AppID, e.ID))
	wantStale("the endpoint was deleted")
}

func testWebhookOperator(t *testing.T, w *World) {
	ctx := t.Context()
	e := w.endpoint(t, w.App.ID)
	p := rewards.WebhookProgress{Endpoint: e, Shard: w.shard(t, e)}
	for i := range int64(3) {
		p.Deliveries = append(p.Deliveries, rewards.Delivery{
			AppID: e.AppID, EndpointID: e.ID, Sequence: i + 1, EventID: rewards.EventID{byte(i + 1)}, Type: "reward.failed",
			Status: rewards.DeliveryFailed, Attempts: 9,
		})
	}
	w.saveDeliveries(t, p)
	for want, event := range map[int64]rewards.EventID{1: {2}, 0: {9}} {
		count, err := w.RedeliverWebhooks(ctx, e.ID, event)
		check(t, err)
		wantEqual(t, fmt.Sprint("redelivered: ", event), want, count)
	}
	count, err := w.RedeliverWebhooks(ctx, e.ID, rewards.EventID{})
	check(t, err)
	wantEqual(t, "redelivered at last", 2, count)
	stored, err := w.EndpointOfAnyApp(ctx, e.ID)
	check(t, err)
	due, _, err := w.DueDeliveries(ctx, stored, w.Now(), 10)
	check(t, err)
	wantEqual(t, "due deliveries", 3, len(due))
	disabled, err := w.DisableWebhook(ctx, e.ID, "no longer used")
	check(t, err)
	wantEqual(t, "why it is disabled", "operator: no longer used", disabled.Disabled)
	enabled, err := w.EnableWebhook(ctx, e.ID)
	check(t, err)
	wantEqual(t, "why it is disabled after it was enabled", "", enabled.Disabled)
	wantCode(t, failure(w.EnableWebhook(ctx, rewards.WebhookEndpointID{1})), rewards.CodeNotFound)
	changes, err := w.WebhookChanges(ctx)
	check(t, err)
	check(t, failure(w.RemoveWebhook(ctx, e.ID)))
	wantCode(t, failure(w.EndpointOfAnyApp(ctx, e.ID)), rewards.CodeNotFound)
	wantEqual(t, "deliveries of a removed endpoint", 0, w.countDeliveries(t, e))
	wantCode(t, failure(w.RemoveWebhook(ctx, e.ID)), rewards.CodeNotFound)
	if now, err := w.WebhookChanges(ctx); err != nil || now == changes {
		t.Errorf("the processes that send webhooks do not notice that an endpoint is removed: %v", err)
	}
}

// webhookDeeds are the deeds about webhook endpoints.
func (w *World) webhookDeeds(t *testing.T) []deed {
	t.Helper()
	e, removed := w.endpoint(t, w.App.ID), w.endpoint(t, w.App.ID)
	w.saveDeliveries(t, rewards.WebhookProgress{Endpoint: e, Shard: w.shard(t, e), Deliveries: []rewards.Delivery{{
		AppID: e.AppID, EndpointID: e.ID, Sequence: 1, EventID: rewards.EventID{1}, Type: "reward.failed",
		Status: rewards.DeliveryFailed, Attempts: 9,
	}}})
	return []deed{
		{"RedeliverWebhooks", func(ctx context.Context, o *store.Operator) error {
			_, err := o.RedeliverWebhooks(ctx, e.ID, rewards.EventID{})
			return err
		}, []string{e.Object() + ": redelivered: 1: why"}},
		{"DisableWebhook", func(ctx context.Context, o *store.Operator) error {
			_, err := o.DisableWebhook(ctx, e.ID, "unused")
			return err
		}, []string{e.Object() + ": disabled: no -> yes, why: operator: unused: unused"}},
		{"EnableWebhook", func(ctx context.Context, o *store.Operator) error {
			_, err := o.EnableWebhook(ctx, e.ID)
			return err
		}, []string{e.Object() + ": disabled: yes -> no, why: operator: unused -> -: why"}},
		{"RemoveWebhook", func(ctx context.Context, o *store.Operator) error {
			return failure(o.RemoveWebhook(ctx, removed.ID))
		}, []string{
			removed.Object() + ": disabled: no -> yes, why: operator: it is being deleted: why",
			removed.Object() + ": removed: yes: why",
		}},
		{"EditWebhook", func(ctx context.Context, o *store.Operator) error {
			return o.EditWebhook(ctx, e.ID, rewards.WebhookChange{Description: new("second")})
		}, []string{e.Object() + ": description: first -> second: why"}},
		{"AddWebhook", func(ctx context.Context, o *store.Operator) error {
			added := rewards.WebhookEndpoint{
				AppID: w.App.ID, URL: "https://example.com/new", Types: rewards.EventRewardFailed, Secret: []byte("sealed"),
			}
			_, err := o.AddWebhook(ctx, added)
			if err == nil {
				wantCode(t, failure(o.AddWebhook(ctx, added)), rewards.CodeConflict)
			}
			return err
		}, []string{"webhook endpoint *: app: *, disabled: no, url: https://example.com/new, types: reward.failed: why"}},
	}
}
