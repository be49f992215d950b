package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// Decisions, requests in general: route, method, 401, 403, 413, 415, 400, then the
// idempotency key, the user and the asset. Each request also fails every later check.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	suspended := c.world.suspended(t)
	stranger, huge := c, strings.Repeat("{", 64<<10+1)
	stranger.key = "sr_test_none"
	text := http.Header{"Content-Type": {"text/plain"}}
	user := c.newUser(t)
	used := award(user)
	c.post(t, "/v1/rewards", used).wantStatus(t, http.StatusCreated)
	withKeyOf := func(other, symbol string) string {
		return strings.NewReplacer(`"AAPL"`, quote(symbol), user, other).Replace(used)
	}
	for name, step := range map[string]struct {
		client client
		request
		status int
		code   string
	}{
		"route before method and key":    {stranger, request{method: "DELETE", target: "/v1/nothing", body: huge, header: text}, 404, "not_found"},
		"method before key":              {stranger, request{method: "PUT", target: "/v1/rewards", body: huge, header: text}, 405, "bad_request"},
		"key before size":                {stranger, request{method: "POST", target: "/v1/rewards", body: huge, header: text}, 401, "unauthorized"},
		"key before type":                {stranger, request{method: "POST", target: "/v1/rewards", body: "{", header: text}, 401, "unauthorized"},
		"key before body":                {stranger, request{method: "POST", target: "/v1/rewards", body: "{"}, 401, "unauthorized"},
		"key before parameters":          {stranger, request{method: "GET", target: "/v1/rewards?limit=0"}, 401, "unauthorized"},
		"key before the id in the path":  {stranger, request{method: "GET", target: "/v1/rewards/x"}, 401, "unauthorized"},
		"suspension before size":         {suspended, request{method: "POST", target: "/v1/rewards", body: huge, header: text}, 403, "forbidden"},
		"suspension before type":         {suspended, request{method: "POST", target: "/v1/users", body: "{", header: text}, 403, "forbidden"},
		"suspension before body":         {suspended, request{method: "POST", target: "/v1/users", body: "{"}, 403, "forbidden"},
		"suspension before parameters":   {suspended, request{method: "GET", target: "/v1/users?limit=0"}, 403, "forbidden"},
		"suspension before the id":       {suspended, request{method: "GET", target: "/v1/users/x/portfolio"}, 403, "forbidden"},
		"size before type and body":      {c, request{method: "POST", target: "/v1/rewards", body: huge, header: text}, 413, "bad_request"},
		"streamed size before type":      {c, request{method: "POST", target: "/v1/rewards", body: huge, header: text, stream: true}, 413, "bad_request"},
		"type before body":               {c, request{method: "POST", target: "/v1/rewards", body: "{", header: text}, 415, "bad_request"},
		"body before used key":           {c, request{method: "POST", target: "/v1/rewards", body: strings.Replace(used, `:10,`, `:0,`, 1)}, 400, "bad_request"},
		"used key before user":           {c, request{method: "POST", target: "/v1/rewards", body: withKeyOf(unknownID, "AAPL")}, 409, "conflict"},
		"used key before asset":          {c, request{method: "POST", target: "/v1/rewards", body: withKeyOf(user, "NONE")}, 409, "conflict"},
		"used key before user and asset": {c, request{method: "POST", target: "/v1/rewards", body: withKeyOf(unknownID, "NONE")}, 409, "conflict"},
		"user before asset":              {c, request{method: "POST", target: "/v1/rewards", body: award(unknownID, "assetSymbol", `"NONE"`)}, 404, "not_found"},
		"asset last":                     {c, request{method: "POST", target: "/v1/rewards", body: award(user, "assetSymbol", `"NONE"`)}, 422, "unprocessable_entity"},
		"body before a duplicate user":   {c, request{method: "POST", target: "/v1/users", body: `{"externalId":"x","email":"x"}`}, 400, "bad_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step.client.send(t, step.request).wantStatus(t, step.status).want(t, step.code, "error", "code")
		})
	}
}

