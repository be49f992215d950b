package api_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
)

var (
	errFault       = errors.New("table rewards: a secret of the database")
	errUnavailable = rewards.Unavailable("the service is busy", errFault)
	uuidForm       = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// wantHidden checks an internal error: its request id and cause are logged, and the
// response does not contain the cause. A 503 has Retry-After.
func (a answer) wantHidden(t *testing.T, log string) {
	t.Helper()
	a.wantError(t, a.status, "internal_error", nil)
	if got := a.header.Get("Retry-After"); a.status == http.StatusServiceUnavailable && got != "1" {
		t.Errorf("%s: Retry-After is %q, want 1", a.request.target, got)
	}
	if strings.Contains(string(a.body), "secret") {
		t.Errorf("%s %s reveals %s", a.request.method, a.request.target, a.body)
	}
	_, line, logged := strings.Cut(log, `"request_id":"`+a.header.Get("X-Request-Id"))
	if line, _, _ = strings.Cut(line, "\n"); !logged || !strings.Contains(line, "secret") {
		t.Errorf("%s %s: the cause is not logged: %s", a.request.method, a.request.target, line)
	}
}

// Each error code of the domain has its status and its code in the error body
// (specification, section 7). All but internal errors show their message.
func TestEveryCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for code, want := range map[rewards.Code]struct {
		status int
		code   string
	}{
		rewards.CodeBadRequest: {400, "bad_request"}, rewards.CodeUnauthorized: {401, "unauthorized"},
		rewards.CodeForbidden: {403, "forbidden"}, rewards.CodeNotFound: {404, "not_found"},
		rewards.CodeTooMany:  {429, "forbidden"},
		rewards.CodeConflict: {409, "conflict"}, rewards.CodeUnprocessable: {422, "unprocessable_entity"},
		rewards.CodeUpstream: {502, "upstream_error"}, rewards.CodeUnavailable: {503, "internal_error"},
		rewards.CodeInternal: {500, "internal_error"},
	} {
		a, err := c.broken(t, &rewards.Error{Code: code, Message: "the message"}).
			try(t, request{method: http.MethodGet, target: "/v1/assets"})
		check(t, err)
		a.wantStatus(t, want.status).want(t, want.code, "error", "code")
		if shown := a.text(t, "error", "message") == "the message"; shown == (code == rewards.CodeInternal) {
			t.Errorf("code %d: %s", code, a.body)
		}
	}
	if rewards.CodeInternal != 10 {
		t.Error("a new code is missing in this test")
	}
}

// recorderFunc is a recorder that calls one function.
type recorderFunc func(context.Context, rewards.NewReward) (rewards.Outcome, error)

func (f recorderFunc) Record(ctx context.Context, r rewards.NewReward) (rewards.Outcome, error) {
	return f(ctx, r)
}

func (f recorderFunc) RecordAll(
	ctx context.Context, _ rewards.AppID, batch []rewards.NewReward,
) ([]rewards.BatchOutcome, error) {
	list := make([]rewards.BatchOutcome, len(batch))
	for i, r := range batch {
		list[i].Outcome, list[i].Err = f(ctx, r)
	}
	return list, nil
}

func (f recorderFunc) CreateUser(ctx context.Context, u rewards.User) (rewards.User, error) {
	_, err := f(ctx, rewards.NewReward{})
	return u, err
}

func (f recorderFunc) ChangeUser(ctx context.Context, _ rewards.UserChange) (rewards.User, error) {
	_, err := f(ctx, rewards.NewReward{})
	return rewards.User{}, err
}

func (f recorderFunc) Reverse(ctx context.Context, _ rewards.NewReversal) (rewards.ReversalOutcome, error) {
	_, err := f(ctx, rewards.NewReward{})
	return rewards.ReversalOutcome{}, err
}

// itemRecorder fails to record the reward with a key, or all without one. It records others.
type itemRecorder struct {
	brokenRecorder

	failed string
}

func (r itemRecorder) RecordAll(
	_ context.Context, _ rewards.AppID, batch []rewards.NewReward,
) ([]rewards.BatchOutcome, error) {
	list := make([]rewards.BatchOutcome, len(batch))
	for i, n := range batch {
		if r.failed == "" || n.IdempotencyKey == r.failed {
			list[i].Err = r.err
			continue
		}
		list[i].Outcome = n.Decide(rewards.RewardID{6: 0x70, 8: 0x80}, nil, true)
	}
	return list, nil
}

// A panic is answered like any other fault; the connection and the server go on.
func TestPanic(t *testing.T) {
	t.Parallel()
	panics := recorderFunc(func(context.Context, rewards.NewReward) (rewards.Outcome, error) { panic("secret") })
	c := newApp(t)
	c = c.over(t, c.world.store, panics)
	a := c.post(t, "/v1/rewards", award(c.newUser(t))).wantError(t, http.StatusInternalServerError, "internal_error", nil)
	if strings.Contains(string(a.body), "secret") {
		t.Errorf("the response contains %s", a.body)
	}
	c.get(t, "/v1/assets").wantStatus(t, http.StatusOK)
}

// A database error during the lookup of a key does not make the key invalid.
func TestErrorDuringKeyLookup(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for want, err := range map[int]error{500: errFault, 503: errUnavailable} {
		by := c.over(t, blindStore{brokenStore{c.world.store, err}}, brokenRecorder{})
		by.get(t, "/v1/assets").wantError(t, want, "internal_error", nil)
	}
}

// blindStore fails to find keys too.
type blindStore struct{ brokenStore }

func (s blindStore) AppByKey(context.Context, rewards.KeyHash) (rewards.Key, rewards.App, error) {
	return rewards.Key{}, rewards.App{}, s.err
}

// The log has one line per request, without keys and personal data.
func TestLogHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	c.post(t, "/v1/users", `{"email":"private@example.com"}`).wantStatus(t, http.StatusCreated)
	c.get(t, "/v1/users?email=private@example.com").wantStatus(t, http.StatusOK)
	a := c.post(t, "/v1/users", `{"email":"private@example.com"}`).wantStatus(t, http.StatusConflict)
	log := w.log.String()
	if got := strings.Count(log, "\n"); got != 3 {
		t.Errorf("%d lines for 3 requests:\n%s", got, log)
	}
	if strings.Contains(log, "private") || strings.Contains(log, c.key) {
		t.Errorf("the log has a secret:\n%s", log)
	}
	if !strings.Contains(log, a.header.Get("X-Request-Id")) || !strings.Contains(log, c.app.ID.String()) {
		t.Errorf("the log lacks the request or the app:\n%s", log)
	}
}
