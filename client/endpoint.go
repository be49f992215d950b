package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// NewWebhookEndpoint is an address that gets webhooks.
type NewWebhookEndpoint struct {
	URL         string   `json:"url"`             // https
	Types       []string `json:"types,omitempty"` // of events; nil: all
	Description string   `json:"description,omitempty"`
}

// WebhookEndpoint is an address that gets webhooks.
type WebhookEndpoint struct {
	ID             string    `json:"id"`
	AppID          string    `json:"appId"`
	URL            string    `json:"url"`
	Types          []string  `json:"types"`
	Description    string    `json:"description"`
	Status         string    `json:"status"` // "enabled" or "disabled"
	DisabledReason string    `json:"disabledReason"`
	CreatedAt      time.Time `json:"createdAt"`
}

func (e *WebhookEndpoint) missing() bool { return e.ID == "" }

const endpoints = "/v1/webhook-endpoints"

// CreateWebhookEndpoint adds an address and returns its secret, which is shown only now. It is
// not retried after a lost answer: list the endpoints before you call it again.
func (c *Client) CreateWebhookEndpoint(
	ctx context.Context, e NewWebhookEndpoint,
) (made WebhookEndpoint, secret string, err error) {
	var answer opened
	err = c.Do(ctx, http.MethodPost, endpoints, e, &answer)
	return answer.WebhookEndpoint, answer.Secret, err
}

// opened is the answer to a new address.
type opened struct {
	WebhookEndpoint WebhookEndpoint
	Secret          string
}

func (o *opened) missing() bool { return o.WebhookEndpoint.missing() || o.Secret == "" }

// WebhookEndpoints goes through the app's addresses. After an error it ends.
func (c *Client) WebhookEndpoints(ctx context.Context) iter.Seq2[WebhookEndpoint, error] {
	return List[WebhookEndpoint](ctx, c, endpoints, nil)
}

// WebhookEndpoint reads an address.
func (c *Client) WebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error) {
	return ask[WebhookEndpoint](ctx, c, http.MethodGet, endpointPath(id, ""), nil, "webhookEndpoint")
}

// EndpointChange changes an address. A nil member stays.
type EndpointChange struct {
	URL              *string
	Types            []string // of events
	AllTypes         bool     // deliver events of all types again
	Description      *string
	EraseDescription bool    // remove the description
	Status           *string // "enabled" or "disabled"
}

// MarshalJSON implements json.Marshaler.
func (e EndpointChange) MarshalJSON() ([]byte, error) {
	members := map[string]any{}
	if e.URL != nil {
		members["url"] = e.URL
	}
	switch {
	case len(e.Types) > 0:
		members["types"] = e.Types
	case e.AllTypes:
		members["types"] = nil
	}
	if e.Description != nil || e.EraseDescription {
		members["description"] = e.Description
	}
	if e.Status != nil {
		members["status"] = e.Status
	}
	return json.Marshal(members)
}

// ChangeWebhookEndpoint changes an address. One that is enabled gets what it missed.
func (c *Client) ChangeWebhookEndpoint(ctx context.Context, id string, change EndpointChange) (WebhookEndpoint, error) {
	return ask[WebhookEndpoint](ctx, c, http.MethodPatch, endpointPath(id, ""), change, "webhookEndpoint")
}

// RotateWebhookSecret gives an address a new secret. For 24 hours deliveries are signed by both; of several old secrets
// at most four sign. It is not retried after a lost answer: call it again.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string) (secret string, err error) {
	return ask[string](ctx, c, http.MethodPost, endpointPath(id, "/rotate-secret"), nil, "secret")
}

// TestWebhook sends a test.ping to an address, and returns its id. It is in no feed.
func (c *Client) TestWebhook(ctx context.Context, id string) (eventID string, err error) {
	return ask[string](ctx, c, http.MethodPost, endpointPath(id, "/test"), nil, "eventId")
}

// Delivery is one event on its way to an address.
type Delivery struct {
	EventID        string     `json:"eventId"`
	Type           string     `json:"type"`
	Status         string     `json:"status"` // "pending", "delivered" or "failed"
	Attempts       int        `json:"attempts"`
	LastStatusCode *int       `json:"lastStatusCode"`
	LastError      string     `json:"lastError"`
	LastAttemptAt  *time.Time `json:"lastAttemptAt"`
	NextAttemptAt  *time.Time `json:"nextAttemptAt"`
}

// Deliveries goes through the deliveries of an address, newest first; status selects some, "" all.
// After an error it ends.
func (c *Client) Deliveries(ctx context.Context, id, status string) iter.Seq2[Delivery, error] {
	return List[Delivery](ctx, c, endpointPath(id, "/deliveries"), query("status", status))
}

func endpointPath(id, what string) string { return endpoints + "/" + url.PathEscape(id) + what }

// DeleteWebhookEndpoint removes an address. After a lost answer it may be gone already, which
// is no error.
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, id string) error {
	r, err := newRequest(http.MethodDelete, endpointPath(id, ""), nil)
	if err != nil {
		return err
	}
	o, err := c.send(ctx, r, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound && o.uncertain {
		return nil
	}
	return err
}

// ReplayWebhooks delivers the events after a sequence to an address again.
func (c *Client) ReplayWebhooks(ctx context.Context, id string, after int64) error {
	body := map[string]int64{"after": after}
	return c.Do(ctx, http.MethodPost, endpointPath(id, "/replay"), body, nil)
}
