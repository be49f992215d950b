// Package fuzz tests the parsers of external input: clients' requests, a broker's answers and
// the strings in a journal. `make fuzz` runs the fuzz targets; as plain tests they run their
// seeds and earlier findings (testdata).
package fuzz

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/test/world"
)

// desk is the real handler over a store that keeps the last request and has endless
// lists.
type desk struct {
	rewards.Store
	http.Handler

	given rewards.NewReward
	user  rewards.User
}

const secret = "sr_test_" // what follows is made by newDesk

func now() time.Time { return time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC) }

func newDesk(tb testing.TB) (*desk, string) {
	tb.Helper()
	key, err := rewards.NewKeySecret(rewards.TestKeyPrefix, strings.NewReader(strings.Repeat("k", 64)))
	if err != nil || !strings.HasPrefix(key, secret) {
		tb.Fatal(err)
	}
	d := &desk{}
	d.Handler = api.NewServer(api.Options{
		Service: rewards.NewService(d, d, d, now), CursorKey: []byte("cursors"), Log: slog.New(slog.DiscardHandler),
	}).Handler
	return d, key
}

func id[T any](b byte) (made rewards.ID[T]) {
	for i := range made {
		made[i] = b
	}
	return made
}

func (d *desk) AppByKey(_ context.Context, hash rewards.KeyHash) (rewards.Key, rewards.App, error) {
	return rewards.Key{AppID: id[rewards.App](1), Hash: hash}, rewards.App{ID: id[rewards.App](1)}, nil
}

func (d *desk) AccountMode(context.Context) (rewards.Mode, error) { return rewards.ModeTest, nil }

func (d *desk) CreateUser(_ context.Context, u rewards.User) (rewards.User, error) {
	u.ID = id[rewards.User](2)
	d.user = u
	return u, nil
}

// ChangeUser implements rewards.Recorder.
func (d *desk) ChangeUser(_ context.Context, c rewards.UserChange) (rewards.User, error) {
	return rewards.User{AppID: c.AppID, ID: c.UserID}, nil
}

// Reverse implements rewards.Recorder.
func (d *desk) Reverse(_ context.Context, n rewards.NewReversal) (rewards.ReversalOutcome, error) {
	return rewards.ReversalOutcome{Reversal: rewards.Reversal{AppID: n.AppID, RewardID: n.RewardID, Amount: n.Amount}}, nil
}

// RecordAll implements rewards.Recorder.
func (d *desk) RecordAll(
	ctx context.Context, _ rewards.AppID, batch []rewards.NewReward,
) (list []rewards.BatchOutcome, err error) {
	for _, r := range batch {
		outcome, err := d.Record(ctx, r)
		list = append(list, rewards.BatchOutcome{Outcome: outcome, Err: err})
	}
	return list, nil
}

// Record implements rewards.Recorder: everything can be given to everyone.
func (d *desk) Record(_ context.Context, r rewards.NewReward) (rewards.Outcome, error) {
	d.given = r
	return rewards.Outcome{Verdict: rewards.Created, Reward: rewards.Reward{
		AppID: r.AppID, ID: id[rewards.Reward](3), UserID: r.UserID, IdempotencyKey: r.IdempotencyKey, Amount: r.Amount,
		Symbol: r.Symbol, Source: r.Source, Metadata: r.Metadata, Status: rewards.Recorded,
	}}, nil
}

func (d *desk) User(_ context.Context, app rewards.AppID, user rewards.UserID) (rewards.User, error) {
	return rewards.User{AppID: app, ID: user}, nil
}

func (d *desk) Users(_ context.Context, _ rewards.AppID, _ rewards.UserFilter, p rewards.Page[rewards.User]) ([]rewards.User, error) {
	return make([]rewards.User, p.Limit), nil
}

func (d *desk) Reward(_ context.Context, app rewards.AppID, reward rewards.RewardID) (rewards.Reward, error) {
	return rewards.Reward{AppID: app, ID: reward, Status: rewards.Recorded}, nil
}

func (d *desk) Rewards(_ context.Context, _ rewards.AppID, _ rewards.RewardFilter, p rewards.Page[rewards.Reward]) ([]rewards.Reward, error) {
	return make([]rewards.Reward, p.Limit), nil
}

func (d *desk) Holdings(context.Context, rewards.AppID, rewards.UserID) ([]rewards.Holding, error) {
	return nil, nil
}

func (d *desk) Assets(context.Context) ([]rewards.Asset, error) { return nil, nil }

func (d *desk) CatalogNumber() int64 { return 0 }

func (d *desk) Price(rewards.AssetID, int64) (money.Price, bool) { return 0, false }

// Generation implements rewards.Prices: no units change.
func (*desk) Generation(rewards.AssetID) int64 { return 0 }

// Reload implements rewards.Prices.
func (*desk) Reload(context.Context) error { return nil }

func (d *desk) post(t *testing.T, key, path, body string) (int, []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-Api-Key", key)
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, r)
	checkAnswer(t, answer)
	return answer.Code, answer.Body.Bytes()
}

