package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
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

// requestLog writes lines of a log, those of answered requests together: at most
// lateLines bytes of them, at most lateBy after the first. Everything else is written at once,
// behind what came before it.
type requestLog struct {
	out io.Writer

	mu    sync.Mutex
	late  bytes.Buffer
	timer *time.Timer // runs while there are late lines
}

const (
	lateBy    = 100 * time.Millisecond
	lateLines = 32 << 10
)

func newRequestLog(out io.Writer) *requestLog {
	l := &requestLog{out: out}
	l.timer = time.AfterFunc(lateBy, func() { _ = l.Flush() }) // a log that cannot be written has nobody to tell
	return l
}

// Write implements io.Writer; b is one line.
func (l *requestLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late.Len() == 0 {
		l.timer.Reset(lateBy)
	}
	l.late.Write(b)
	if l.late.Len() >= lateLines || !bytes.Contains(b, []byte(`"msg":"`+requestMessage+`"`)) {
		return len(b), l.flush()
	}
	return len(b), nil
}

// Flush writes what is late.
func (l *requestLog) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

func (l *requestLog) flush() error {
	if l.late.Len() == 0 {
		return nil
	}
	_, err := l.out.Write(l.late.Bytes())
	l.late.Reset()
	return err
}
