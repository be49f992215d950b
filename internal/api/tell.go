package api

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// told is what the log and the metrics learn of a request that was answered.
type told struct {
	id     string
	method string
	route  string // the pattern; "" when there was none
	status int
	took   time.Duration
	key    rewards.Key // zero when it is not known
	from   string      // the client's address
}

// RequestMessage is the message of the log's line about an answered request.
const RequestMessage = "request"

// maxMethod bounds a method in the log, in bytes.
const maxMethod = 16

// tell logs an answer and has it counted: every answer once, also those that
// net/http makes itself.
func (o Options) tell(ctx context.Context, a told) {
	if o.Observe != nil {
		o.Observe(a.method, a.route, a.status, a.took)
	}
	handler := o.Log.Handler()
	if !handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	record := slog.NewRecord(time.Now(), slog.LevelInfo, RequestMessage, 0) // which line of code tells is of no use
	record.AddAttrs(
		slog.String("request_id", a.id), slog.String("method", a.method[:min(len(a.method), maxMethod)]),
		slog.String("route", a.route), slog.Int("status", a.status), slog.Duration("took", a.took),
		slog.String("app", idOf(a.key.AppID)), slog.String("key", idOf(a.key.ID)),
		slog.String("address", a.from))
	_ = handler.Handle(ctx, record) // a log that cannot be written has nobody to tell
}

// idOf is an id in the log; "" for none.
func idOf[T any](id rewards.ID[T]) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
