package api

import (
	"strconv"
	"time"

	"stockrewards/internal/rewards"
)

// requestLog describes one answered request for the log and the metrics.
type requestLog struct {
	at      time.Time // when it was answered
	id      string
	method  string
	route   string // the pattern; "" when no route matched
	status  int    // statusLeft when the client left
	fault   bool   // a 503 that the app caused
	took    time.Duration
	key     rewards.Key // zero when the request had no valid key
	address string      // the client's
	items   tally       // of a batch
	line    []byte      // for the log line, which logRequest appends
}

const maxMethod = 16 // bytes of a method in the log

// logRequest logs and observes a response, including those that net/http writes itself.
func (o *Options) logRequest(l *requestLog) {
	if o.Observe != nil {
		o.Observe(l.method, l.route, l.status, l.fault, l.took)
	}
	if o.RequestLog != nil {
		l.write()
		_, _ = o.RequestLog.Write(l.line) // there is nowhere to report a log failure
	}
}

// write formats the log line as log/slog's JSON handler would. Through slog it takes four
// times as long.
func (l *requestLog) write() {
	o := begin(l.line)
	o.name("time")
	o.b = append(l.at.AppendFormat(append(o.b, '"'), time.RFC3339Nano), '"')
	o.raw("level", `"INFO"`)
	o.raw("msg", `"request"`)
	o.string("request_id", l.id)
	o.string("method", l.method[:min(len(l.method), maxMethod)])
	o.string("route", l.route)
	o.integer("status", l.status)
	o.name("took")
	o.b = strconv.AppendInt(o.b, int64(l.took), 10)
	logID(&o, "app", l.key.AppID)
	logID(&o, "key", l.key.ID)
	o.string("address", l.address)
	l.items.append(&o)
	l.line = append(o.end(), '\n')
}

// logID writes an id; the zero id becomes "".
func logID[T any](o *object, name string, id rewards.ID[T]) {
	if id.IsZero() {
		o.raw(name, `""`)
		return
	}
	o.id(name, id.Append)
}
