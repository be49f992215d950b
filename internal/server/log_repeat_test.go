package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/server"
)

// Of a failure that comes ten times in a second three lines are logged every ten seconds, with how many were left out. What
// is about another order, or no failure, is logged each time. A flood of requests of an app hides neither failures of
// another app, nor graver ones.
func TestRepeatedFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(server.JSONLog(&out))
		full := errors.New("the disk is full")
		for range 250 {
			log.Warn("step failed", slog.String("what", "prices"), slog.Any("error", full))
			time.Sleep(100 * time.Millisecond)
		}
		for _, order := range []string{"one", "two"} {
			log.Warn("step failed", slog.String("what", order), slog.Any("error", full))
		}
		for n := range 200 {
			for _, app := range []string{"flood", "other"}[:1+n/199] {
				log.Error("request failed", slog.String("request_id", strconv.Itoa(n)),
					slog.String("app", app), slog.Any("error", full))
				log.Warn("request failed", slog.String("request_id", strconv.Itoa(n)), slog.String("app", app), slog.Any("error", full))
			}
		}
		for _, status := range []int{503, 503, 503, 503, 500} {
			log.Error("request failed", slog.String("app", "defect"), slog.Int("status", status), slog.Any("error", full))
		}
		for range 9 {
			log.Warn("alarm", slog.String("name", "price_in_doubt:AAPL"))
			log.Info("step", slog.Any("error", full))
		}
		for text, want := range map[string]int{
			`"what":"prices"`: 9, `"omitted":97`: 2, `"what":"one"`: 1, `"what":"two"`: 1, `"msg":"alarm"`: 9, `"msg":"step"`: 9,
			`"app":"flood"`: 6, `"app":"other"`: 2, `"status":503`: 3, `"status":500`: 1,
		} {
			if got := strings.Count(out.String(), text); got != want {
				t.Errorf("%d lines with %s, want %d", got, text, want)
			}
		}
	})
}
