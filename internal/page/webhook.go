package page

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"stockrewards/internal/rewards"
)

// maxDeliveries is how many deliveries of each status an endpoint shows.
const maxDeliveries = 3

// endpoint is a webhook endpoint with its deliveries.
type endpoint struct {
	rewards.WebhookEndpoint

	Next       *rewards.Event     // the oldest event that was not sent; nil: all were, or it is Unclear
	Unclear    bool               // the log must be read further to find Next
	Deliveries []rewards.Delivery // those that wait, then those that failed, then the last that arrived
}

// Status is "enabled", "failing" or "disabled".
func (e endpoint) Status() string {
	switch {
	case e.Disabled != "":
		return "disabled"
	case !e.FailingSince.IsZero():
		return "failing"
	}
	return "enabled"
}

// Reason is why the endpoint is disabled, without the code.
func (e endpoint) Reason() string {
	_, text, _ := strings.Cut(e.Disabled, ": ")
	return text
}

// Gets are the types of the endpoint's events.
func (e endpoint) Gets() string {
	if e.Types == 0 {
		return "all events"
	}
	return strings.ReplaceAll(e.Types.String(), ",", ", ")
}

// endpoints lists the app's webhook endpoints.
func (h *handler) endpoints(ctx context.Context) ([]endpoint, error) {
	page := rewards.Page[rewards.WebhookEndpoint]{Limit: rewards.MaxWebhookEndpoints}
	found, err := h.Service.WebhookEndpoints(ctx, h.App, page)
	if err != nil {
		return nil, err
	}
	list := make([]endpoint, len(found))
	for i, e := range found {
		list[i].WebhookEndpoint = e
		unsent, err := h.Service.EventsAfter(ctx, h.App, e.Cursor, e.Subscribed(), 1)
		if err != nil && rewards.CodeOf(err) != rewards.CodeUnavailable { // an upgrade lists the past
			return nil, err
		}
		if len(unsent.Events) > 0 {
			list[i].Next = &unsent.Events[0]
		}
		list[i].Unclear = err != nil || list[i].Next == nil && unsent.More
		for _, status := range []rewards.DeliveryStatus{
			rewards.DeliveryPending, rewards.DeliveryFailed, rewards.DeliveryDelivered,
		} {
			p := rewards.DeliveryPage{Status: status, Limit: maxDeliveries}
			some, err := h.Service.Deliveries(ctx, h.App, e.ID, p)
			if err != nil && rewards.CodeOf(err) != rewards.CodeNotFound { // it was deleted just now
				return nil, err
			}
			list[i].Deliveries = append(list[i].Deliveries, some...)
		}
	}
	return list, nil
}

// sendTest sends a test to an endpoint, through the same use case as the API.
func (h *handler) sendTest(w http.ResponseWriter, r *http.Request) {
	id, err := rewards.ParseID[rewards.WebhookEndpoint](r.PostForm.Get("webhook"))
	if err == nil {
		_, _, err = h.Service.Authenticate(r.Context(), h.Key)
	}
	if err == nil {
		_, err = h.Service.TestWebhook(r.Context(), h.App, id)
	}
	e, refused := errors.AsType[*rewards.Error](err)
	switch {
	case err == nil:
		http.Redirect(w, r, "/?"+url.Values{"tested": {id.String()}}.Encode()+"#tested", http.StatusSeeOther)
	case errors.Is(err, rewards.ErrBadID) || refused && e.Code == rewards.CodeNotFound:
		http.Error(w, "there is no such webhook endpoint; nothing was sent", http.StatusNotFound)
	case refused && e.Code != rewards.CodeInternal:
		http.Error(w, "nothing was sent: "+e.Message, http.StatusForbidden)
	default:
		h.fail(w, r, err)
	}
}

// tested returns the address of the endpoint that the form has just sent a test to; "" when there is no such
// endpoint.
func (v view) tested(id string) string {
	for _, e := range v.Endpoints {
		if e.ID.String() == id {
			return e.URL
		}
	}
	return ""
}
