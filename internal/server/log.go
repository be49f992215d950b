package server

import (
	"context"
	"io"
	"log/slog"

	"stockrewards/internal/api"
)

// JSONLog formats a log as JSON lines.
func JSONLog(out io.Writer) slog.Handler { return slog.NewJSONHandler(out, nil) }

// logHandler formats a log as JSON lines. Lines of answered requests may wait to be
// written together; every other line is written at once.
type logHandler struct {
	slog.Handler
	batched slog.Handler
}

// NewLog creates the log of a service, which writes to out.
func NewLog(out *LogWriter) *slog.Logger {
	return slog.New(logHandler{JSONLog(out), JSONLog(batched{out})})
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == api.RequestMessage {
		return h.batched.Handle(ctx, r)
	}
	return h.Handler.Handle(ctx, r)
}
