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

// noStore records nothing, which leaves decoding, checks, the fingerprint and the response.
type noStore struct{ ids *rewards.IDs }

func (n noStore) Record(_ context.Context, r rewards.NewReward) (rewards.Outcome, error) {
	return rewards.Outcome{Verdict: rewards.Created, Reward: rewards.Reward{
		ID: rewards.NewID[rewards.Reward](n.ids), AppID: r.AppID, UserID: r.UserID, IdempotencyKey: r.IdempotencyKey,
		Amount: r.Amount, AssetID: r.AssetID, Symbol: r.Symbol, Source: r.Source, Metadata: r.Metadata,
		Status: rewards.Recorded,
	}}, nil
}

func (n noStore) CreateUser(_ context.Context, u rewards.User) (rewards.User, error) {
	u.ID = rewards.NewID[rewards.User](n.ids)
	return u, nil
}

// stage is a handler with an app and a user.
type stage struct {
	handler http.Handler
	key     string
	user    rewards.UserID
	post    *http.Request // reused, so that only the service allocates
	body    strings.Reader
	sink    sink
}

// newStage makes a stage over the recorder, or over the intake if that is nil.
func newStage(b *testing.B, recorder rewards.Recorder) *stage {
	b.Helper()
	w, err := openWorld(b.Context(), sqlite.Memory)
	check(b, err)
	b.Cleanup(func() { check(b, w.close()) })
	if recorder == nil {
		recorder = w.intake
	}
	s := &stage{key: newSecret(b), sink: sink{header: http.Header{}}}
	app, _, err := w.store.CreateApp(b.Context(), "app", rewards.Key{Hash: rewards.HashKey(s.key)})
	check(b, err)
	user, err := w.store.CreateUser(b.Context(), rewards.User{AppID: app.ID, ExternalID: "user"})
	check(b, err)
	s.user = user.ID
	s.post = s.request(http.MethodPost, "/v1/rewards")
	s.post.Header.Set("Content-Type", "application/json")
	s.handler = api.New(api.Options{
		Service:   rewards.NewService(w.store, recorder, w.prices, w.clock.now),
		CursorKey: w.cursorKey, Log: slog.New(slog.NewJSONHandler(&s.sink, nil)),
	})
	b.ReportAllocs()
	return s
}

// ask sends a request and checks the status.
func (s *stage) ask(b *testing.B, r *http.Request, status int) {
	b.Helper()
	clear(s.sink.header)
	s.handler.ServeHTTP(&s.sink, r)
	if s.sink.status != status {
		b.Fatalf("%s %s: %d, want %d", r.Method, r.URL, s.sink.status, status)
	}
}

// give sends the i-th award.
func (s *stage) give(b *testing.B, i, status int) {
	b.Helper()
	s.body.Reset(fmt.Sprintf(`{"userId":"%s","idempotencyKey":"9b2f2f0e-5d0c-4f6e-a111-%012x",`+
		`"amountUsd":5.25,"assetSymbol":"AAPL","source":"referral","metadata":{"campaign":"spring"}}`, s.user, i))
	s.post.ContentLength, s.post.Body = s.body.Size(), io.NopCloser(&s.body)
	s.ask(b, s.post, status)
}

// request makes a request with the key.
func (s *stage) request(method, path string) *http.Request {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Header.Set("X-Api-Key", s.key)
	return r
}

// Everything but the commit: key, decoding, checks, response, log.
func BenchmarkGiveWithoutStore(b *testing.B) {
	s := newStage(b, noStore{rewards.NewIDs(time.Now, rand.Reader)})
	for i := 0; b.Loop(); i++ {
		s.give(b, i, http.StatusCreated)
	}
}

// Everything, with the intake and an SQLite database in memory.
func BenchmarkGive(b *testing.B) {
	s := newStage(b, nil)
	for i := 0; b.Loop(); i++ {
		s.give(b, i, http.StatusCreated)
	}
}

// A list of a hundred rewards.
func BenchmarkListRewards(b *testing.B) {
	s := newStage(b, nil)
	for i := range 100 {
		s.give(b, i, http.StatusCreated)
	}
	r := s.request(http.MethodGet, "/v1/rewards?limit=100&userId="+s.user.String())
	for b.Loop() {
		s.ask(b, r, http.StatusOK)
	}
}
