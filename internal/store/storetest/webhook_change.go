package storetest

import (
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// testChangedMeanwhile checks what is stored of an endpoint that was changed while it was sent to: a delivery that
// waits for its first retry, with its body, and nothing that another process sent.
func testChangedMeanwhile(t *testing.T, w *World) {
	ctx := t.Context()
	e := w.endpoint(t, w.App.ID)
	p := rewards.WebhookProgress{Endpoint: e, Shard: w.shard(t, e)}
	delivery := func(sequence int64, status rewards.DeliveryStatus, body string) rewards.Delivery {
		return rewards.Delivery{
			AppID: e.AppID, EndpointID: e.ID, Sequence: sequence, EventID: rewards.EventID{byte(sequence)},
			Type: "reward.failed", Number: sequence, Status: status, Attempts: 1, TriedAt: w.Now(),
			NextAt: w.Now().Add(time.Hour), Body: []byte(body),
		}
	}
	stored := delivery(1, rewards.DeliveryPending, "stored")
	p.Deliveries = []rewards.Delivery{stored}
	w.saveDeliveries(t, p)
	_, err := w.ChangeWebhookEndpoint(ctx, e.AppID, e.ID, func(e *rewards.WebhookEndpoint) { e.Description = "changed" })
	check(t, err)
	want := func(what string, want ...rewards.Delivery) {
		t.Helper()
		stale, err := w.SaveWebhooks(ctx, []rewards.WebhookProgress{p})
		check(t, err)
		if !stale[e.ID] {
			t.Errorf("%s: the endpoint is not stale", what)
		}
		list, err := w.Deliveries(ctx, e.AppID, e.ID, rewards.DeliveryPage{Limit: 10})
		check(t, err)
		wantEqual(t, what, want, list)
	}
	waiting := delivery(2, rewards.DeliveryPending, "first")
	p.Deliveries = []rewards.Delivery{
		delivery(1, rewards.DeliveryPending, "newer"), waiting, delivery(3, rewards.DeliveryDelivered, ""),
		delivery(4, rewards.DeliveryFailed, "all failed"),
	}
	want("after a change", waiting, stored)
	wantEqual(t, "the cursor", e.Cursor, read(t, w.AllWebhookEndpoints)[0].Cursor)
	p.Deliveries = []rewards.Delivery{delivery(5, rewards.DeliveryPending, "of another process")}
	_, err = w.TakeWebhookShards(ctx, "another", time.Hour, true)
	check(t, err)
	want("when another process has the shard", waiting, stored)
	p.Shard = w.shard(t, e)
	check(t, w.DeleteWebhookEndpoint(ctx, e.AppID, e.ID))
	if stale, err := w.SaveWebhooks(ctx, []rewards.WebhookProgress{p}); err != nil || !stale[e.ID] {
		t.Errorf("when it was deleted: stale %v, error %v", stale, err)
	}
	wantEqual(t, "deliveries of a deleted endpoint", 0, w.countDeliveries(t, e))
}

// testSuspendedEndpoints checks that nothing is sent to the endpoints of a suspended app, and that the processes that
// send learn of it.
func testSuspendedEndpoints(t *testing.T, w *World) {
	w.endpoint(t, w.App.ID)
	w.endpoint(t, w.NewApp(t, "second").ID)
	changes := read(t, w.WebhookChanges)
	for _, suspended := range []bool{true, false} {
		check(t, failure(w.SetSuspended(t.Context(), w.App.Name, suspended)))
		want := map[bool]int{true: 1, false: 2}[suspended]
		wantEqual(t, fmt.Sprint("endpoints that are sent to, suspended: ", suspended), want, len(read(t, w.SendingEndpoints)))
		before := changes
		if changes = read(t, w.WebhookChanges); changes == before {
			t.Error("nobody learns that the app was suspended or resumed")
		}
	}
}
