package api_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"testing"

	"stockrewards/internal/rewards"
)

// plainSealer seals nothing, but a secret belongs to an app.
type plainSealer struct{}

func (plainSealer) Seal(app rewards.AppID, secret []byte) (rewards.SealedSecret, error) {
	return append(app[:], secret...), nil
}

func (plainSealer) Open(app rewards.AppID, sealed rewards.SealedSecret) ([]byte, error) {
	if string(sealed[:len(app)]) != string(app[:]) {
		return nil, errors.New("another app's secret")
	}
	return sealed[len(app):], nil
}

// webhooks are settings by which endpoints can be created.
func webhooks() rewards.Webhooks {
	return rewards.Webhooks{Sealer: plainSealer{}, Random: rand.Reader, Nudge: func() {}}
}

const hook = "https://example.com/hook"

// newEndpoint creates a webhook endpoint and returns its id.
func (c client) newEndpoint(t *testing.T) string {
	t.Helper()
	return c.post(t, "/v1/webhook-endpoints", body("url", quote(hook))).wantStatus(t, http.StatusCreated).
		text(t, "webhookEndpoint", "id")
}

// webhookRequests are valid requests of each operation about an endpoint.
func webhookRequests(endpoint string) map[string]request {
	const all = "/v1/webhook-endpoints"
	one := all + "/" + endpoint
	return map[string]request{
		"listWebhookEndpoints":  {method: http.MethodGet, target: all},
		"createWebhookEndpoint": {method: http.MethodPost, target: all, body: body("url", quote(hook))},
		"getWebhookEndpoint":    {method: http.MethodGet, target: one},
		"changeWebhookEndpoint": {method: http.MethodPatch, target: one, body: `{"status":"disabled"}`},
		"rotateWebhookSecret":   {method: http.MethodPost, target: one + "/rotate-secret"},
		"testWebhookEndpoint":   {method: http.MethodPost, target: one + "/test"},
		"replayWebhookEvents":   {method: http.MethodPost, target: one + "/replay", body: `{"after":0}`},
		"listWebhookDeliveries": {method: http.MethodGet, target: one + "/deliveries"},
	}
}

// successes are the statuses of operations that are neither 200, nor 201 of a POST.
func successes() map[string]int {
	return map[string]int{
		"createRewards": http.StatusOK, "rotateWebhookSecret": http.StatusOK, "testWebhookEndpoint": http.StatusAccepted,
		"replayWebhookEvents": http.StatusAccepted, "deleteWebhookEndpoint": http.StatusNoContent,
	}
}

func (s brokenStore) WebhookEndpoints(
	context.Context, rewards.AppID, rewards.Page[rewards.WebhookEndpoint],
) ([]rewards.WebhookEndpoint, error) {
	return nil, s.err
}

func (s brokenStore) WebhookEndpoint(
	context.Context, rewards.AppID, rewards.WebhookEndpointID,
) (rewards.WebhookEndpoint, error) {
	return rewards.WebhookEndpoint{}, s.err
}

func (s brokenStore) CreateWebhookEndpoint(
	context.Context, rewards.WebhookEndpoint,
) (rewards.WebhookEndpoint, error) {
	return rewards.WebhookEndpoint{}, s.err
}

func (s brokenStore) ChangeWebhookEndpoint(
	context.Context, rewards.AppID, rewards.WebhookEndpointID, func(*rewards.WebhookEndpoint),
) (rewards.WebhookEndpoint, error) {
	return rewards.WebhookEndpoint{}, s.err
}

func (s brokenStore) DeleteWebhookEndpoint(context.Context, rewards.AppID, rewards.WebhookEndpointID) error {
	return s.err
}

func (s brokenStore) AddWebhookTest(
	context.Context, rewards.AppID, rewards.WebhookEndpointID,
) (rewards.EventID, error) {
	return rewards.EventID{}, s.err
}

func (s brokenStore) Deliveries(
	context.Context, rewards.AppID, rewards.WebhookEndpointID, rewards.DeliveryPage,
) ([]rewards.Delivery, error) {
	return nil, s.err
}
