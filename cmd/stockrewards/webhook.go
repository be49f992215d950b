package main

import (
	"context"
	"strconv"
	"strings"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type webhookCommands struct {
	List       webhookList       `cmd:"" help:"List the webhook endpoints of all apps."`
	Show       webhookShow       `cmd:"" help:"Show a webhook endpoint and its newest failures."`
	Deliveries webhookDeliveries `cmd:"" help:"List the deliveries of a webhook endpoint, newest first."`
	Redeliver  webhookRedeliver  `cmd:"" help:"Send the failed deliveries of a webhook endpoint again, with all their retries."`
	Enable     webhookEnable     `cmd:"" help:"Enable a webhook endpoint. Its events that were not delivered come at once."`
	Disable    webhookDisable    `cmd:"" help:"Disable a webhook endpoint, and end its alarm. Its events wait until it is enabled."`
	Remove     webhookRemove     `cmd:"" help:"Delete a webhook endpoint with its deliveries. Its events stay in the app's log."`
}

type webhookList struct {
	databaseFlag
	outputFlag
}

func (c *webhookList) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		list, err := s.AllWebhookEndpoints(ctx)
		if err != nil {
			return err
		}
		const heading = "ID\tAPP\tSTATUS\tFAILING SINCE\tCREATED\tURL"
		return listed(c.outputFlag, heading, list, func(e rewards.WebhookEndpoint) []string {
			return []string{
				e.ID.String(), e.AppID.String(), statusOf(e), moment(e.FailingSince), moment(e.CreatedAt()), e.URL,
			}
		})
	})
}

// statusOf is the status of an endpoint, with the code of its reason.
func statusOf(e rewards.WebhookEndpoint) string {
	if e.Disabled == "" {
		return "enabled"
	}
	code, _, _ := strings.Cut(e.Disabled, ":")
	return "disabled (" + code + ")"
}

// endpointArg is the argument of a command about one endpoint.
type endpointArg struct {
	Endpoint string `arg:"" help:"The id of the webhook endpoint, from webhook list."`
}

func (a endpointArg) id() (rewards.WebhookEndpointID, error) {
	id, err := rewards.ParseID[rewards.WebhookEndpoint](a.Endpoint)
	if err != nil {
		return id, usageErrorf("ENDPOINT %q: %w", a.Endpoint, err)
	}
	return id, nil
}

type webhookShow struct {
	endpointArg
	databaseFlag
	outputFlag
}

func (c *webhookShow) Run(ctx context.Context) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	return c.with(ctx, func(s *store.Store) error {
		e, err := s.EndpointOfAnyApp(ctx, id)
		if err != nil {
			return err
		}
		var newest []rewards.Delivery
		const most = 5
		for _, status := range []rewards.DeliveryStatus{rewards.DeliveryPending, rewards.DeliveryFailed} {
			list, err := s.Deliveries(ctx, e.AppID, id, rewards.DeliveryPage{Status: status, Limit: most})
			if err != nil {
				return err
			}
			newest = append(newest, list...)
		}
		return c.print(e, newest)
	})
}

// print prints an endpoint and its newest deliveries that did not succeed.
func (c *webhookShow) print(e rewards.WebhookEndpoint, newest []rewards.Delivery) error {
	lines := [][2]string{
		{"endpoint", e.ID.String()},
		{"app", e.AppID.String()},
		{"url", e.URL},
		{"types", e.Subscribed().String()},
		{"description", e.Description},
		{"created", moment(e.CreatedAt())},
		{"status", statusOf(e)},
		{"reason", e.Disabled},
		{"delivered up to", strconv.FormatInt(e.Cursor, 10)},
		{"failing since", moment(e.FailingSince)},
	}
	if c.JSON {
		report := objectOf(lines)
		report["deliveries"] = objects(deliveryHeading+"\tBODY", newest, func(d rewards.Delivery) []string {
			return append(deliveryRow(d), d.Answer)
		})
		return printJSON(report)
	}
	for _, line := range lines {
		sayf("%s: %s\n", line[0], line[1])
	}
	for _, d := range newest {
		sayf("%s: %s %s, %d attempts, last at %s: %s %q\n", d.Status, d.Type, d.EventID, d.Attempts,
			moment(d.TriedAt), d.Error, d.Answer)
	}
	return nil
}

const deliveryHeading = "EVENT\tTYPE\tSTATUS\tATTEMPTS\tLAST\tNEXT\tANSWER\tERROR"

func deliveryRow(d rewards.Delivery) []string {
	return []string{
		d.EventID.String(), d.Type, d.Status.String(), strconv.Itoa(d.Attempts), moment(d.TriedAt),
		moment(d.NextAt), strconv.Itoa(d.StatusCode), d.Error,
	}
}

type webhookDeliveries struct {
	endpointArg
	listFlags
	outputFlag
	Status string `placeholder:"STATUS" help:"List only deliveries with this status: pending, delivered or failed (default: all)."`
}

func (c *webhookDeliveries) Run(ctx context.Context) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	page := rewards.DeliveryPage{Limit: c.Limit}
	if c.Status != "" {
		var known bool
		if page.Status, known = rewards.ParseDeliveryStatus(c.Status); !known {
			return usageErrorf("--status %q: must be pending, delivered or failed", c.Status)
		}
	}
	return c.list(ctx, func(s *store.Store) error {
		e, err := s.EndpointOfAnyApp(ctx, id)
		if err != nil {
			return err
		}
		list, err := s.Deliveries(ctx, e.AppID, id, page)
		if err != nil {
			return err
		}
		return listed(c.outputFlag, deliveryHeading, list, deliveryRow)
	})
}

type webhookRedeliver struct {
	endpointArg
	databaseFlag
	reasonFlag
	Event string `placeholder:"ID" help:"Send only this event again (default: all that failed)."`
}

func (c *webhookRedeliver) Run(ctx context.Context) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	var event rewards.EventID
	if c.Event != "" {
		if event, err = rewards.ParseID[rewards.Event](c.Event); err != nil {
			return usageErrorf("--event %q: %w", c.Event, err)
		}
	}
	return c.operate(ctx, "webhook redeliver", c.reasonFlag, func(o *store.Operator) error {
		count, err := o.RedeliverWebhooks(ctx, id, event)
		return said(err, "%d deliveries are sent again\n", count)
	})
}

type webhookEnable struct {
	endpointArg
	databaseFlag
	reasonFlag
}

func (c *webhookEnable) Run(ctx context.Context) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	return c.operate(ctx, "webhook enable", c.reasonFlag, func(o *store.Operator) error {
		e, err := o.EnableWebhook(ctx, id)
		return said(err, "%s is enabled\n", e.ID)
	})
}

type webhookDisable struct {
	endpointArg
	databaseFlag
	Reason string `required:"" env:"-" placeholder:"TEXT" help:"Give a reason, which the app sees."`
}

func (c *webhookDisable) Run(ctx context.Context) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	return c.operate(ctx, "webhook disable", required(c.Reason), func(o *store.Operator) error {
		e, err := o.DisableWebhook(ctx, id, strings.TrimSpace(c.Reason))
		return said(err, "%s is disabled\n", e.ID)
	})
}

type webhookRemove struct {
	endpointArg
	databaseFlag
	reasonFlag
}

func (c *webhookRemove) Run(ctx context.Context) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	return c.operate(ctx, "webhook remove", c.reasonFlag, func(o *store.Operator) error {
		e, err := o.RemoveWebhook(ctx, id)
		return said(err, "%s is deleted\n", e.ID)
	})
}
