package fuzz

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/intake"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/test/world"
)

// operation is a request, and the status of its answer. A target may name what newShop makes, such as
// {userId}.
type operation struct {
	method, target, body string
	status               int
}

// operations has every operation of the API, with usual and unusual values. They are asked in this
// order; the last ones change what the others need.
func operations() []operation {
	const user, reward, endpoint = "/v1/users/{userId}", "/v1/rewards/{rewardId}", "/v1/webhook-endpoints/{webhookEndpointId}"
	const unknown = "/0199b1c6-3f60-7a10-8c1d-2e3f40516273"
	const award = `{"userId":"{userId}","idempotencyKey":"fuzz-000%d","amountUsd":%s,"assetSymbol":"AAPL"}`
	return []operation{
		{"GET", "/openapi.json", "", 200},
		{"POST", "/v1/users", `{"externalId":"another"}`, 201},
		{"GET", "/v1/users?externalId=another", "", 200},
		{"GET", user, "", 200},
		{"PATCH", user, `{"email":"Ada@example.org","externalId":null}`, 200},
		{"PATCH", user, `{"email":null}`, 400},
		{"GET", user + "/portfolio", "", 200},
		{"GET", user + "/activity?limit=1", "", 200},
		{"GET", user + "/activity?cursor=AZmxx1CqfESisubD1OX2Bw", "", 400},
		{"POST", "/v1/rewards", fmt.Sprintf(award, 1, "1e0"), 201},
		{"POST", "/v1/rewards", fmt.Sprintf(award, 2, "1000"), 422}, // beyond the budget
		{"GET", "/v1/rewards?createdAfter=2026-09-21T14:30:00Z&idempotencyKey=fuzz-0001", "", 200},
		{"POST", "/v1/rewards/batches", `{"rewards":[` + fmt.Sprintf(award, 3, "2") + `,{},7,` + fmt.Sprintf(award, 1, "1") + `]}`, 200},
		{"POST", "/v1/rewards/batches", `{"rewards":[]}`, 400},
		{"GET", reward, "", 200},
		{"GET", reward + "/timeline", "", 200},
		{"GET", "/v1/rewards" + unknown + "/timeline", "", 404},
		{"POST", reward + "/reversals", `{"idempotencyKey":"fuzz-0001","amountUsd":0.0000005,"reason":"\ud83d\ude00"}`, 201},
		{"POST", reward + "/reversals", `{"idempotencyKey":"fuzz-0001","reason":null,"amountUsd":1e-7}`, 400},
		{"POST", reward + "/reversals", `{"idempotencyKey":"fuzz-0001"}`, 409},
		{"POST", reward + "/reversals", `{"idempotencyKey":"fuzz-0002","amountUsd":1e6}`, 422},
		{"GET", "/v1/reversals?rewardId={rewardId}&userId={userId}&status=pending&limit=200", "", 200},
		{"GET", "/v1/reversals?status=done", "", 400},
		{"GET", "/v1/reversals/{reversalId}", "", 200},
		{"GET", "/v1/assets", "", 200},
		{"GET", "/v1/budgets", "", 200},
		{"GET", "/v1/corporate-actions?assetSymbol=aapl&status=announced", "", 200},
		{"GET", "/v1/corporate-actions/{corporateActionId}", "", 404},
		{"GET", "/v1/corporate-actions/{corporateActionId}/effects?userId={userId}", "", 404},
		{"GET", "/v1/events?after=0&types=reward.failed,reversal.completed&limit=1", "", 200},
		{"GET", "/v1/events?after=18446744073709551616&wait=31", "", 400},
		{"GET", "/v1/events/stream?after=0", "", 200},
		{"GET", "/v1/events/{eventId}", "", 200},
		{"GET", "/v1/events" + unknown, "", 404},
		{"POST", "/v1/webhook-endpoints", `{"url":"https://hooks.example.org/in?a=%2f","types":["reward.executed"]}`, 201},
		{"POST", "/v1/webhook-endpoints", `{"url":"https://u:p@[::1]:0/#x","types":null}`, 400},
		{"GET", "/v1/webhook-endpoints", "", 200},
		{"GET", endpoint, "", 200},
		{"GET", endpoint + "/deliveries?limit=2&status=failed", "", 200},
		{"PATCH", endpoint, `{"types":null,"url":"https://hooks.example.org/b"}`, 200},
		{"POST", endpoint + "/rotate-secret", "", 200},
		{"POST", endpoint + "/test", "", 202},
		{"POST", endpoint + "/replay", `{"after":0}`, 202},
		{"DELETE", endpoint, "", 204},
	}
}

