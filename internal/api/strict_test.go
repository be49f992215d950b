package api_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// Each of these changes to a valid response violates the document.
func TestDocumentRefusesInvalidResponses(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	c.hold(t, user, "KO", 1_000_000_000, 9_000_000)
	w.set(t, "KO", "10")
	reward := c.post(t, "/v1/rewards", award(user)).wantStatus(t, http.StatusCreated)
	id := reward.text(t, "reward", "id")
	down := c.broken(t, errUnavailable).get(t, "/v1/assets").wantStatus(t, http.StatusServiceUnavailable)
	answers := map[string]answer{
		"user":      c.get(t, "/v1/users/"+user).wantStatus(t, http.StatusOK),
		"users":     c.get(t, "/v1/users").wantStatus(t, http.StatusOK),
		"created":   reward,
		"batch":     c.post(t, batches, batchOf(award(user), `{}`)).wantSummary(t, 1, 0, 1),
		"reward":    c.get(t, "/v1/rewards/"+id).wantStatus(t, http.StatusOK),
		"portfolio": c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK),
		"assets":    c.get(t, "/v1/assets").wantStatus(t, http.StatusOK),
		"refused":   c.get(t, "/v1/users?limit=0").wantStatus(t, http.StatusBadRequest),
		"missing":   c.get(t, "/v1/rewards/"+user).wantStatus(t, http.StatusNotFound),
	}
	for _, change := range []struct{ answer, from, to string }{
		{"user", `"email":null,`, ``},
		{"user", `"email":null,`, `"email":"",`},
		{"user", `"externalId":"user`, `"externalId":null,"x":"user`},
		{"user", user, strings.ToUpper(user)},
		{"user", user, user[:14] + "4" + user[15:]},
		{"user", `Z"`, `+00:00"`},
		{"user", `Z"`, `000Z"`},
		{"users", `{"users":[`, `{"next":null,"users":[`},
		{"users", `"users"`, `"data"`},
		{"created", `"idempotentReplay":false`, `"idempotentReplay":true`},
		{"created", `"idempotentReplay":false`, `"idempotentReplay":"false"`},
		{"created", `"status":"recorded","idem`, `"status":"executing","idem`},
		{"created", `"amountUsd":10`, `"amountUsd":"10"`},
		{"created", `"amountUsd":10`, `"amountUsd":0`},
		{"created", `"amountUsd":10`, `"amountUsd":1000000.000001`},
		{"created", `"metadata":{}`, `"metadata":null`},
		{"created", `"AAPL"`, `"aapl"`},
		{"created", `"source":null,`, ``},
		{"batch", `"status":201,"reward"`, `"status":404,"reward"`},
		{"batch", `"status":400,"error"`, `"status":200,"error"`},
		{"batch", `,"idempotentReplay":false`, ``},
		{"batch", `"status":400`, `"status":500`},
		{"batch", `"status":400`, `"status":400,"idempotentReplay":false`},
		{"batch", `"code":"bad_request"`, `"code":"bad_request","requestId":"x"`},
		{"batch", `"refused":1`, `"refused":"1"`},
		{"reward", `"status":"recorded"`, `"status":"pending"`},
		{"reward", `"status":"recorded"`, `"status":"executed"`},
		{"reward", `"status":"recorded"`, `"status":"failed"`},
		{"reward", `"executedAt":null`, `"executedAt":"2026-01-02T03:04:05.678Z"`},
		{"reward", `"failureReason":null`, `"failureReason":"asset_not_tradable: no"`},
		{"reward", `"failureReason":null`, `"failureReason":null,"assetId":1`},
		{"portfolio", `"+11.11%"`, `"11.11%"`},
		{"portfolio", `"+11.11%"`, `"+11.1%"`},
		{"portfolio", `"+11.11%"`, `"+11.11"`},
		{"portfolio", `"+11.11%"`, `11.11`},
		{"portfolio", `"quantity":1`, `"quantity":"1"`},
		{"portfolio", `"costBasis":9`, `"costBasis":-9`},
		{"portfolio", `"asset"`, `"symbol"`},
		{"assets", `"symbol":"AAPL"`, `"symbol":"AAPL","id":1`},
		{"assets", `"name":"Apple Inc."`, `"name":null`},
		{"refused", `"details":[`, `"details":[1,`},
		{"refused", `"path":"limit",`, ``},
		{"refused", `"code":"bad_request"`, `"code":"conflict"`},
		{"missing", `"code":"not_found"`, `"code":"bad_request"`},
		{"missing", `"message"`, `"details":null,"message"`},
		{"missing", `"requestId"`, `"id"`},
	} {
		a := answers[change.answer]
		a.body = []byte(strings.Replace(string(a.body), change.from, change.to, 1))
		if bytes.Equal(a.body, answers[change.answer].body) {
			t.Errorf("%s has no %s: %s", change.answer, change.from, a.body)
		}
		if err := validate(t.Context(), loadDocument(t), a); err == nil {
			t.Errorf("%s: %s in place of %s is valid", change.answer, change.to, change.from)
		}
	}
	for name, a := range map[string]answer{"X-Request-Id": answers["user"], "Retry-After": down} {
		a.header = a.header.Clone()
		a.header.Del(name)
		if err := validate(t.Context(), loadDocument(t), a); err == nil {
			t.Errorf("a response without %s is valid", name)
		}
	}
	undocumented := answers["user"]
	undocumented.status = http.StatusAccepted
	if err := validate(t.Context(), loadDocument(t), undocumented); err == nil {
		t.Error("an undocumented status is valid")
	}
}

