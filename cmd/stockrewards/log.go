package main

import (
	"context"
	"io"
	"log/slog"

	"stockrewards/internal/api"
)

// logHandler formats a log as JSON. Lines of answered requests may wait to be written
// together with others; every other line is written at once.
type logHandler struct {
	slog.Handler // of lines that are written at once
	batched      slog.Handler
}

func newLogHandler(out *logWriter) logHandler {
	return logHandler{jsonLines(out), jsonLines(batched{out})}
}

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == api.RequestMessage {
		return h.batched.Handle(ctx, r)
	}
	return h.Handler.Handle(ctx, r)
}

// jsonLines is the format of a service's log.
func jsonLines(out io.Writer) slog.Handler { return slog.NewJSONHandler(out, nil) }
