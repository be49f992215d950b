package api

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// requestLog describes one answered request for the log and the metrics.
type requestLog struct {
	id      string
	method  string
	route   string // the pattern; "" when no route matched
	status  int
	took    time.Duration
	key     rewards.Key // zero when the request had no valid key
	address string      // the client's
}

// RequestMessage is the log message of an answered request.
const RequestMessage = "request"

// maxMethod bounds a method in the log, in bytes.
const maxMethod = 16

// logRequest logs and observes a response, including those that net/http writes itself.
func (o Options) logRequest(ctx context.Context, l requestLog) {
	if o.Observe != nil {
		o.Observe(l.method, l.route, l.status, l.took)
	}
	handler := o.Log.Handler()
	if !handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	record := slog.NewRecord(time.Now(), slog.LevelInfo, RequestMessage, 0) // without the source line
	record.AddAttrs(
		slog.String("request_id", l.id), slog.String("method", l.method[:min(len(l.method), maxMethod)]),
		slog.String("route", l.route), slog.Int("status", l.status), slog.Duration("took", l.took),
		slog.String("app", logID(l.key.AppID)), slog.String("key", logID(l.key.ID)),
		slog.String("address", l.address))
	_ = handler.Handle(ctx, record) // there is nowhere to report a log failure
}

// logID formats an id for the log; the zero id becomes "".
func logID[T any](id rewards.ID[T]) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
