package main

import (
	"encoding/json"
	"log/slog"
	"time"
)

// textRequests logs the API's JSON line of each request as text, like the other lines of dev.
type textRequests struct{ log *slog.Logger }

// Write implements io.Writer. It gets one line at a time.
func (t textRequests) Write(line []byte) (int, error) {
	var r struct {
		RequestID string `json:"request_id"`
		Method    string
		Route     string
		Status    int
		Took      time.Duration
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return 0, err
	}
	t.log.Info("request", slog.String("method", r.Method), slog.String("route", r.Route), slog.Int("status", r.Status),
		slog.Duration("took", r.Took), slog.String("request_id", r.RequestID))
	return len(line), nil
}