// Decisions: a refused request stores nothing and leaves its idempotency key free.
func TestRefusedRequestsLeaveNothing(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	const key = `"refused-before"`
	for status, r := range map[int]request{
		400: {body: award(user, "idempotencyKey", key, "amountUsd", "0")},
		404: {body: award(unknownID, "idempotencyKey", key)},
		413: {body: award(user, "idempotencyKey", key) + strings.Repeat(" ", 64<<10)},
		415: {body: award(user, "idempotencyKey", key), header: http.Header{"Content-Type": {"text/plain"}}},
		422: {body: award(user, "idempotencyKey", key, "assetSymbol", `"NONE"`)},
	} {
		r.method, r.target = http.MethodPost, "/v1/rewards"
		c.send(t, r).wantStatus(t, status)
	}
	stranger := c.stranger(t)
	stranger.post(t, "/v1/rewards", award(user, "idempotencyKey", key)).wantStatus(t, http.StatusUnauthorized)
	c.get(t, "/v1/rewards").wantStatus(t, http.StatusOK).want(t, []any{}, "rewards")
	c.post(t, "/v1/rewards", award(user, "idempotencyKey", key)).wantStatus(t, http.StatusCreated)

	c.post(t, "/v1/users", `{"email":"free@example.com","externalId":""}`).wantIssues(t, "externalId")
	c.post(t, "/v1/users", `{"email":"free@example.com"}`).wantStatus(t, http.StatusCreated)
}

// Specification, section 5; decisions: a suspended app gets 403 everywhere. Within a
// second after the suspension ends it is served again.
func TestSuspendedApps(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	c.get(t, "/v1/assets").wantStatus(t, http.StatusOK)
	c.suspend(t, true)
	w.clock.advance(second)
	c.get(t, "/v1/assets").wantError(t, http.StatusForbidden, "forbidden", nil)
	c.suspend(t, false)
	w.clock.advance(second)
	c.get(t, "/v1/assets").wantStatus(t, http.StatusOK)
	c.get(t, "/v1/users").want(t, []any{}, "users")
}

// bodyLimit is the largest size of a body.
func bodyLimit(target string) int {
	if target == "/v1/rewards/batches" {
		return 4 << 20
	}
	return 64 << 10
}

// Decisions: a body has at most 64 KiB, with or without an announced length; additions, section
// 2: a batch has at most 4 MiB.
func TestSizeOfBodies(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, stream := range []bool{false, true} {
		for _, run := range []struct {
			beyond   int // bytes more than the limit
			accepted bool
		}{{0, true}, {1, false}, {1 << 20, false}, {8 << 20, false}} {
			for target, body := range map[string]string{
				"/v1/rewards": award(user), "/v1/users": `{"externalId":` + quote(unique("big")) + `}`,
				"/v1/rewards/batches": batchOf(award(user)),
			} {
				body += strings.Repeat(" ", bodyLimit(target)+run.beyond-len(body))
				a := c.send(t, request{method: http.MethodPost, target: target, body: body, stream: stream})
				switch {
				case !run.accepted:
					a.wantError(t, http.StatusRequestEntityTooLarge, "bad_request", nil)
				case target == "/v1/rewards/batches":
					a.wantStatus(t, http.StatusOK)
				default:
					a.wantStatus(t, http.StatusCreated)
				}
			}
		}
	}
}

// Decisions: a Content-Type other than JSON is 415; an absent one is accepted.
func TestTypesOfBodies(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	send := func(header http.Header) answer {
		return c.send(t, request{
			method: http.MethodPost, target: "/v1/users", header: header,
			body: `{"externalId":` + quote(unique("typed")) + `}`,
		})
	}
	for _, accepted := range []string{
		"application/json", "APPLICATION/JSON", "application/json; charset=utf-8", `application/json;charset="UTF-8"`,
		"application/json;", " application/json ", "application/vnd.example+json", "application/problem+json; v=1",
	} {
		send(http.Header{"Content-Type": {accepted}}).wantStatus(t, http.StatusCreated)
	}
	send(http.Header{"Content-Type": nil}).wantStatus(t, http.StatusCreated)
	for _, refused := range []string{
		"text/plain", "text/html; charset=utf-8", "application/xml", "application/x-www-form-urlencoded", "*/*",
		"multipart/form-data; boundary=x", "application/octet-stream", "json", "application/jsonp", "application",
		"application/json, text/plain", "application/json/x", "image/svg+xml", "application/+xml", "text/plain+json",
	} {
		send(http.Header{"Content-Type": {refused}}).wantError(t, http.StatusUnsupportedMediaType, "bad_request", nil)
	}
	send(http.Header{"Content-Type": {"application/json", "text/plain"}}).wantStatus(t, http.StatusUnsupportedMediaType)
	send(http.Header{"Content-Encoding": {"identity", "gzip"}}).wantStatus(t, http.StatusUnsupportedMediaType)
	for encoding, status := range map[string]int{
		"identity": http.StatusCreated, "gzip": http.StatusUnsupportedMediaType, "br": http.StatusUnsupportedMediaType,
	} {
		send(http.Header{"Content-Encoding": {encoding}}).wantStatus(t, status)
	}
}

