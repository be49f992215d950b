package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// repeats leaves out repetitions of failures: while a disk is full or a server is away, the same step fails ten times
// in a second, and the log would fill what room is made.
type repeats struct {
	slog.Handler
	lines *repeatedLines
}

// repeatedLines are the failures of the last moments.
type repeatedLines struct {
	mu   sync.Mutex
	seen map[string]repeatedLine
}

type repeatedLine struct {
	since   time.Time // when the first of these was logged
	logged  int
	omitted int
}

const (
	repeatTime = 10 * time.Second // in which a few lines of equal failures are logged
	mostLines  = 3                // such lines
	mostKinds  = 1000             // different failures that are remembered
)

func withoutRepeats(next slog.Handler) slog.Handler {
	return repeats{next, &repeatedLines{seen: make(map[string]repeatedLine)}}
}

// Handle implements slog.Handler. Failures are equal when failureOf says so.
func (h repeats) Handle(ctx context.Context, r slog.Record) error {
	key, failure := failureOf(r)
	if !failure {
		return h.Handler.Handle(ctx, r)
	}
	omitted, logged := h.lines.note(key, r.Time)
	if !logged {
		return nil
	}
	if omitted > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("omitted", omitted))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeats{h.Handler.WithAttrs(attrs), h.lines}
}

// WithGroup implements slog.Handler.
func (h repeats) WithGroup(name string) slog.Handler {
	return repeats{h.Handler.WithGroup(name), h.lines}
}

// failureOf returns what makes a record equal to others: its level, message, status and strings. The id of a request,
// which is another one each time, is left out. It also reports whether the record has an error.
func failureOf(r slog.Record) (key string, failure bool) {
	if r.Level < slog.LevelWarn {
		return "", false
	}
	var b strings.Builder
	b.WriteString(r.Level.String() + "\x00" + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "error":
			failure = true
		case a.Key == "request_id":
		case a.Value.Kind() == slog.KindString, a.Key == "status":
			b.WriteString("\x00" + a.Key + "\x00" + a.Value.String())
		}
		return true
	})
	return b.String(), failure
}

// note counts a failure at a time. It reports whether to log it, and how many were left out before it.
func (l *repeatedLines) note(key string, at time.Time) (omitted int, logged bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.seen[key]
	switch again := at.Sub(last.since) < repeatTime; {
	case again && last.logged >= mostLines:
		last.omitted++
		l.seen[key] = last
		return 0, false
	case !again:
		omitted, last = last.omitted, repeatedLine{since: at}
	}
	if len(l.seen) >= mostKinds {
		clear(l.seen)
	}
	last.logged++
	l.seen[key] = last
	return omitted, true
}
