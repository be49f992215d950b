package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Event is something that happened to the app's awards or stocks.
type Event struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"` // such as "reward.executed"
	Sequence  int64     `json:"sequence"`
	CreatedAt time.Time `json:"createdAt"`
	Data      EventData `json:"data"`
}

func (e *Event) missing() bool { return e.ID == "" }

// EventData is the object that an event is about; the others are nil.
type EventData struct {
	Reward          *Reward          `json:"reward"`
	Reversal        *Reversal        `json:"reversal"`
	CorporateAction *CorporateAction `json:"corporateAction"`
}

// Events follows the feed after a sequence, oldest first, until ctx ends: it waits for what
// comes. Store the last sequence that you processed, and begin there again after a restart:
// no event is missed. Without types it yields all. It ends with an error, at the latest ctx's.
func (c *Client) Events(ctx context.Context, after int64, types ...string) iter.Seq2[Event, error] {
	const wait, limit = "20", "200" // seconds and events, the most that the service allows
	return func(yield func(Event, error) bool) {
		q := query("after", strconv.FormatInt(after, 10), "types", strings.Join(types, ","),
			"wait", wait, "limit", limit)
		for next := "/v1/events?" + q.Encode(); ; {
			var events []Event
			var err error
			if events, next, err = EventPage[Event](ctx, c, next); err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// EventPage reads the page of the feed at a path, such as "/v1/events?after=7&types=reward.failed", and returns
// the path of the next page. A page without events may have a next path that is further on: it passes over
// events of other types. T is Event, or another type for an event's JSON.
func EventPage[T any](ctx context.Context, c *Client, path string) (events []T, next string, err error) {
	page := member[[]T]{name: "events"}
	r, err := newRequest(http.MethodGet, path, nil)
	if err != nil {
		return nil, "", err
	}
	o, err := c.send(ctx, r, &page)
	if err != nil {
		return nil, "", err
	}
	next, err = nextPage(path, o.header)
	if err == nil && next == "" {
		err = errors.New("the feed's answer has no Link to the next page: something in between may remove it")
	}
	return page.value, next, err
}

// Event reads an event.
func (c *Client) Event(ctx context.Context, id string) (Event, error) {
	return ask[Event](ctx, c, http.MethodGet, "/v1/events/"+url.PathEscape(id), nil, "event")
}
