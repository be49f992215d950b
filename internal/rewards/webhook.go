package rewards

import (
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"time"
)

// WebhookEndpoint is an address of an app that gets its events by signed HTTP requests.
type WebhookEndpoint struct {
	ID          WebhookEndpointID
	AppID       AppID
	URL         string
	Types       EventTypes // of the events that it gets; 0: all, later ones included
	Description string
	Disabled    string // why it is disabled, "<stable_code>: <text>"; "": it is enabled

	Secret     SealedSecret
	OldSecrets []OldSecret // newest first; some may have ended

	// Cursor is a sequence. Each event up to it, of a type that the endpoint gets, was delivered or
	// has a Delivery.
	Cursor       int64
	FailingSince time.Time // the first failure after the last success; zero: the last attempt succeeded
	Version      int64     // grows with each change that the app or an operator makes
}

// OldSecret is a secret that was replaced.
type OldSecret struct {
	Sealed SealedSecret
	Until  time.Time // until when requests are signed by it too
}

// WebhookEndpointID identifies a WebhookEndpoint.
type WebhookEndpointID = ID[WebhookEndpoint]

// SealedSecret is an encrypted secret. Only a Sealer can read it.
type SealedSecret []byte

// Sealer encrypts the secrets that sign webhooks. It is safe for concurrent use.
type Sealer interface {
	// Seal encrypts a secret of an app.
	Seal(app AppID, secret []byte) (SealedSecret, error)
	// Open decrypts a secret of that app. It fails for any other app.
	Open(app AppID, sealed SealedSecret) ([]byte, error)
}

// The limits of webhooks.
const (
	MaxWebhookEndpoints   = 16                 // of an app
	MaxPendingTests       = 100                // of an endpoint
	MaxWebhookURL         = 2048               // characters
	MaxWebhookDescription = 200                // characters
	KeptDeliveries        = 1000               // the fewest delivered ones that an endpoint keeps
	webhookOverlap        = 24 * time.Hour     // of the old and the new secret
	mostOldSecrets        = 4                  // that sign; each makes a request longer
	failingLimit          = 5 * 24 * time.Hour // then an endpoint that only fails is disabled
	failingAlarm          = 24 * time.Hour     // then it has an alarm
	webhookSecretBytes    = 32
)

// Why an endpoint is disabled.
const (
	DisabledByApp = "requested: the app disabled it"
	DisabledGone  = "gone: the address answered 410"
	DisabledFails = "failing: every attempt failed for five days"
	disabledByOp  = "operator: "
)

// CreatedAt returns when the endpoint was created.
func (e WebhookEndpoint) CreatedAt() time.Time { return e.ID.Time() }

// Subscribed returns the types of the events that the endpoint gets.
func (e WebhookEndpoint) Subscribed() EventTypes {
	if e.Types == 0 {
		return AllEvents
	}
	return e.Types
}

// NewWebhookSecret returns a secret of 32 random bytes. It fails only if random fails.
func NewWebhookSecret(random io.Reader) ([]byte, error) {
	secret := make([]byte, webhookSecretBytes)
	_, err := io.ReadFull(random, secret)
	return secret, err
}

// webhookSecretPrefix begins a secret as receivers configure it.
const webhookSecretPrefix = "whsec_"

