package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// maxWait is how long a request may wait for events.
const maxWait = 20 * time.Second

// listEvents serves GET /v1/events (additions, section 4).
func (s *server) listEvents(ctx context.Context, c call) (reply, error) {
	q := c.query("types", "wait")
	f := s.follow(c, q.sequence("after"), q.eventTypes("types"))
	limit, wait := q.limit(), q.wait("wait")
	if err := q.err(); err != nil {
		return reply{}, err
	}
	page, err := f.await(ctx, limit, wait)
	if err != nil {
		return reply{}, err
	}
	next := q.filters()
	next.Set("after", strconv.FormatInt(page.Next, 10))
	next.Set("limit", strconv.Itoa(limit))
	o := s.begin()
	appendList(&o, "events", page.Events, appendEvent)
	r := o.reply(http.StatusOK)
	r.link = c.nextLink(next)
	return r, nil
}

// getEvent serves GET /v1/events/{eventId} (additions, section 4).
func (s *server) getEvent(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.Event](c, "eventId")
	if err != nil {
		return reply{}, err
	}
	e, err := s.Service.Event(ctx, c.app, id)
	return single(s, http.StatusOK, "event", appendEvent, e, err)
}

// digits reads an optional integer from 0 to most that is written in digits alone; 0 when not given.
func (q *query) digits(name string, most int64) int64 {
	value, ok := q.one(name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > most || strings.Trim(value, "0123456789") != "" {
		q.issue(name, "must be an integer from 0 to "+strconv.FormatInt(most, 10))
	}
	return n
}

// maxSequence is the largest sequence: every JSON library keeps it.
const maxSequence = 1<<53 - 1

// sequence reads an optional sequence.
func (q *query) sequence(name string) int64 { return q.digits(name, maxSequence) }

// wait reads an optional time to wait in seconds.
func (q *query) wait(name string) time.Duration {
	return time.Duration(q.digits(name, int64(maxWait/time.Second))) * time.Second
}

// eventTypes reads an optional list of event types; all when not given.
func (q *query) eventTypes(name string) rewards.EventTypes {
	value, ok := q.one(name)
	if !ok {
		return rewards.AllEvents
	}
	types := rewards.EventTypes(0)
	for kind := range strings.SplitSeq(value, ",") {
		t, known := rewards.ParseEventType(kind)
		if !known {
			q.issue(name, "must be a list, separated by commas, of "+rewards.AllEvents.String())
			break
		}
		types |= t
	}
	return types
}

// appendEvent writes an event (additions, section 4).
func appendEvent(b []byte, e rewards.Event) []byte {
	o := begin(b)
	o.id("id", e.ID.Append)
	o.string("type", e.Type.String())
	o.name("sequence")
	o.b = strconv.AppendInt(o.b, e.Sequence, 10)
	o.time("createdAt", e.At)
	o.name("data")
	o.b = AppendEventData(o.b, e)
	return o.end()
}

// AppendEventData writes the data of an event (additions, section 4).
func AppendEventData(b []byte, e rewards.Event) []byte {
	o := begin(b)
	switch e.Type {
	case rewards.EventRewardExecuted, rewards.EventRewardFailed:
		appendObject(&o, "reward", appendReward, e.Reward)
	case rewards.EventReversalCompleted:
		appendObject(&o, "reversal", appendReversal, e.Reversal)
	default:
		appendObject(&o, "corporateAction", appendAction, e.Action)
	}
	return o.end()
}