var harmless = regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`)

// checkAnswer checks what holds for every answer, whatever was asked.
func checkAnswer(t *testing.T, a *httptest.ResponseRecorder) {
	t.Helper()
	text := a.Body.Bytes()
	if a.Code >= 500 || !json.Valid(text) || !harmless.MatchString(a.Header().Get("X-Request-Id")) {
		t.Errorf("%d %v %s", a.Code, a.Header(), text)
	}
	var e struct {
		Error struct{ Code, Message, RequestID string }
	}
	if a.Code >= 400 && (json.Unmarshal(text, &e) != nil || e.Error.Code == "" || e.Error.Message == "" ||
		e.Error.RequestID != a.Header().Get("X-Request-Id")) {
		t.Errorf("%d is no error as documented: %s", a.Code, text)
	}
}

// FuzzAddress requests any path with any headers.
func FuzzAddress(f *testing.F) {
	d, key := newDesk(f)
	for _, target := range []string{
		"/v1/users", "/v1/users?email=%C3%84%40x.org&limit=1", "/v1/rewards?limit=007&status=executed", "/v1/rewards?limit=0&limit=1",
		"/v1/rewards?userId=0199b1c6-3f60-7a10-8c1d-2e3f40516273&cursor=AZmxx1CqfESisubD1OX2BxgAAAAAAAAAAAAAAAAA", "/v1//users",
		"/v1/users/0199B1C6-3F60-7A10-8C1D-2E3F40516273/portfolio", "/v1/rewards/%2e%2e", "/v1/rewards?%zz", "*", "/v1/assets?;",
		"/v1/users?externalId=%00", "/openapi.json", "/v1/users?limit=99999999999999999999", "/v1/rewards?cursor=",
		"/v1/rewards?createdAfter=2026-09-21T14:30:00.125%2B02:00&createdBefore=9999-12-31T23:59:59Z&idempotencyKey=12345678", "//v1/users", "/v1/users/",
	} {
		f.Add(target, "checkout-7f3a", key)
	}
	f.Add("/v1/users", "\x00\xff", "sr_test_")
	f.Add("/v1/users", strings.Repeat("x", 129), "")
	f.Fuzz(func(t *testing.T, target, requestID, key string) {
		asked, err := http.ReadRequest(bufio.NewReader(strings.NewReader(
			"GET " + target + " HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + requestID + "\r\nX-Api-Key: " + key + "\r\n\r\n")))
		if err != nil {
			return // net/http refuses it, by itself
		}
		answer := httptest.NewRecorder()
		d.ServeHTTP(answer, asked)
		checkAnswer(t, answer)
		if sent := asked.Header.Get("X-Request-Id"); harmless.MatchString(sent) != (answer.Header().Get("X-Request-Id") == sent) {
			t.Errorf("the request id %q became %q", sent, answer.Header().Get("X-Request-Id"))
		}
		next, _, more := strings.Cut(strings.TrimPrefix(answer.Header().Get("Link"), "<"), ">")
		if !more {
			return
		}
		followed, err := url.Parse(next)
		if err != nil || answer.Code != http.StatusOK {
			t.Fatalf("%q leads to %q: %v", target, next, err)
		}
		asked.URL = followed
		answer = httptest.NewRecorder()
		d.ServeHTTP(answer, asked)
		if answer.Code != http.StatusOK {
			t.Errorf("%q leads to %q, which is answered %d: %s", target, next, answer.Code, answer.Body)
		}
	})
}

// FuzzUser posts anything as a user. Posting the answer to an accepted one gives the same
// user.
func FuzzUser(f *testing.F) {
	d, key := newDesk(f)
	for _, body := range []string{
		`{"email":"Ada@example.com"}`, `{"externalId":"customer-42","email":null}`, `{}`, `[]`, ``, `{"email":"a@b","email":"c@d"}`,
		`{"email":"\"a b\"@example.org"}`, `{"externalId":"\ud83d\ude00"}`, `{"externalId":"\ud83d"}`, `{"externalId":"\u0000"}`, "\ufeff{}",
		`{"email":"ä@müller.example"}`, `{"externalId":"a"} x`, `{"Email":"a@b.c"}`, `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		status, answer := d.post(t, key, "/v1/users", body)
		if status != http.StatusCreated {
			return
		}
		was := d.user
		var got struct {
			User struct{ Email, ExternalID json.RawMessage }
		}
		world.Check(t, json.Unmarshal(answer, &got))
		again := fmt.Sprintf(`{"email":%s,"externalId":%s}`, got.User.Email, got.User.ExternalID)
		if status, answer := d.post(t, key, "/v1/users", again); status != http.StatusCreated || d.user != was {
			t.Errorf("%s is stored as %+v and answered as %s, which is %d %s", body, was, again, status, answer)
		}
		if strings.ContainsRune(was.Email+was.ExternalID, 0) || was.Email+was.ExternalID == "" {
			t.Errorf("%s is kept as %+v", body, was)
		}
	})
}
