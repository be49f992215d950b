package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"example.com/rewardsclient/api"
)

const hook = "https://example.com/hook"

// call sends one operation about a webhook endpoint and wants a status.
type call func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error

// hooks are the operations about webhook endpoints.
func (p *program) hooks(c *api.ClientWithResponses) map[string]call {
	return map[string]call{
		"listWebhookEndpoints": func(ctx context.Context, _ uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.ListWebhookEndpointsWithResponse(ctx, nil, edits...)
			return saw("listWebhookEndpoints", status, a, err)
		},
		"createWebhookEndpoint": func(ctx context.Context, _ uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.CreateWebhookEndpointWithResponse(ctx, nil, api.NewWebhookEndpoint{Url: hook}, edits...)
			return saw("createWebhookEndpoint", status, a, err)
		},
		"getWebhookEndpoint": func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.GetWebhookEndpointWithResponse(ctx, id, nil, edits...)
			return saw("getWebhookEndpoint", status, a, err)
		},
		"changeWebhookEndpoint": func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			url := hook
			a, err := c.ChangeWebhookEndpointWithResponse(ctx, id, nil, api.WebhookEndpointChange{Url: &url}, edits...)
			return saw("changeWebhookEndpoint", status, a, err)
		},
		"rotateWebhookSecret": func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.RotateWebhookSecretWithResponse(ctx, id, nil, edits...)
			return saw("rotateWebhookSecret", status, a, err)
		},
		"testWebhookEndpoint": func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.TestWebhookEndpointWithResponse(ctx, id, nil, edits...)
			return saw("testWebhookEndpoint", status, a, err)
		},
		"replayWebhookEvents": func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.ReplayWebhookEventsWithResponse(ctx, id, nil, api.WebhookReplay{After: 0}, edits...)
			return saw("replayWebhookEvents", status, a, err)
		},
		"listWebhookDeliveries": func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.ListWebhookDeliveriesWithResponse(ctx, id, nil, edits...)
			return saw("listWebhookDeliveries", status, a, err)
		},
		"deleteWebhookEndpoint": func(ctx context.Context, id uuid.UUID, status int, edits ...api.RequestEditorFn) error {
			a, err := c.DeleteWebhookEndpointWithResponse(ctx, id, nil, edits...)
			return saw("deleteWebhookEndpoint", status, a, err)
		},
	}
}

// webhooks creates an endpoint, sends each operation, and causes every error that a client can cause.
func (p *program) webhooks(ctx context.Context) error {
	created, err := p.client.CreateWebhookEndpointWithResponse(ctx, nil, api.NewWebhookEndpoint{Url: hook})
	if err := saw("createWebhookEndpoint", 201, created, err); err != nil {
		return err
	}
	e := created.JSON201.WebhookEndpoint
	if e.Url != hook || len(e.Types) < 8 || !strings.HasPrefix(created.JSON201.Secret, "whsec_") {
		return fmt.Errorf("the endpoint is %s", created.Body)
	}
	p.hook = e.Id
	statuses := map[string]int{"createWebhookEndpoint": 201, "testWebhookEndpoint": 202, "replayWebhookEvents": 202}
	all := p.hooks(p.client)
	for name, send := range all {
		status := 200
		if other := statuses[name]; other != 0 {
			status = other
		}
		errs := []error{nil}
		if name != "deleteWebhookEndpoint" { // which comes last
			errs = append(errs, send(ctx, p.hook, status))
		}
		errs = append(errs, p.refusedHook(ctx, name, send))
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	for range 16 {
		if _, err := p.client.CreateWebhookEndpointWithResponse(ctx, nil, api.NewWebhookEndpoint{Url: hook}); err != nil {
			return err
		}
	}
	if err := all["createWebhookEndpoint"](ctx, p.hook, 422); err != nil {
		return err
	}
	for range 100 {
		if _, err := p.client.TestWebhookEndpointWithResponse(ctx, p.hook, nil); err != nil {
			return err
		}
	}
	if err := all["testWebhookEndpoint"](ctx, p.hook, 422); err != nil {
		return err
	}
	return all["deleteWebhookEndpoint"](ctx, p.hook, 204)
}

// refusedHook causes 400, 404, 413 and 415 of an operation.
func (p *program) refusedHook(ctx context.Context, name string, send call) error {
	body := func(text, media string) api.RequestEditorFn {
		return change(func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Type", media)
		})
	}
	errs := []error{send(ctx, p.hook, 400, change(func(r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, p.hook.String(), "x", 1)
		r.URL.RawQuery = "limit=0"
		if name == "createWebhookEndpoint" {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
		}
	}))}
	if name != "listWebhookEndpoints" && name != "createWebhookEndpoint" {
		errs = append(errs, send(ctx, uuid.New(), 404))
	}
	if !strings.HasPrefix(name, "list") && !strings.HasPrefix(name, "get") {
		errs = append(errs, send(ctx, p.hook, 413, body(strings.Repeat(" ", 70_000), "application/json")),
			send(ctx, p.hook, 415, body("{}", "application/x-www-form-urlencoded")))
	}
	return errors.Join(errs...)
}
