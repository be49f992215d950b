package rewards

import (
	"context"
	"fmt"
	"io"
)

// WebhookStore is what the use cases of webhooks read and write. A method with the id of an endpoint
// fails with CodeNotFound when the app has no such endpoint.
type WebhookStore interface {
	// WebhookEndpoints lists endpoints of the app, newest first.
	WebhookEndpoints(ctx context.Context, app AppID, p Page[WebhookEndpoint]) ([]WebhookEndpoint, error)
	// WebhookEndpoint returns an endpoint of the app.
	WebhookEndpoint(ctx context.Context, app AppID, id WebhookEndpointID) (WebhookEndpoint, error)
	// CreateWebhookEndpoint stores an endpoint with a new id, which gets the events from now on. It
	// fails with ErrTooManyEndpoints.
	CreateWebhookEndpoint(ctx context.Context, e WebhookEndpoint) (WebhookEndpoint, error)
	// ChangeWebhookEndpoint stores what change makes of an endpoint. Pending deliveries are due at
	// once after it is enabled, or after its cursor went back.
	ChangeWebhookEndpoint(ctx context.Context, app AppID, id WebhookEndpointID, change func(*WebhookEndpoint)) (
		WebhookEndpoint, error)
	// DeleteWebhookEndpoint deletes an endpoint and its deliveries.
	DeleteWebhookEndpoint(ctx context.Context, app AppID, id WebhookEndpointID) error
	// AddWebhookTest stores a test that is due, and returns its id.
	AddWebhookTest(ctx context.Context, app AppID, id WebhookEndpointID) (EventID, error)
	// Deliveries lists the deliveries of an endpoint, newest first.
	Deliveries(ctx context.Context, app AppID, id WebhookEndpointID, p DeliveryPage) ([]Delivery, error)
}

// Webhooks are the settings of webhooks.
type Webhooks struct {
	Addresses WebhookAddresses
	Sealer    Sealer    // nil: there is no key, so no endpoint can be created
	Random    io.Reader // of secrets
	Nudge     func()    // called after a change that may make a delivery due; it must not block
}

// SetWebhooks configures webhooks. It must be called before the first request.
func (s *Service) SetWebhooks(w Webhooks) { s.webhooks = w }

// WebhookEndpoints lists endpoints of the app, newest first (additions, section 5).
func (s *Service) WebhookEndpoints(
	ctx context.Context, app AppID, p Page[WebhookEndpoint],
) ([]WebhookEndpoint, error) {
	return s.store.WebhookEndpoints(ctx, app, p)
}

// WebhookEndpoint returns an endpoint of the app, or fails with CodeNotFound (additions, section 5).
func (s *Service) WebhookEndpoint(ctx context.Context, app AppID, id WebhookEndpointID) (WebhookEndpoint, error) {
	return s.store.WebhookEndpoint(ctx, app, id)
}

// CheckWebhookURL fails when it is plain that webhooks must not be sent to a URL.
func (s *Service) CheckWebhookURL(url string) error { return s.webhooks.Addresses.CheckURL(url) }

// CreateWebhookEndpoint creates an endpoint and returns it with its secret, which is shown only this
// once. It fails with CodeUnavailable without a key for secrets, and with CodeUnprocessable when the
// app has too many endpoints (additions, section 5).
func (s *Service) CreateWebhookEndpoint(ctx context.Context, e WebhookEndpoint) (WebhookEndpoint, string, error) {
	secret, sealed, err := s.newWebhookSecret(e.AppID)
	if err != nil {
		return e, "", err
	}
	e.Secret = sealed
	if e, err = s.store.CreateWebhookEndpoint(ctx, e); err != nil {
		return e, "", err
	}
	s.webhooks.Nudge()
	return e, secret, nil
}

// RotateWebhookSecret gives an endpoint a new secret and returns it. For 24 hours requests are signed
// by the old one too (additions, section 5).
func (s *Service) RotateWebhookSecret(ctx context.Context, app AppID, id WebhookEndpointID) (string, error) {
	if _, err := s.store.WebhookEndpoint(ctx, app, id); err != nil {
		return "", err
	}
	secret, sealed, err := s.newWebhookSecret(app)
	if err != nil {
		return "", err
	}
	_, err = s.ChangeWebhookEndpoint(ctx, app, id, func(e *WebhookEndpoint) { e.Rotate(sealed, s.now()) })
	return secret, err
}

func (s *Service) newWebhookSecret(app AppID) (shown string, sealed SealedSecret, err error) {
	if s.webhooks.Sealer == nil {
		return "", nil, Unavailable("the service has no key for the secrets of webhooks: "+
			"its operator must start it with --webhook-key-file", nil)
	}
	secret, err := NewWebhookSecret(s.webhooks.Random)
	if err != nil {
		return "", nil, fmt.Errorf("cannot make a secret: %w", err)
	}
	sealed, err = s.webhooks.Sealer.Seal(app, secret)
	return ShowWebhookSecret(secret), sealed, err
}

// ChangeWebhookEndpoint stores what change makes of an endpoint (additions, section 5).
func (s *Service) ChangeWebhookEndpoint(
	ctx context.Context, app AppID, id WebhookEndpointID, change func(*WebhookEndpoint),
) (WebhookEndpoint, error) {
	e, err := s.store.ChangeWebhookEndpoint(ctx, app, id, change)
	if err == nil {
		s.webhooks.Nudge()
	}
	return e, err
}

// DeleteWebhookEndpoint deletes an endpoint with its deliveries (additions, section 5).
func (s *Service) DeleteWebhookEndpoint(ctx context.Context, app AppID, id WebhookEndpointID) error {
	err := s.store.DeleteWebhookEndpoint(ctx, app, id)
	if err == nil {
		s.webhooks.Nudge()
	}
	return err
}

// TestWebhook sends a test to an endpoint, even if it is disabled, and returns its id (additions,
// section 5).
func (s *Service) TestWebhook(ctx context.Context, app AppID, id WebhookEndpointID) (EventID, error) {
	message, err := s.store.AddWebhookTest(ctx, app, id)
	if err == nil {
		s.webhooks.Nudge()
	}
	return message, err
}

// Deliveries lists the deliveries of an endpoint, newest first (additions, section 5).
func (s *Service) Deliveries(
	ctx context.Context, app AppID, id WebhookEndpointID, p DeliveryPage,
) ([]Delivery, error) {
	return s.store.Deliveries(ctx, app, id, p)
}

// ErrTooManyTests returns the error of an endpoint with as many tests that wait as it may have.
func ErrTooManyTests() error {
	return &Error{
		Code:    CodeUnprocessable,
		Message: fmt.Sprintf("%d tests of the webhook endpoint wait for their delivery", MaxPendingTests),
	}
}

// ErrTooManyEndpoints returns the error of an app that has as many endpoints as it may have.
func ErrTooManyEndpoints() error {
	return &Error{
		Code:    CodeUnprocessable,
		Message: fmt.Sprintf("the app has %d webhook endpoints: delete one first", MaxWebhookEndpoints),
	}
}
