package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/client"
)

// service answers requests in memory: with one answer after the other, the last one again.
type service struct {
	answers []answer
	got     []string // method, path and body of each request
}

type answer struct {
	status int
	body   string
	header http.Header
	err    error // in place of an answer
}

// RoundTrip implements http.RoundTripper.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.got = append(s.got, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	a := s.answers[min(len(s.got), len(s.answers))-1]
	if a.err != nil {
		return nil, a.err
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

func (s *service) client() *client.Client {
	c := client.New("http://rewards.example/", "sr_test_key")
	c.HTTP = &http.Client{Transport: s}
	return c
}

func refusal(status int, code string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"error":{"code":%q,"message":"m","requestId":"r"}}`, code)}
}

func later(a answer, after string) answer {
	a.header = http.Header{"Retry-After": {after}}
	return a
}

// What is safe to send again is sent again, after the time that the service asks for; what is
// not, is sent once. The same bytes go out each time.
func TestRetries(t *testing.T) {
	t.Parallel()
	const award, user = `{"idempotencyKey":"key-12345"}`, `{"email":"a@b.c"}`
	good, lost := answer{status: 200, body: "{}"}, answer{err: errors.New("reset")}
	down := answer{err: &net.OpError{Op: "dial", Err: errors.New("refused")}}
	const date, past = "Sat, 01 Jan 2000 00:00:50 GMT", "Fri, 31 Dec 1999 23:59:00 GMT" // synctest begins in between
	busy, limited := later(refusal(503, "internal_error"), "3"), later(refusal(429, "forbidden"), "7")
	for name, c := range map[string]struct {
		method, body string
		answers      []answer
		sent         int
		least, most  time.Duration
		status       int // of the error; 0: none, -1: no answer
	}{
		"an award, a lost answer":       {"POST", award, []answer{lost, good}, 2, 0, 200 * time.Millisecond, 0},
		"an award, 503":                 {"POST", award, []answer{busy, busy, good}, 3, 6 * time.Second, 7 * time.Second, 0},
		"an award, 429":                 {"POST", award, []answer{limited, good}, 2, 7 * time.Second, 8 * time.Second, 0},
		"an award, 500":                 {"POST", award, []answer{refusal(500, "internal_error"), good}, 2, 0, 200 * time.Millisecond, 0},
		"an award, until a date":        {"POST", award, []answer{later(refusal(503, "internal_error"), date), good}, 2, 50 * time.Second, 51 * time.Second, 0},
		"an award, until a date before": {"POST", award, []answer{later(refusal(503, "internal_error"), past), good}, 2, 0, 200 * time.Millisecond, 0},
		"an award, 409":                 {"POST", award, []answer{refusal(409, "conflict"), good}, 1, 0, 0, 409},
		"a batch":                       {"POST", `{"rewards":[` + award + `]}`, []answer{lost, good}, 2, 0, time.Second, 0},
		"a batch without a key":         {"POST", `{"rewards":[` + award + `,{}]}`, []answer{lost, good}, 1, 0, 0, -1},
		"a user, a lost answer":         {"POST", user, []answer{lost, good}, 1, 0, 0, -1},
		"a user, 503":                   {"POST", user, []answer{busy, good}, 1, 0, 0, 503},
		"a user, 500":                   {"POST", user, []answer{refusal(500, "internal_error"), good}, 1, 0, 0, 500},
		"a user, 429":                   {"POST", user, []answer{limited, good}, 2, 7 * time.Second, 8 * time.Second, 0},
		"a user, nobody listens":        {"POST", user, []answer{down, down, good}, 3, 0, time.Second, 0},
		"a change":                      {"PATCH", user, []answer{lost, good}, 2, 0, time.Second, 0},
		"a read, a proxy's 502":         {"GET", "", []answer{{status: 502, body: "<html>"}, good}, 2, 0, time.Second, 0},
		"a read, no price":              {"GET", "", []answer{refusal(502, "upstream_error"), good}, 1, 0, 0, 502},
		"never":                         {"GET", "", []answer{busy}, 6, 15 * time.Second, 17 * time.Second, 503},
		"a Retry-After beyond patience": {"GET", "", []answer{later(refusal(503, "internal_error"), "3600"), good}, 1, 0, 0, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{answers: c.answers}
				var body any
				if c.body != "" {
					body = raw(c.body)
				}
				began := time.Now()
				err := s.client().Do(t.Context(), c.method, "/v1/x", body, nil)
				took := time.Since(began)
				e, answered := errors.AsType[*client.Error](err)
				switch {
				case c.status == 0 && err != nil, c.status == -1 && (answered || err == nil), c.status > 0 && (!answered || e.Status != c.status):
					t.Errorf("%v, want %d", err, c.status)
				case took < c.least || took > c.most:
					t.Errorf("it took %s, want %s to %s", took, c.least, c.most)
				case len(s.got) != c.sent || s.got[0] != s.got[c.sent-1]:
					t.Errorf("%d requests, want %d: %q", len(s.got), c.sent, s.got)
				}
			})
		})
	}
}

// raw is JSON that a test writes.
type raw string

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// A caller who wants many attempts waits for the service for as long as it takes.
func TestManyAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answers: []answer{refusal(429, "forbidden")}}
		c := s.client()
		c.Attempts = 100
		began := time.Now()
		err := c.Do(t.Context(), http.MethodGet, "/v1/x", nil, nil)
		if took := time.Since(began); client.CodeOf(err) != client.CodeForbidden || len(s.got) != 100 || took > 99*5*time.Second {
			t.Errorf("%d attempts in %s: %v", len(s.got), took, err)
		}
	})
}

// Another host gets neither the key nor what a request says, with the caller's HTTP client, too.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		elsewhere := http.Header{"Location": {"https://elsewhere.example/v1/x"}}
		s := &service{answers: []answer{{status: status, header: elsewhere}, {status: 200, body: "{}"}}}
		err := s.client().Do(t.Context(), http.MethodPost, "/v1/x", raw(`{"idempotencyKey":"key-12345"}`), nil)
		if e, _ := errors.AsType[*client.Error](err); len(s.got) != 1 || e == nil || e.Status != status {
			t.Errorf("%d: %v after %q", status, err, s.got)
		}
	}
}

// Metadata is sent as it is given: an escape would make it longer, and come back.
func TestMetadataIsSentAsGiven(t *testing.T) {
	t.Parallel()
	s := &service{answers: []answer{{status: 201, body: `{"reward":{"id":"1"}}`}}}
	const metadata = `{"s":"<&>\u00e9ä` + "\u2028" + `"}`
	_, err := s.client().Award(t.Context(), client.NewReward{
		UserID: "u", IdempotencyKey: "key-12345", AmountUSD: client.MustDecimal("5"), AssetSymbol: "A&B", Metadata: []byte(metadata),
	})
	want := `POST /v1/rewards {"userId":"u","idempotencyKey":"key-12345","amountUsd":5,"assetSymbol":"A&B","metadata":` + metadata + `}`
	if err != nil || s.got[0] != want {
		t.Errorf("sent %s, %v", s.got[0], err)
	}
}

// A context that ends stops the retries at once. The error is both the context's and the last answer.
func TestContextEndsThePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answers: []answer{later(refusal(503, "internal_error"), "50")}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := s.client().Reward(ctx, "id")
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 503 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		const want = "cannot send the request again: context deadline exceeded; " +
			"the last attempt: GET /v1/rewards/id: 503 internal_error: m (request r)"
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	})
}

// After a lost answer the user is found, but only when it is the same one. A conflict of the
// first attempt is the caller's.
func TestCreateUserRecovers(t *testing.T) {
	t.Parallel()
	taken := answer{status: 409, body: `{"error":{"code":"conflict","details":{"field":"email","userId":"u-1"}}}`}
	found := answer{status: 200, body: `{"user":{"id":"u-1","email":"ADA@b.c","externalId":null}}`}
	other := answer{status: 200, body: `{"user":{"id":"u-1","email":"ada@b.c","externalId":"x"}}`}
	lost := answer{err: errors.New("reset")}
	for name, c := range map[string]struct {
		answers []answer
		code    string
	}{
		"created by the lost request": {[]answer{lost, taken, found}, ""},
		"another user":                {[]answer{lost, taken, other}, client.CodeConflict},
		"there before":                {[]answer{taken, found}, client.CodeConflict},
		"limited, then there before":  {[]answer{refusal(429, "forbidden"), taken, found}, client.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{answers: c.answers}
				u, err := s.client().CreateUser(t.Context(), client.NewUser{Email: "ada@b.c"})
				if client.CodeOf(err) != c.code || (err == nil) != (u.ID == "u-1") {
					t.Errorf("%+v %v after %q", u, err, s.got)
				}
			})
		})
	}
}

// An error has all that the service said, and never the key.
func TestError(t *testing.T) {
	t.Parallel()
	s := &service{answers: []answer{{status: 400, body: `{"error":{"code":"bad_request","message":"wrong","requestId":"r-1",
		"details":[{"path":"amountUsd","message":"must be a number"}]}}`}}}
	_, err := s.client().Award(t.Context(), client.NewReward{})
	e, _ := errors.AsType[*client.Error](err)
	if e == nil {
		t.Fatal(err)
	}
	want := []client.Issue{{Path: "amountUsd", Message: "must be a number"}}
	if diff := cmp.Diff(want, e.Issues()); diff != "" || e.RequestID != "r-1" {
		t.Errorf("request %s (-want +got):\n%s", e.RequestID, diff)
	}
	if got := err.Error(); got != "POST /v1/rewards: 400 bad_request: wrong (request r-1)" {
		t.Error(got)
	}
}

// An answer that is not JSON, or of another shape, is an error that is not retried.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"<html>", `{"reward":{"amountUsd":"5"}}`, `{"reward":{"amountUsd":1e3}}`} {
		s := &service{answers: []answer{{status: 200, body: body}}}
		_, err := s.client().Reward(t.Context(), "id")
		if err == nil || len(s.got) != 1 || !strings.HasPrefix(err.Error(), "GET /v1/rewards/id: 200 cannot decode the answer: ") {
			t.Errorf("%s: %v after %q", body, err, s.got)
		}
	}
}

// A program in between may answer for the service. What was not recorded or read is no success.
func TestAnswersWithoutWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	s := &service{}
	c, ctx := s.client(), t.Context()
	calls := map[string]func() (any, error){
		"award":     func() (any, error) { return c.Award(ctx, client.NewReward{}) },
		"awards":    func() (any, error) { return c.AwardAll(ctx, make([]client.NewReward, 1)) },
		"reverse":   func() (any, error) { return c.Reverse(ctx, "id", client.NewReversal{}) },
		"new user":  func() (any, error) { return c.CreateUser(ctx, client.NewUser{}) },
		"change":    func() (any, error) { return c.ChangeUser(ctx, "id", client.UserChange{}) },
		"user":      func() (any, error) { return c.User(ctx, "id") },
		"portfolio": func() (any, error) { return c.Portfolio(ctx, "id") },
		"reward":    func() (any, error) { return c.Reward(ctx, "id") },
		"await":     func() (any, error) { return c.Await(ctx, "id") },
		"timeline":  func() (any, error) { return c.Timeline(ctx, "id") },
		"reversal":  func() (any, error) { return c.Reversal(ctx, "id") },
		"action":    func() (any, error) { return c.CorporateAction(ctx, "id") },
		"event":     func() (any, error) { return c.Event(ctx, "id") },
		"assets":    func() (any, error) { return c.Assets(ctx) },
		"budgets":   func() (any, error) { return c.Budgets(ctx) },
		"endpoint":  func() (any, error) { return c.WebhookEndpoint(ctx, "id") },
		"secret":    func() (any, error) { return c.RotateWebhookSecret(ctx, "id") },
		"test":      func() (any, error) { return c.TestWebhook(ctx, "id") },
		"new endpoint": func() (any, error) {
			_, _, err := c.CreateWebhookEndpoint(ctx, client.NewWebhookEndpoint{})
			return nil, err
		},
		"changed endpoint": func() (any, error) { return c.ChangeWebhookEndpoint(ctx, "id", client.EndpointChange{}) },
		"list":             func() (any, error) { return nil, first(c.Rewards(ctx, client.RewardFilter{})) },
		"events":           func() (any, error) { return nil, first(c.Events(ctx, 42)) },
	}
	for _, body := range []string{"", "null", "{}", `{"ok":true}`, `{"ok":"yes"}`, `{"reward":null}`, `{"user":{}}`, `{"events":null}`} {
		for what, call := range calls {
			s.answers, s.got = []answer{{status: 200, body: body}}, nil
			if _, err := call(); err == nil || len(s.got) != 1 {
				t.Errorf("%s of %q: error %v after %d requests, want one of each", what, body, err, len(s.got))
			}
		}
	}
}

// first returns the error of the first item, or nil.
func first[T any](items iter.Seq2[T, error]) error {
	for _, err := range items {
		return err
	}
	return nil
}

// A change says which members stay, change and are erased.
func TestUserChange(t *testing.T) {
	t.Parallel()
	s := &service{answers: []answer{{status: 200, body: `{"user":{"id":"a/b"}}`}}}
	name := "x"
	_, err := s.client().ChangeUser(t.Context(), "a/b", client.UserChange{ExternalID: &name, EraseEmail: true})
	if want := `PATCH /v1/users/a%2Fb {"email":null,"externalId":"x"}`; err != nil || s.got[0] != want {
		t.Errorf("%q %v", s.got, err)
	}
}

// So does a change of a webhook endpoint.
func TestEndpointChange(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]client.EndpointChange{
		`{}`:                                  {},
		`{"types":null}`:                      {AllTypes: true},
		`{"description":null}`:                {EraseDescription: true},
		`{"description":"d","types":["a.b"]}`: {Types: []string{"a.b"}, Description: new("d")},
		`{"status":"disabled","url":"https://x.example"}`: {URL: new("https://x.example"), Status: new("disabled")},
	} {
		s := &service{answers: []answer{{status: 200, body: `{"webhookEndpoint":{"id":"e"}}`}}}
		_, err := s.client().ChangeWebhookEndpoint(t.Context(), "e", change)
		if want = "PATCH /v1/webhook-endpoints/e " + want; err != nil || s.got[0] != want {
			t.Errorf("%q %v, want %q", s.got, err, want)
		}
	}
}

// A removal whose answer was lost has happened; one of what was never there has not.
func TestDeleteAgain(t *testing.T) {
	t.Parallel()
	gone, lost := refusal(404, "not_found"), answer{err: errors.New("reset")}
	for _, c := range []struct {
		answers []answer
		code    string
	}{{[]answer{lost, gone}, ""}, {[]answer{{status: 204}}, ""}, {[]answer{gone}, client.CodeNotFound}} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{answers: c.answers}
			if err := s.client().DeleteWebhookEndpoint(t.Context(), "e"); client.CodeOf(err) != c.code {
				t.Errorf("%v after %q", err, s.got)
			}
		})
	}
}
