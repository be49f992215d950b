package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"stockrewards/client"
	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// feed reads the events of an app from a running service.
type feed struct {
	client *client.Client
	types  string // separated by commas; "": all
}

// fedEvent is an event whose data is kept byte for byte, as a webhook has it.
type fedEvent struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Sequence  int64           `json:"sequence"`
	CreatedAt time.Time       `json:"createdAt"`
	Data      json.RawMessage `json:"data"`
}

// The limits of the service.
const (
	mostEvents = 200 // on a page
	mostWait   = 20  // seconds that a request waits for events
)

// path returns the path of the page after a sequence, which waits some seconds for its first event.
func (f feed) path(after int64, wait int) string {
	query := url.Values{
		"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(mostEvents)}, "wait": {strconv.Itoa(wait)},
	}
	if f.types != "" {
		query.Set("types", f.types)
	}
	return "/v1/events?" + query.Encode()
}

// newest returns a sequence after which only later events come. The API has no question for it, so it
// halves the range in which the newest event is: about 50 short requests.
func (f feed) newest(ctx context.Context) (int64, error) {
	f.types = ""
	low, high := int64(0), int64(1)<<53-1
	for low < high {
		middle := low + (high-low)/2
		events, _, err := client.EventPage[fedEvent](ctx, f.client, f.path(middle, 0))
		switch n := len(events); {
		case err != nil:
			return 0, err
		case n == 0:
			high = middle
		case n < mostEvents:
			return events[n-1].Sequence, nil
		default:
			low = events[n-1].Sequence
		}
	}
	return high, nil
}

// follow sends every event after a sequence to out until ctx ends. While the service does not answer it
// tries again, and says so. It returns an error that no later attempt can change.
func (f feed) follow(ctx context.Context, after int64, out chan<- rewards.Delivery) error {
	for path := f.path(after, mostWait); ; {
		var events []fedEvent
		var next string
		err := persist(ctx, func() (err error) {
			events, next, err = client.EventPage[fedEvent](ctx, f.client, path)
			return err
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the user ended it
		}
		if err != nil {
			return err
		}
		for _, e := range events {
			id, err := rewards.ParseID[rewards.Event](e.ID)
			if err != nil {
				return fmt.Errorf("cannot read the event %q: %w", e.ID, err)
			}
			select {
			case out <- webhook.NewForwarded(id, e.Type, e.Sequence, e.CreatedAt, e.Data):
			case <-ctx.Done():
				return nil
			}
		}
		path = next
	}
}

// persist calls a request until it succeeds, fails for good, or ctx ends. It waits for 1 to 30 seconds
// between two attempts, or for what the service asks for.
func persist(ctx context.Context, request func() error) error {
	const first, most = time.Second, 30 * time.Second
	for pause := first; ; pause = min(2*pause, most) {
		err := request()
		if err == nil {
			if pause > first {
				fsayf(os.Stderr, "The service answers again.\n")
			}
			return nil
		}
		wait, again := patience(err, pause)
		if ctx.Err() != nil || !again {
			return err
		}
		fsayf(os.Stderr, "Cannot read events, trying again in %s: %s\n", wait, err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