// ShowWebhookSecret returns a secret as receivers configure it.
func ShowWebhookSecret(secret []byte) string {
	return webhookSecretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// ParseWebhookSecret reads a secret as receivers configure it. It fails unless it has 24 to 64 bytes
// (Standard Webhooks 1.0.0).
func ParseWebhookSecret(text string) ([]byte, error) {
	const least, most = 24, 64
	encoded, prefixed := strings.CutPrefix(text, webhookSecretPrefix)
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !prefixed || err != nil || len(secret) < least || len(secret) > most {
		return nil, errors.New("a webhook secret must be whsec_ followed by 24 to 64 bytes in base64")
	}
	return secret, nil
}

// Rotate replaces the secret at the time now. For 24 hours requests are signed by both. At most four old secrets sign:
// a fifth rotation within 24 hours ends the oldest.
func (e *WebhookEndpoint) Rotate(secret SealedSecret, now time.Time) {
	old := []OldSecret{{e.Secret, now.Add(webhookOverlap)}}
	for _, o := range e.OldSecrets {
		if now.Before(o.Until) && len(old) < mostOldSecrets {
			old = append(old, o)
		}
	}
	e.Secret, e.OldSecrets = secret, old
}

// Secrets returns the sealed secrets that sign a request at the time now, newest first.
func (e WebhookEndpoint) Secrets(now time.Time) []SealedSecret {
	secrets := []SealedSecret{e.Secret}
	for _, o := range e.OldSecrets {
		if now.Before(o.Until) {
			secrets = append(secrets, o.Sealed)
		}
	}
	return secrets
}

// Enable enables the endpoint. A new count of failures begins.
func (e *WebhookEndpoint) Enable() { e.Disabled, e.FailingSince = "", time.Time{} }

// Disable disables an enabled endpoint for a reason.
func (e *WebhookEndpoint) Disable(reason string) {
	if e.Disabled == "" {
		e.Disabled = reason
	}
}

// DisableFor disables the endpoint for an operator's reason, even if it is disabled. That ends the
// alarm of an endpoint that the service has disabled.
func (e *WebhookEndpoint) DisableFor(reason string) { e.Disabled = disabledByOp + reason }

// disabledByService reports whether the service disabled the endpoint by itself.
func (e WebhookEndpoint) disabledByService() bool {
	return e.Disabled == DisabledGone || e.Disabled == DisabledFails
}

// ReplayFrom sends every event after a sequence again. It never skips an event that was not sent.
func (e *WebhookEndpoint) ReplayFrom(after int64) { e.Cursor = min(e.Cursor, after) }

// Answered notes the result of an attempt at the time at.
func (e *WebhookEndpoint) Answered(a WebhookAnswer, at time.Time) {
	switch {
	case a.Success():
		e.FailingSince = time.Time{}
		return
	case e.FailingSince.IsZero():
		e.FailingSince = at
	case at.Sub(e.FailingSince) >= failingLimit:
		e.Disable(DisabledFails)
	}
	if a.Gone() {
		e.Disable(DisabledGone)
	}
}

// Alarm returns the alarm that the endpoint raises at the time now, and whether it raises one.
func (e WebhookEndpoint) Alarm(now time.Time) (Alarm, bool) {
	switch {
	case e.disabledByService():
		return Alarm{
			Name:    AlarmWebhookDisabled + e.ID.String(),
			Message: "the webhook endpoint is disabled: " + e.Disabled + "; its events wait until the app enables it",
		}, true
	case e.Disabled == "" && !e.FailingSince.IsZero() && now.Sub(e.FailingSince) >= failingAlarm:
		return Alarm{
			Name:    AlarmWebhookFailing + e.ID.String(),
			Message: "every attempt has failed since " + e.FailingSince.UTC().Format(time.RFC3339),
		}, true
	}
	return Alarm{}, false
}

// WebhookChange is a client's change of an endpoint; nil members stay.
type WebhookChange struct {
	URL         *string
	Types       *EventTypes
	Description *string
	Enabled     *bool
}

// Apply changes the endpoint.
func (c WebhookChange) Apply(e *WebhookEndpoint) {
	if c.URL != nil {
		e.URL = *c.URL
	}
	if c.Types != nil {
		e.Types = *c.Types
	}
	if c.Description != nil {
		e.Description = *c.Description
	}
	switch {
	case c.Enabled == nil:
	case *c.Enabled && e.Disabled == "": // it keeps its FailingSince
	case *c.Enabled:
		e.Enable()
	default:
		e.Disable(DisabledByApp)
	}
}

// Object names the endpoint in the operator log.
func (e WebhookEndpoint) Object() string { return "webhook endpoint " + e.ID.String() }

// State returns what operators change, for the operator log.
func (e WebhookEndpoint) State() State {
	return State{
		{"app", e.AppID.String()}, {"disabled", YesNo(e.Disabled != "")}, {"why", e.Disabled},
	}
}

// Configured returns what an operator sets by a configuration file, for the operator log.
func (e WebhookEndpoint) Configured() State {
	return append(e.State(), State{
		{"url", e.URL}, {"types", e.Subscribed().String()}, {"description", e.Description},
	}...)
}
