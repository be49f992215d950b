package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Specification, sections 2.1 and 4.1; decisions, users: the form of a new user.
func TestNewUser(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	w := c.world
	for given, want := range map[string]string{
		`{"email":"Ada@Example.com","externalId":"42"}`:     `"email":"Ada@Example.com","externalId":"42"`,
		`{"externalId":"43"}`:                               `"email":null,"externalId":"43"`,
		`{"email":"b@example.com"}`:                         `"email":"b@example.com","externalId":null`,
		`{"email":null,"externalId":"44"}`:                  `"email":null,"externalId":"44"`,
		`{"externalId":null,"email":"c@example.com","x":1}`: `"email":"c@example.com","externalId":null`,
	} {
		before := w.clock.now().Truncate(time.Millisecond)
		a := c.post(t, "/v1/users", given).wantStatus(t, http.StatusCreated)
		created := wantTime(t, a.text(t, "user", "createdAt"))
		if created.Before(before) || created.After(w.clock.now()) {
			t.Errorf("created at %v, not after %v", created, before)
		}
		whole := `{"user":{"id":` + quote(a.text(t, "user", "id")) + `,"appId":` + quote(c.app.ID.String()) + `,` + want +
			`,"createdAt":` + quote(a.text(t, "user", "createdAt")) + `}}`
		if diff := cmp.Diff(whole, string(a.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
		c.get(t, "/v1/users/"+a.text(t, "user", "id")).wantStatus(t, http.StatusOK).want(t, object{"user": a.at(t, "user")})
		c.get(t, "/v1/users?limit=1").wantStatus(t, http.StatusOK).want(t, object{"users": []any{a.at(t, "user")}})
	}
}

// Decisions, users: a duplicate is 409; details name the member and the existing user.
// Emails compare without regard to ASCII case, external ids exactly.
func TestDuplicateUsers(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	create := func(body string) string {
		t.Helper()
		return c.post(t, "/v1/users", body).wantStatus(t, http.StatusCreated).text(t, "user", "id")
	}
	ada := create(`{"email":"Ada@Example.com","externalId":"a-1"}`)
	bob := create(`{"email":"bob@example.com","externalId":"b-1"}`)
	accent := create(`{"email":"\u00c9va@example.com"}`)
	for given, want := range map[string]object{
		`{"email":"Ada@Example.com"}`:                           {"field": "email", "userId": ada},
		`{"email":"ada@example.com"}`:                           {"field": "email", "userId": ada},
		`{"email":"ADA@EXAMPLE.COM","externalId":"new"}`:        {"field": "email", "userId": ada},
		`{"externalId":"a-1"}`:                                  {"field": "externalId", "userId": ada},
		`{"externalId":"b-1","email":"new@example.com"}`:        {"field": "externalId", "userId": bob},
		`{"email":"ada@example.com","externalId":"b-1"}`:        {"field": "email", "userId": ada},
		`{"email":"bob@example.com","externalId":"a-1"}`:        {"field": "email", "userId": bob},
		`{"email":"BOB@example.com","externalId":"b-1"}`:        {"field": "email", "userId": bob},
		`{"email":"\u00c9VA@example.com"}`:                      {"field": "email", "userId": accent},
		`{"email":"\u0041da@example.com","externalId":"other"}`: {"field": "email", "userId": ada},
	} {
		c.post(t, "/v1/users", given).wantError(t, http.StatusConflict, "conflict", want)
	}
	create(`{"email":"new@example.com","externalId":"A-1"}`) // another case; refused requests left nothing
	create(`{"externalId":"new"}`)
	create(`{"externalId":" a-1"}`)
	create(`{"email":"\u00e9va@example.com"}`) // not an ASCII letter
	create(`{"externalId":"ada@example.com"}`) // an external id is not an email
	if got := len(c.ids(t, "/v1/users", "users")); got != 8 {
		t.Errorf("%d users, want 8", got)
	}
}

// Of identical concurrent requests one creates the user; the conflicts name it.
func TestConcurrentUsers(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	answers := c.concurrently(t, "/v1/users", 8, `{"email":"at-once@example.com"}`, `{"email":"At-Once@Example.com"}`)
	if diff := cmp.Diff(map[int]int{201: 1, 409: 7}, count(answers)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	id := c.get(t, "/v1/users?email=at-once@example.com").text(t, "users", 0, "id")
	for _, a := range answers {
		if a.status == http.StatusConflict {
			a.want(t, object{"field": "email", "userId": id}, "error", "details")
		}
	}
}

// Decisions, users: email and externalId find at most one user.
func TestFindUsers(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	create := func(email, external string) string {
		t.Helper()
		a := c.post(t, "/v1/users", body("email", email, "externalId", external))
		return a.wantStatus(t, http.StatusCreated).text(t, "user", "id")
	}
	both := create(`"Both+tag@Example.com"`, `"Both & 1"`)
	email := create(`"email@example.com"`, "")
	external := create("", `"external/1"`)
	for query, want := range map[string][]string{
		"email=" + url.QueryEscape("Both+tag@Example.com"): {both},
		"email=" + url.QueryEscape("both+TAG@example.COM"): {both},
		"email=both+tag@example.com":                       {}, // a plus is a space in a query
		"email=email@example.com":                          {email},
		"email=email%40example.com":                        {email},
		"email=email@example.com&limit=1":                  {email},
		"email=%20email@example.com":                       {},
		"email=nobody@example.com":                         {},
		"email=no-email":                                   {},
		"email=%25@example.com":                            {},
		"email=_mail@example.com":                          {},
		"externalId=" + url.QueryEscape("Both & 1"):        {both},
		"externalId=both%20%26%201":                        {},
		"externalId=external/1":                            {external},
		"externalId=external%2F1":                          {external},
		"externalId=External/1":                            {},
		"externalId=email@example.com":                     {},
		"externalId=" + strings.Repeat("x", 4000):          {},

		"email=both%2Btag@example.com&externalId=" + url.QueryEscape("Both & 1"):      {both},
		"externalId=" + url.QueryEscape("Both & 1") + "&email=BOTH%2Btag@example.com": {both},
		"email=email@example.com&externalId=external/1":                               {},
		"email=both%2Btag@example.com&externalId=external/1":                          {},
		"Email=email@example.com":                                                     {external, email, both},
	} {
		a := c.get(t, "/v1/users?"+query).wantStatus(t, http.StatusOK)
		if diff := cmp.Diff(want, a.ids(t, "users")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if link := a.next(t); link != "" {
			t.Errorf("%s links to %s", query, link)
		}
	}
	c.get(t, "/v1/users?email=").wantIssues(t, "email")
	c.get(t, "/v1/users?externalId=").wantIssues(t, "externalId")
	c.get(t, "/v1/users?externalId=&email=&limit=").wantIssues(t, "externalId", "email", "limit")
	c.get(t, "/v1/users?email=a@example.com&email=b@example.com").wantIssues(t, "email")
}

// Decisions, users: emails must be valid and are returned as sent.
func TestEmails(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for i, email := range []string{
		"a@b.co", "first.last@example.com", "a+tag@example.com", "a_b-c@sub.example.co.uk", "UPPER@EXAMPLE.COM", "x@y",
		`"a"@b.de`, "1@2.3", "!#$%&'*+-/=?^_`{|}~@example.com", "user@xn--bcher-kva.example", "üser@bücher.example", "用户@例子.广告",
		"o'brien@example.com", "user%example.com@example.org",
	} {
		a := c.post(t, "/v1/users", body("email", quote(email))).wantStatus(t, http.StatusCreated)
		a.want(t, email, "user", "email")
		found := c.get(t, fmt.Sprintf("/v1/users?limit=%d&email=%s", i+1, url.QueryEscape(email)))
		found.want(t, []any{a.at(t, "user")}, "users")
	}
	for _, email := range []string{
		"a", "@", "a@", "@b.co", "a@@b.co", "a@b@c.co", "a b@c.co", " a@b.co", "a@b.co ", "a@b.co\n", "\ta@b.co", "a@b .co",
		"Ada <a@b.co>", "<a@b.co>", "a@b.co, c@d.co", "a@b.co;c@d.co", "a@b.co (Ada)", "(Ada) a@b.co", ".a@b.co", "a.@b.co",
		"a..b@c.co", "a@.b.co", "a@b..co", "a@b.co.", "mailto:a@b.co", "a\n@b.co", "a@b.co\r\nBcc: x@y.z", "a\u0001@b.co",
		"a@b!c", "a@-b.co", "a@b_c.co", "a@b.co\u00a0", "a\u200b@b.co", "a@b.c\u202eo", "a@" + strings.Repeat("b", 64) + ".co",
		"a,b@c.co", "a:b@c.co", "group: a@b.co;", "=?utf-8?q?a?= <a@b.co>", "not-an-email", "example.com", "a\\@b.co", "a@b,co",
	} {
		a := c.post(t, "/v1/users", body("email", quote(email)))
		if a.status != http.StatusBadRequest {
			t.Errorf("%q: status %d", email, a.status)
			continue
		}
		a.wantIssues(t, "email")
	}
}
