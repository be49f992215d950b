package api

import (
	"context"
	"errors"
	"log/slog"

	"stockrewards/internal/admission"
	"stockrewards/internal/rewards"
)

// errSlowBody is the cause of a 503 that is the client's, or its network's.
var errSlowBody = errors.New("the client was too slow")

// statusLeft is logged and counted when the client left before the answer to a failed request, whatever the answer is.
// Other servers use the same number.
const statusLeft = 499

// left reports whether a request failed because its client left while it waited. That is no failure of the service.
func left(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled)
}

// appFault reports whether the app caused a 503: with its other requests, or with a body that was too slow.
func appFault(err error) bool {
	return errors.Is(err, admission.ErrAppBusy) || errors.Is(err, errSlowBody)
}

// failed is a request of an app, or of nobody known, with its error.
type failed struct {
	id  string
	app rewards.AppID
	err error
}

// level is lower for a failure that the app caused.
func (f failed) level() slog.Level {
	if appFault(f.err) {
		return slog.LevelWarn
	}
	return slog.LevelError
}

// attrs are the members of the line of the log, with more before the error.
func (f failed) attrs(more ...slog.Attr) []slog.Attr {
	of := ""
	if !f.app.IsZero() {
		of = f.app.String()
	}
	list := append([]slog.Attr{slog.String("request_id", f.id), slog.String("app", of)}, more...)
	return append(list, slog.Any("error", f.err))
}
