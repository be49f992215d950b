package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinesOfRequestsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		late := newRequestLog(&out)
		log := slog.New(newRequestHandler(late))
		lines := func() int { return strings.Count(out.String(), "\n") }
		log.Info("request", slog.Int("status", 200))
		log.Info("request", slog.Int("status", 201))
		if lines() != 0 {
			t.Error("a request was written by itself")
		}
		log.Warn("something else")
		if lines() != 3 || !strings.HasSuffix(out.String(), "something else\"}\n") {
			t.Errorf("written %q, want everything, in order", out.String())
		}
		log.Info("request", slog.Int("status", 200))
		time.Sleep(lateBy)
		synctest.Wait()
		if lines() != 4 {
			t.Error("a request was not written in time")
		}
		for range lateLines / 100 {
			log.Info("request", slog.String("text", strings.Repeat("x", 100)))
		}
		if lines() <= 4 {
			t.Error("more than the most was held back")
		}
		if err := late.Flush(); err != nil || lines() != 4+lateLines/100 {
			t.Errorf("%d lines after a flush, %v", lines(), err)
		}
	})
}

func TestLinesOfRequestsHaveTheUsualForm(t *testing.T) {
	t.Parallel()
	var quick, usual bytes.Buffer
	for _, log := range []*slog.Logger{slog.New(newRequestHandler(&quick)), slog.New(slog.NewJSONHandler(&usual, nil))} {
		at := slog.NewRecord(time.Date(2026, 9, 21, 15, 0, 0, 123_456_789, time.UTC), slog.LevelInfo, "request", 0)
		at.AddAttrs(slog.String("method", "GET\"\n\x01é"), slog.Int("status", 200), slog.Duration("took", time.Second))
		if err := log.Handler().Handle(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if quick.String() != usual.String() {
		t.Errorf("%s, want %s", quick.String(), usual.String())
	}
}
