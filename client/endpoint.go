package client

import (
	"context"
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

const endpoints = "/v1/webhook-endpoints"

// CreateWebhookEndpoint adds an address and returns its secret, which is shown only now. It is
// not retried after a lost answer: list the endpoints before you call it again.
func (c *Client) CreateWebhookEndpoint(
	ctx context.Context, e NewWebhookEndpoint,
) (made WebhookEndpoint, secret string, err error) {
	var answer struct {
		WebhookEndpoint WebhookEndpoint
		Secret          string
	}
	err = c.Do(ctx, http.MethodPost, endpoints, e, &answer)
	return answer.WebhookEndpoint, answer.Secret, err
}

// WebhookEndpoints goes through the app's addresses. After an error it ends.
func (c *Client) WebhookEndpoints(ctx context.Context) iter.Seq2[WebhookEndpoint, error] {
	return List[WebhookEndpoint](ctx, c, endpoints, nil)
}

// DeleteWebhookEndpoint removes an address. After a lost answer it may be gone already, which
// is no error.
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, id string) error {
	r, err := newRequest(http.MethodDelete, endpoints+"/"+url.PathEscape(id), nil)
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
	return c.Do(ctx, http.MethodPost, endpoints+"/"+url.PathEscape(id)+"/replay", body, nil)
}
