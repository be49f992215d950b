package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"stockrewards/internal/rewards"
)

const (
	streamPage   = 50               // events read at once
	commentEvery = 15 * time.Second // while there are no events
)

// streamEvents serves GET /v1/events/stream (additions, section 4). Errors before the first event are
// answered as usual.
func (s *server) streamEvents(ctx context.Context, c call) (reply, error) {
	q := c.query()
	f := s.follow(c, q.sequence("after"), q.eventTypes("types"))
	if last := c.Header.Get("Last-Event-Id"); last != "" {
		header := &query{values: map[string][]string{"Last-Event-ID": {last}}}
		f.after = header.sequence("Last-Event-ID")
		q.issues = append(q.issues, header.issues...)
	}
	if err := q.err(); err != nil {
		return reply{}, err
	}
	if err := c.ticket.Follow(); err != nil {
		return reply{}, err
	}
	page, err := f.read(ctx, streamPage)
	return reply{status: http.StatusOK, stream: func(w http.ResponseWriter) { f.stream(w, page) }}, err
}

// stream writes events until the client or the service ends it, beginning with a page. A client that stops
// reading is cut off.
func (f *follower) stream(w http.ResponseWriter, page rewards.EventPage) {
	ctx, control := f.call.Context(), http.NewResponseController(w)
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.end() // a stream has no time limit
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = typeStream, noStore, noSniff
	w.WriteHeader(http.StatusOK)
	body := comment(nil)
	const keptBytes = 64 << 10 // of body, while the stream waits
	for {
		for _, e := range page.Events {
			body = appendServerSent(body, e)
		}
		f.call.ticket.Answered(len(body))
		if !writeParts(w, body, time.Time{}) || control.Flush() != nil {
			return
		}
		f.call.ticket.Rest()
		if body = body[:0]; cap(body) > keptBytes {
			body = nil
		}
		more := len(page.Events) == streamPage || page.More
		var err error
		if page, err = f.next(ctx, more); err != nil || f.server.isDraining() {
			return
		}
		if len(page.Events) == 0 {
			body = comment(body)
		}
	}
}

// next returns the next page of a stream: at once when there is more, otherwise when there are new events. After
// commentEvery without any it is empty.
func (f *follower) next(ctx context.Context, more bool) (page rewards.EventPage, err error) {
	for until := time.Now().Add(commentEvery); ; more = false {
		if more {
			err = f.checkKey(ctx)
		} else {
			more, err = f.news(ctx, until)
		}
		if err != nil || !more {
			return page, err
		}
		if err := f.call.ticket.Resume(ctx); err != nil {
			return page, err
		}
		page, err = f.read(ctx, streamPage)
		if err != nil || len(page.Events) > 0 || page.More || !time.Now().Before(until) {
			return page, err
		}
		f.call.ticket.Rest() // the new events were of other apps, or of other types
	}
}

// typeStream is the media type of server-sent events, never modified.
//
//nolint:gochecknoglobals // Go has no constant slices
var typeStream = []string{"text/event-stream"}

// comment appends a comment, which keeps the connection open.
func comment(b []byte) []byte { return append(b, ":\n\n"...) }

// appendServerSent appends a server-sent event. Its data has no line break: JSON is written without.
func appendServerSent(b []byte, e rewards.Event) []byte {
	b = strconv.AppendInt(append(b, "id: "...), e.Sequence, 10)
	b = append(append(b, "\nevent: "...), e.Type.String()...)
	b = appendEvent(append(b, "\ndata: "...), e)
	return append(b, "\n\n"...)
}