// shop is the real handler over the real store, for one app.
type shop struct {
	http.Handler
	key   string
	names *strings.Replacer
}

// plainSealer keeps secrets as they are, after the version of the form, as the store wants.
type plainSealer struct{}

const sealedVersion = 1

// Seal implements rewards.Sealer.
func (plainSealer) Seal(_ rewards.AppID, secret []byte) (rewards.SealedSecret, error) {
	return append([]byte{sealedVersion}, secret...), nil
}

// Open implements rewards.Sealer.
func (plainSealer) Open(_ rewards.AppID, sealed rewards.SealedSecret) ([]byte, error) {
	return sealed[1:], nil
}

// newShop makes a shop whose app has a user, an award with a reversal, an event, an endpoint and a budget.
func newShop(tb testing.TB) *shop {
	tb.Helper()
	books := world.Operator(tb, world.Engine(tb), time.Now, rand.Reader)
	world.Check(tb, books.SeedAssets(tb.Context(), []rewards.Asset{{Symbol: "AAPL", Name: "Apple Inc."}}))
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
	world.Check(tb, err)
	_, _, err = books.CreateApp(tb.Context(), "fuzzed", rewards.Key{Hash: rewards.HashKey(secret)}, rewards.Budget{
		Name: "month", Per: rewards.PerApp, Period: rewards.PeriodMonth, Limit: 500 * money.Dollar,
	})
	world.Check(tb, err)
	recorder := intake.New(books, func() {})
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); recorder.Run(ctx) }()
	tb.Cleanup(func() { cancel(); <-ended })
	service := rewards.NewService(books, recorder, &desk{}, time.Now)
	service.SetWebhooks(rewards.Webhooks{Sealer: plainSealer{}, Random: rand.Reader, Nudge: func() {}})
	s := &shop{key: secret, names: strings.NewReplacer()}
	o := api.Options{Service: service, CursorKey: []byte("cursors"), Log: slog.New(slog.DiscardHandler)}
	s.Handler = api.NewServer(o).Handler
	s.fill(tb)
	return s
}

// fill makes what targets name.
func (s *shop) fill(tb testing.TB) {
	tb.Helper()
	named := []string{"{corporateActionId}", "0199b1c6-3f60-7a10-8c1d-2e3f40516273"} // unknown
	for _, o := range []struct{ name, target, body, list, member string }{
		{"{userId}", "/v1/users", `{"externalId":"fuzzed"}`, "", "user"},
		{"{rewardId}", "/v1/rewards", `{"userId":"{userId}","idempotencyKey":"fuzz-0000","amountUsd":1,"assetSymbol":"AAPL"}`, "", "reward"},
		{"", "/v1/rewards/{rewardId}/reversals", `{"idempotencyKey":"fuzz-0000"}`, "", "reversal"},
		{"{rewardId}", "/v1/rewards", `{"userId":"{userId}","idempotencyKey":"fuzz-0009","amountUsd":1,"assetSymbol":"AAPL"}`, "", "reward"},
		{"{reversalId}", "/v1/rewards/{rewardId}/reversals", `{"idempotencyKey":"fuzz-0009","amountUsd":0.1}`, "", "reversal"},
		{"{webhookEndpointId}", "/v1/webhook-endpoints", `{"url":"https://hooks.example.org/"}`, "", "webhookEndpoint"},
	} {
		answer := s.ask(tb.Context(), http.MethodPost, o.target, o.body)
		var got map[string]json.RawMessage
		var made struct{ ID string }
		world.Check(tb, json.Unmarshal(answer.Body.Bytes(), &got))
		world.Check(tb, json.Unmarshal(got[o.member], &made))
		if made.ID == "" {
			tb.Fatalf("%s: %d %s", o.target, answer.Code, answer.Body)
		}
		if o.name != "" {
			named = append([]string{o.name, made.ID}, named...)
			s.names = strings.NewReplacer(named...)
		}
	}
	var feed struct{ Events []struct{ ID string } }
	world.Check(tb, json.Unmarshal(s.ask(tb.Context(), http.MethodGet, "/v1/events?after=0", "").Body.Bytes(), &feed))
	if len(feed.Events) == 0 {
		tb.Fatal("no events")
	}
	s.names = strings.NewReplacer(append(named, "{eventId}", feed.Events[0].ID)...)
}

