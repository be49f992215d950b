package audittest

import (
	"time"

	"stockrewards/internal/rewards"
)

// webhooks creates an endpoint with a delivery and a test, whose process has its shard.
func (w *World) webhooks(app rewards.App) {
	ctx := w.tb.Context()
	e, err := w.CreateWebhookEndpoint(ctx, rewards.WebhookEndpoint{
		AppID: app.ID, URL: "https://example.com/hook", Secret: rewards.SealedSecret("sealed"),
	})
	w.Check(err)
	w.IDs["endpoint"] = e.ID
	_, err = w.AddWebhookTest(ctx, app.ID, e.ID)
	w.Check(err)
	shards, err := w.TakeWebhookShards(ctx, "test", time.Hour, true)
	w.Check(err)
	stale, err := w.SaveWebhooks(ctx, []rewards.WebhookProgress{{
		Endpoint: e, Shard: shards[e.Shard()], Deliveries: []rewards.Delivery{{
			AppID: app.ID, EndpointID: e.ID, Sequence: e.Cursor, EventID: rewards.EventID{1}, Type: "reward.failed",
			Number: 1, Status: rewards.DeliveryFailed, Attempts: 9, StatusCode: 500, TriedAt: w.Now,
		}},
	}})
	w.Check(err)
	if len(stale) > 0 {
		w.tb.Fatal("the endpoint is stale")
	}
}

// standstill stores why nothing is ordered of a stock.
func (w *World) standstill(symbol string) {
	w.Check(w.SaveStandstills(w.tb.Context(), w.Lease, nil, []rewards.Standstill{{
		AssetID: w.Catalog[symbol].ID, Since: w.Now, Cause: rewards.CauseQuarantine,
	}}))
}
