package main

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// requestHandler is slog's JSON handler, quicker with the one message that is logged
// for every request. Its lines have the same form.
type requestHandler struct {
	slog.Handler
	out io.Writer
}

func newRequestHandler(out io.Writer) requestHandler {
	return requestHandler{slog.NewJSONHandler(out, nil), out}
}

// requestMessage is the message of an answered request.
const requestMessage = "request"

// Handle implements slog.Handler.
func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != requestMessage {
		return h.Handler.Handle(ctx, r)
	}
	const usual = 512
	line := append(make([]byte, 0, usual), `{"time":"`...)
	line = r.Time.AppendFormat(line, time.RFC3339Nano)
	line = append(line, `","level":"`+r.Level.String()+`","msg":"`+requestMessage+`"`...)
	r.Attrs(func(a slog.Attr) bool {
		line = append(append(append(line, ',', '"'), a.Key...), '"', ':')
		switch v := a.Value; v.Kind() { //nolint:exhaustive // all others are texts
		case slog.KindInt64:
			line = strconv.AppendInt(line, v.Int64(), 10)
		case slog.KindDuration:
			line = strconv.AppendInt(line, int64(v.Duration()), 10)
		default:
			line, _ = jsontext.AppendQuote(line, v.String()) // invalid UTF-8 is replaced
		}
		return true
	})
	_, err := h.out.Write(append(line, '}', '\n'))
	return err
}
