package api

import (
	"context"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/rewards"
)

// listEndpoints serves GET /v1/webhook-endpoints (additions, section 5).
func (s *server) listEndpoints(ctx context.Context, c call) (reply, error) {
	return listing[rewards.WebhookEndpoint]{
		name: "webhookEndpoints",
		read: func(place []byte, limit int) ([]rewards.WebhookEndpoint, error) {
			return s.Service.WebhookEndpoints(ctx, c.app, pageOf[rewards.WebhookEndpoint](place, limit))
		},
		place:  func(e rewards.WebhookEndpoint) []byte { return e.ID[:] },
		append: appendEndpoint,
	}.reply(s, c, c.query())
}

// createEndpoint serves POST /v1/webhook-endpoints (additions, section 5).
func (s *server) createEndpoint(ctx context.Context, c call) (reply, error) {
	f, err := s.parse(c.body)
	if err != nil {
		return reply{}, err
	}
	e := rewards.WebhookEndpoint{
		AppID: c.app, URL: s.webhookURL(f), Types: f.eventTypes("types"), Description: f.webhookDescription(),
	}
	if err := c.wrongIn(f); err != nil {
		return reply{}, err
	}
	e, secret, err := s.Service.CreateWebhookEndpoint(ctx, e)
	if err != nil {
		return reply{}, err
	}
	o := s.begin()
	appendObject(&o, "webhookEndpoint", appendEndpoint, e)
	o.string("secret", secret)
	return o.reply(http.StatusCreated), nil
}

// getEndpoint serves GET /v1/webhook-endpoints/{webhookEndpointId} (additions, section 5).
func (s *server) getEndpoint(ctx context.Context, c call) (reply, error) {
	id, err := endpointID(c)
	if err != nil {
		return reply{}, err
	}
	e, err := s.Service.WebhookEndpoint(ctx, c.app, id)
	return single(s, http.StatusOK, "webhookEndpoint", appendEndpoint, e, err)
}

// changeEndpoint serves PATCH /v1/webhook-endpoints/{webhookEndpointId} (additions, section 5).
func (s *server) changeEndpoint(ctx context.Context, c call) (reply, error) {
	id, f := formOf[rewards.WebhookEndpoint](s, c, "webhookEndpointId")
	var change rewards.WebhookChange
	if f.given("url") {
		change.URL = new(s.webhookURL(f))
	}
	if f.find("types") != nil {
		change.Types = new(f.eventTypes("types"))
	}
	if f.find("description") != nil {
		change.Description = new(f.webhookDescription())
	}
	if f.given("status") {
		change.Enabled = new(f.enabled("status"))
	}
	if f.sound() && change == (rewards.WebhookChange{}) {
		f.issue("", "url, types, description or status is required")
	}
	if err := c.wrongIn(f); err != nil {
		return reply{}, err
	}
	e, err := s.Service.ChangeWebhookEndpoint(ctx, c.app, id, change.Apply)
	return single(s, http.StatusOK, "webhookEndpoint", appendEndpoint, e, err)
}

// deleteEndpoint serves DELETE /v1/webhook-endpoints/{webhookEndpointId} (additions, section 5).
func (s *server) deleteEndpoint(ctx context.Context, c call) (reply, error) {
	id, err := endpointID(c)
	if err == nil {
		err = s.Service.DeleteWebhookEndpoint(ctx, c.app, id)
	}
	return reply{status: http.StatusNoContent}, err
}

// rotateSecret serves POST /v1/webhook-endpoints/{webhookEndpointId}/rotate-secret.
func (s *server) rotateSecret(ctx context.Context, c call) (reply, error) {
	id, err := endpointID(c)
	if err != nil {
		return reply{}, err
	}
	secret, err := s.Service.RotateWebhookSecret(ctx, c.app, id)
	o := s.begin()
	o.string("secret", secret)
	return o.reply(http.StatusOK), err
}

// testEndpoint serves POST /v1/webhook-endpoints/{webhookEndpointId}/test.
func (s *server) testEndpoint(ctx context.Context, c call) (reply, error) {
	id, err := endpointID(c)
	if err != nil {
		return reply{}, err
	}
	event, err := s.Service.TestWebhook(ctx, c.app, id)
	o := s.begin()
	o.id("eventId", event.Append)
	return o.reply(http.StatusAccepted), err
}

// replay serves POST /v1/webhook-endpoints/{webhookEndpointId}/replay.
func (s *server) replay(ctx context.Context, c call) (reply, error) {
	id, f := formOf[rewards.WebhookEndpoint](s, c, "webhookEndpointId")
	after := f.sequence("after")
	if err := c.wrongIn(f); err != nil {
		return reply{}, err
	}
	_, err := s.Service.ChangeWebhookEndpoint(ctx, c.app, id, func(e *rewards.WebhookEndpoint) { e.ReplayFrom(after) })
	return reply{status: http.StatusAccepted, body: []byte("{}")}, err
}