// ask sends a request. One that waits for events gets a moment.
func (s *shop) ask(ctx context.Context, method, target, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	asked, err := http.ReadRequest(bufio.NewReader(strings.NewReader(
		method + " " + s.names.Replace(target) + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + s.key + "\r\n\r\n")))
	if err != nil {
		return nil // net/http refuses it, by itself
	}
	if waits(asked.URL) {
		within, cancel := context.WithTimeout(ctx, moment)
		defer cancel()
		ctx = within
	}
	body = s.names.Replace(body)
	asked.Body, asked.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	s.ServeHTTP(answer, asked.WithContext(ctx))
	return answer
}

const moment = 20 * time.Millisecond

// waits reports whether a request may wait for events.
func waits(u *url.URL) bool {
	return strings.HasPrefix(u.Path, "/v1/events") && (u.Query().Has("wait") || strings.HasSuffix(u.Path, "/stream"))
}

// checkOperation checks what holds for every answer of the shop.
func checkOperation(t *testing.T, a *httptest.ResponseRecorder) {
	t.Helper()
	switch {
	case a.Code == http.StatusNoContent && a.Body.Len() == 0, a.Header().Get("Content-Type") == "text/event-stream":
	default:
		checkAnswer(t, a)
	}
}

// FuzzOperation asks any operation anything, over a real store.
func FuzzOperation(f *testing.F) {
	s := newShop(f)
	for _, o := range operations() {
		f.Add(o.method, o.target, o.body)
	}
	f.Fuzz(func(t *testing.T, method, target, body string) {
		answer := s.ask(t.Context(), method, target, body)
		if answer == nil || method == http.MethodHead || method == http.MethodConnect {
			return
		}
		if u, err := url.Parse(target); err == nil && waits(u) && answer.Code == http.StatusServiceUnavailable {
			return // the moment is over
		}
		checkOperation(t, answer)
	})
}

// Every operation of the API is a seed of FuzzOperation, and the seed reaches it.
func TestEveryOperationIsFuzzed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	world.Check(t, json.Unmarshal(s.ask(t.Context(), http.MethodGet, "/openapi.json", "").Body.Bytes(), &document))
	reached := map[string]bool{}
	for _, o := range operations() {
		answer := s.ask(t.Context(), o.method, o.target, o.body)
		if answer.Code != o.status {
			t.Errorf("%s %s %s: %d %s, want %d", o.method, o.target, o.body, answer.Code, answer.Body, o.status)
		}
		checkOperation(t, answer)
		path, _, _ := strings.Cut(o.target, "?")
		if o.status < http.StatusBadRequest || strings.Contains(path, "{corporateActionId}") { // no action is announced
			reached[o.method+" "+path] = true
		}
	}
	for path, operations := range document.Paths {
		for method := range operations {
			if name := strings.ToUpper(method) + " " + path; method != "parameters" && !reached[name] {
				t.Errorf("no seed of FuzzOperation reaches %s", name)
			}
		}
	}
}
