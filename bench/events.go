package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The size of the measurements of events.
const (
	eventOrders  = 40   // full orders of one app, whose events are read and delivered
	eventMembers = 1000 // awards in a batch and in a full order
	feedPage     = 200  // events in a page of the feed, the most that there can be
)

// eventReport is how fast events are read and delivered.
type eventReport struct {
	target    string
	feed      float64 // events that one reader of the feed gets in a second, over HTTP
	delivered float64 // events that one healthy receiver gets in a second
	crowd     crowdReport
}

// webhookFlags let serve send webhooks to this machine.
func webhookFlags(folder string) []string {
	return []string{"--webhook-allow", "127.0.0.0/8", "--webhook-key-file", filepath.Join(folder, "webhook-key")}
}

// events measures the feed and the webhooks of each engine in turn.
func (h *harness) events(ctx context.Context) error {
	for _, t := range h.engines {
		r := eventReport{target: t.name}
		c, err := h.eventApp(ctx, t, "follower")
		if err == nil {
			err = fillEvents(ctx, c, t)
		}
		if err == nil {
			r.feed, err = readFeed(ctx, c)
		}
		if err == nil {
			r.delivered, err = deliverAll(ctx, c)
		}
		if err == nil {
			r.crowd, err = h.crowd(ctx, t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		h.report.events = append(h.report.events, r)
		h.say("%s", r)
	}
	return nil
}

// eventApp creates an app, and returns a client with its key.
func (h *harness) eventApp(ctx context.Context, t *target, name string) (client, error) {
	key, err := h.operate(ctx, "app", "create", name, "--database", t.books)
	return newClient(t.url, key, atOnce), err
}

// newEventUser creates the user who gets the awards of an app.
func newEventUser(ctx context.Context, c client) (id string, err error) {
	var got struct{ User struct{ ID string } }
	err = c.must(ctx, http.StatusCreated, http.MethodPost, "/v1/users", `{"externalId":"follower"}`, &got)
	return got.User.ID, err
}

// fillEvents records the awards by batches, and waits until each has its event.
func fillEvents(ctx context.Context, c client, t *target) error {
	user, err := newEventUser(ctx, c)
	if err != nil {
		return err
	}
	for batch := range eventOrders {
		var b strings.Builder
		for i := range eventMembers {
			fmt.Fprintf(&b, `,{"userId":%q,"idempotencyKey":"event-%d-%d","amountUsd":1,"assetSymbol":"KO"}`, user,
				batch, i)
		}
		var got struct{ Summary struct{ Created int } }
		body := `{"rewards":[` + b.String()[1:] + `]}`
		err := c.must(ctx, http.StatusOK, http.MethodPost, "/v1/rewards/batches", body, &got)
		if err == nil && got.Summary.Created != eventMembers {
			err = fmt.Errorf("%d awards of a batch were created, want %d", got.Summary.Created, eventMembers)
		}
		if err != nil {
			return err
		}
	}
	_, err = t.settle(ctx)
	return err
}

// readFeed reads the feed from its beginning by pages, one after another, and returns the events a second.
func readFeed(ctx context.Context, c client) (float64, error) {
	began, count, last := time.Now(), 0, int64(0)
	next := "/v1/events?limit=" + strconv.Itoa(feedPage)
	for {
		got, err := c.send(ctx, http.MethodGet, next, "")
		if err != nil {
			return 0, err
		}
		var page struct{ Events []struct{ Sequence int64 } }
		if got.status != http.StatusOK {
			return 0, fmt.Errorf("GET %s: %d %s", next, got.status, got.body)
		}
		if err := json.Unmarshal(got.body, &page); err != nil {
			return 0, err
		}
		for _, e := range page.Events {
			if e.Sequence <= last {
				return 0, fmt.Errorf("the event %d follows the event %d", e.Sequence, last)
			}
			last = e.Sequence
		}
		if count += len(page.Events); len(page.Events) == 0 {
			break
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(got.header.Get("Link"), "<"), ">")
	}
	if count != eventOrders*eventMembers {
		return 0, fmt.Errorf("the feed has %d events, want %d", count, eventOrders*eventMembers)
	}
	return float64(count) / time.Since(began).Seconds(), nil
}

// deliverAll has every event sent again to a new receiver, and returns the events a second.
func deliverAll(ctx context.Context, c client) (rate float64, err error) {
	r, err := startReceiver()
	if err != nil {
		return 0, err
	}
	defer r.close()
	id, err := newEndpoint(ctx, c, r.url)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	path := "/v1/webhook-endpoints/" + id + "/replay"
	var nothing struct{}
	if err := c.must(ctx, http.StatusAccepted, http.MethodPost, path, `{"after":0}`, &nothing); err != nil {
		return 0, err
	}
	const want, most, every = eventOrders * eventMembers, 2 * time.Minute, 10 * time.Millisecond
	for r.count() < want {
		if time.Since(began) > most {
			return 0, fmt.Errorf("the receiver got %d of %d events in %s", r.count(), want, most)
		}
		if err := wait(ctx, every); err != nil {
			return 0, err
		}
	}
	rate = float64(want) / time.Since(began).Seconds()
	_, err = c.send(ctx, http.MethodDelete, "/v1/webhook-endpoints/"+id, "")
	return rate, err
}

// newEndpoint creates an endpoint and returns its id.
func newEndpoint(ctx context.Context, c client, url string) (string, error) {
	var got struct{ WebhookEndpoint struct{ ID string } }
	body := fmt.Sprintf(`{"url":%q}`, url)
	err := c.must(ctx, http.StatusCreated, http.MethodPost, "/v1/webhook-endpoints", body, &got)
	return got.WebhookEndpoint.ID, err
}

// String returns the report's paragraph.
func (r eventReport) String() string {
	return fmt.Sprintf("\nEvents over %s: one reader of the feed gets %.0f a second, one receiver of webhooks %.0f a "+
		"second.\n\n- %s\n", r.target, r.feed, r.delivered, r.crowd)
}