// listDeliveries serves GET /v1/webhook-endpoints/{webhookEndpointId}/deliveries.
func (s *server) listDeliveries(ctx context.Context, c call) (reply, error) {
	id, err := endpointID(c)
	q := c.query("status")
	if err != nil {
		q.issue("webhookEndpointId", rewards.ErrBadID.Error())
	}
	status := q.deliveryStatus("status")
	return listing[rewards.Delivery]{
		name: "deliveries",
		read: func(place []byte, limit int) ([]rewards.Delivery, error) {
			page := rewards.DeliveryPage{Status: status, Before: deliveryPlace(place), Limit: limit}
			return s.Service.Deliveries(ctx, c.app, id, page)
		},
		place: func(d rewards.Delivery) []byte {
			place := binary.BigEndian.AppendUint64(nil, uint64(d.Number))
			return binary.BigEndian.AppendUint64(place, uint64(d.Sequence))
		},
		append: appendDelivery,
	}.reply(s, c, q)
}

// deliveryPlace reads a delivery's place in a cursor.
func deliveryPlace(place []byte) (p rewards.DeliveryPlace) {
	const number = 8 // bytes
	if len(place) == 2*number {
		p.Number = int64(binary.BigEndian.Uint64(place))
		p.Sequence = int64(binary.BigEndian.Uint64(place[number:]))
	}
	return p
}

func endpointID(c call) (rewards.WebhookEndpointID, error) {
	return pathID[rewards.WebhookEndpoint](c, "webhookEndpointId")
}

func (s *server) webhookURL(f *form) string {
	url := f.string("url", true, bounds{1, rewards.MaxWebhookURL})
	if url != "" {
		if err := s.Service.CheckWebhookURL(url); err != nil {
			f.issue("url", err.Error())
		}
	}
	return url
}

func (f *form) webhookDescription() string {
	return f.string("description", false, bounds{1, rewards.MaxWebhookDescription})
}

// enabled reads a status.
func (f *form) enabled(name string) bool {
	v, ok := f.member(name, true, '"')
	if ok && unquote(v) != statusEnabled && unquote(v) != statusDisabled {
		f.issue(name, "must be enabled or disabled")
	}
	return ok && unquote(v) == statusEnabled
}

// eventTypes reads an optional list of types; 0 means all.
func (f *form) eventTypes(name string) (types rewards.EventTypes) {
	v, ok := f.member(name, false, '[')
	if !ok {
		return 0
	}
	var given []jsontext.Value
	if given, ok = elements(v); !ok || len(given) == 0 {
		f.issue(name, "must name a type, or be left out for all")
	}
	for i, one := range given {
		t, known := rewards.EventType(0), false
		if one.Kind() == '"' {
			t, known = rewards.ParseEventType(unquote(one))
		}
		if !known {
			f.issue(name+"["+strconv.Itoa(i)+"]", "must be one of "+rewards.AllEvents.String())
			continue
		}
		types |= t
	}
	return types
}

// elements returns the elements of a list that the decoder has accepted.
func elements(list jsontext.Value) (values []jsontext.Value, ok bool) {
	d := jsontext.NewDecoder(strings.NewReader(string(list)))
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		values = append(values, v.Clone())
	}
	return values, true
}

// sequence reads a required sequence of an event, or 0.
func (f *form) sequence(name string) int64 {
	v, ok := f.member(name, true, '0')
	if !ok {
		return 0
	}
	const decimal, bits = 10, 64
	n, err := strconv.ParseInt(string(v), decimal, bits)
	if err != nil || n < 0 || n > maxSequence {
		f.issue(name, "must be an integer from 0 to "+strconv.FormatInt(maxSequence, decimal))
		return 0
	}
	return n
}

// deliveryStatus reads an optional status of deliveries; 0 means not given.
func (q *query) deliveryStatus(name string) rewards.DeliveryStatus {
	value, ok := q.one(name)
	if !ok {
		return 0
	}
	status, known := rewards.ParseDeliveryStatus(value)
	if !known {
		q.issue(name, "must be one of pending, delivered, failed")
	}
	return status
}

// The status of an endpoint.
const (
	statusEnabled  = "enabled"
	statusDisabled = "disabled"
)

// appendEndpoint writes a webhook endpoint (additions, section 5).
func appendEndpoint(b []byte, e rewards.WebhookEndpoint) []byte {
	o := begin(b)
	o.id("id", e.ID.Append)
	o.id("appId", e.AppID.Append)
	o.string("url", e.URL)
	o.raw("types", `["`+strings.ReplaceAll(e.Subscribed().String(), ",", `","`)+`"]`)
	o.optional("description", e.Description)
	if e.Disabled == "" {
		o.string("status", statusEnabled)
	} else {
		o.string("status", statusDisabled)
	}
	o.optional("disabledReason", e.Disabled)
	o.time("createdAt", e.CreatedAt())
	return o.end()
}

// appendDelivery writes a delivery (additions, section 5).
func appendDelivery(b []byte, d rewards.Delivery) []byte {
	o := begin(b)
	o.id("eventId", d.EventID.Append)
	o.string("type", d.Type)
	o.string("status", d.Status.String())
	o.integer("attempts", d.Attempts)
	if d.StatusCode == 0 {
		o.raw("lastStatusCode", "null")
	} else {
		o.integer("lastStatusCode", d.StatusCode)
	}
	o.optional("lastError", d.Error)
	o.optionalTime("lastAttemptAt", d.TriedAt)
	o.optionalTime("nextAttemptAt", d.NextAt)
	return o.end()
}