// An operation that takes no body ignores the type of an empty one, which axios and curl with an empty -d always send.
func TestTypesWithoutABody(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	one := "/v1/webhook-endpoints/" + c.newEndpoint(t)
	for _, operation := range []struct {
		method, target string
		status         int
	}{
		{http.MethodPost, one + "/rotate-secret", http.StatusOK},
		{http.MethodPost, one + "/test", http.StatusAccepted},
		{http.MethodDelete, one, http.StatusNoContent},
	} {
		r := request{method: operation.method, target: operation.target, header: form, body: "a=b"}
		c.send(t, r).wantError(t, http.StatusUnsupportedMediaType, "bad_request", nil)
		r.body = ""
		c.send(t, r).wantStatus(t, operation.status)
	}
	c.send(t, request{method: http.MethodPost, target: "/v1/users", header: form}).
		wantError(t, http.StatusUnsupportedMediaType, "bad_request", nil)
}

// A body that cannot be read has a type all the same.
func TestTypeBeforeAnUnreadableBody(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for header, want := range map[string]string{
		"Content-Type: text/plain\r\n": "415", "Content-Encoding: gzip\r\n": "415", "": "400",
	} {
		got := string(rawBytes(t, c, "POST /v1/users HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: "+c.key+"\r\n"+
			header+"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}"))
		if !strings.HasPrefix(got, "HTTP/1.1 "+want+" ") {
			t.Errorf("%q: %.40q, want %s", header, got, want)
		}
	}
}

// The message of a 415 names the type received, because curl -d sends a form by default.
func TestRefusedTypesAreNamed(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	const form = "application/x-www-form-urlencoded"
	for name, test := range map[string]struct {
		header http.Header
		want   string
	}{
		"a form":    {http.Header{"Content-Type": {form}}, "Content-Type " + form + " is not JSON; send application/json"},
		"empty":     {http.Header{"Content-Type": {""}}, `Content-Type "" is not JSON; send application/json`},
		"not ASCII": {http.Header{"Content-Type": {"a/\xff\""}}, `Content-Type "a/\xff\"" is not JSON; send application/json`},
		"long": {
			http.Header{"Content-Type": {strings.Repeat("x", 5000)}},
			"Content-Type " + strings.Repeat("x", 100) + "... is not JSON; send application/json",
		},
		"two": {
			http.Header{"Content-Type": {"application/json", "application/json"}},
			"the request has several Content-Type headers; send one, application/json",
		},
		"compressed": {
			http.Header{"Content-Encoding": {"gzip"}}, "Content-Encoding gzip is not supported; send the body uncompressed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.send(t, request{method: http.MethodPost, target: "/v1/users", header: test.header, body: `{"externalId":"x"}`}).
				wantError(t, http.StatusUnsupportedMediaType, "bad_request", nil).want(t, test.want, "error", "message")
		})
	}
}

// A replay needs a valid key, but neither the key of the first request nor an asset that
// is still in the catalog (decisions, requests in general).
func TestReplaysOutliveTheCatalogAndKeys(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	body := award(user, "assetSymbol", `"KO"`)
	first := c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusCreated)
	check(t, w.store.SetEnabled(t.Context(), "KO", false))
	rotated := c.rotated(t, w.clock.now())
	w.clock.advance(second)
	c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusUnauthorized)
	c = rotated
	again := c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusOK)
	again.want(t, first.at(t, "reward"), "reward").want(t, true, "idempotentReplay")
	c.post(t, "/v1/rewards", strings.Replace(body, `:10,`, `:11,`, 1)).wantStatus(t, http.StatusConflict)
	c.post(t, "/v1/rewards", award(user, "assetSymbol", `"KO"`)).
		wantError(t, http.StatusUnprocessableEntity, "unprocessable_entity", object{"assetSymbol": "KO"})
}
