package api_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/sqlite"
)

// sink discards a response.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { s.bytes += len(b); return len(b), nil }

// Everything but the commit: key, decoding, checks, fingerprint, response, log.
func BenchmarkGiveWithoutStore(b *testing.B) {
	w, err := openWorld(b.Context(), sqlite.Memory)
	check(b, err)
	b.Cleanup(func() { check(b, w.close()) })
	key, ids := newSecret(b), rewards.NewIDs(time.Now, rand.Reader)
	app, _, err := w.store.CreateApp(b.Context(), "app", rewards.Key{Hash: rewards.HashKey(key)})
	check(b, err)
	user, err := w.store.CreateUser(b.Context(), rewards.User{AppID: app.ID, ExternalID: "user"})
	check(b, err)
	record := recorderFunc(func(_ context.Context, r rewards.NewReward) (rewards.Outcome, error) {
		return rewards.Outcome{Verdict: rewards.Created, Reward: rewards.Reward{
			ID: rewards.NewID[rewards.Reward](ids), AppID: r.AppID, UserID: r.UserID, IdempotencyKey: r.IdempotencyKey,
			Amount: r.Amount, AssetID: r.AssetID, Symbol: r.Symbol, Source: r.Source, Metadata: r.Metadata,
			Status: rewards.Recorded,
		}}, nil
	})
	var body strings.Reader
	response := sink{header: http.Header{}}
	handler := api.NewServer(api.Options{
		Service:   rewards.NewService(w.store, record, w.prices, w.clock.now),
		CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler), RequestLog: &response,
	}).Handler
	r := httptest.NewRequest(http.MethodPost, "/v1/rewards", http.NoBody) // reused, so that only the service allocates
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		body.Reset(fmt.Sprintf(`{"userId":"%s","idempotencyKey":"9b2f2f0e-5d0c-4f6e-a111-%012x",`+
			`"amountUsd":5.25,"assetSymbol":"AAPL","source":"referral","metadata":{"campaign":"spring"}}`, user.ID, i))
		r.ContentLength, r.Body = body.Size(), io.NopCloser(&body)
		clear(response.header)
		handler.ServeHTTP(&response, r)
		if response.status != http.StatusCreated {
			b.Fatalf("status %d", response.status)
		}
	}
}