// The document has the limits of the specification, section 8, and the types of sections
// 2 and 4, so that clients can validate requests before they send them.
func TestDocumentRefusesInvalidRequests(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	posts := map[string][]string{
		"/v1/users": {
			`{}`, `[]`, `{"email":""}`, `{"email":7}`, `{"email":"nobody"}`, `{"email":null,"externalId":null}`,
			`{"externalId":""}`, `{"externalId":"` + strings.Repeat("x", 129) + `"}`, `{"externalId":"a\u0000"}`,
			`{"email":"` + strings.Repeat("x", 310) + `@example.com"}`,
		},
		"/v1/rewards": {
			`{}`, award("x"), award(user, "userId", ""), award(user, "userId", "7"),
			award("{" + user + "}"), award(strings.ReplaceAll(user, "-", "")),
			award(user, "idempotencyKey", ""), award(user, "idempotencyKey", `"1234567"`),
			award(user, "idempotencyKey", quote(strings.Repeat("k", 129))),
			award(user, "amountUsd", `0`), award(user, "amountUsd", `-1`), award(user, "amountUsd", `1000000.01`),
			award(user, "amountUsd", `"5"`), award(user, "amountUsd", `null`),
			award(user, "assetSymbol", `""`), award(user, "assetSymbol", quote(strings.Repeat("A", 17))),
			award(user, "source", `""`), award(user, "source", quote(strings.Repeat("s", 65))),
			award(user, "metadata", `[]`), award(user, "metadata", `"x"`), award(user, "source", `"\u0000"`),
		},
	}
	for target, bodies := range posts {
		for _, b := range bodies {
			a := c.post(t, target, b).wantStatus(t, http.StatusBadRequest)
			wantRefusedByDocument(t, a)
		}
	}
	for _, target := range []string{
		"/v1/users?limit=0", "/v1/users?limit=201", "/v1/users?limit=ten", "/v1/users?limit=1.5", "/v1/users/7",
		"/v1/rewards?limit=0", "/v1/rewards?limit=201", "/v1/rewards?status=done", "/v1/rewards?userId=7",
		"/v1/rewards/" + strings.ReplaceAll(user, "-", ""), "/v1/users/7/portfolio",
	} {
		wantRefusedByDocument(t, c.get(t, target).wantStatus(t, http.StatusBadRequest))
	}
}

func wantRefusedByDocument(t *testing.T, a answer) {
	t.Helper()
	route, params := operationOf(loadDocument(t), a.request.method, a.request.target)
	sent, err := http.NewRequestWithContext(t.Context(), a.request.method, a.request.target, strings.NewReader(a.request.body))
	check(t, err)
	sent.Header.Set("Content-Type", "application/json")
	err = openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
		Request: sent, PathParams: params, Route: route, Options: &openapi3filter.Options{
			AuthenticationFunc:      openapi3filter.NoopAuthenticationFunc,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{formats()},
		},
	})
	if err == nil {
		t.Errorf("%s %s %s is valid according to the document", a.request.method, a.request.target, a.request.body)
	}
}
