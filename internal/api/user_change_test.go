package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

func (c client) patch(t *testing.T, id, body string) answer {
	t.Helper()
	return c.send(t, request{method: http.MethodPatch, target: "/v1/users/" + id, body: body})
}

// Additions, section 8: PATCH changes the email, the external id or both; null erases one while
// the other stays. createdAt, the id and awards stay, and lookups follow.
func TestChangeUser(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	created := c.post(t, "/v1/users", `{"email":"Ada@Example.com","externalId":"a-1"}`).wantStatus(t, http.StatusCreated)
	id := created.text(t, "user", "id")
	reward := c.give(t, id)
	award := c.get(t, "/v1/rewards/"+reward).body
	for _, step := range []struct{ given, email, externalID string }{
		{`{"email":"ADA@example.com"}`, `"ADA@example.com"`, `"a-1"`}, // only the case changes
		{`{"externalId":"a-2","x":1}`, `"ADA@example.com"`, `"a-2"`},
		{`{"email":"ADA@example.com","externalId":"a-2"}`, `"ADA@example.com"`, `"a-2"`}, // again
		{`{"email":null}`, `null`, `"a-2"`},
		{`{"email":null}`, `null`, `"a-2"`},
		{`{"email":null,"externalId":"a-3"}`, `null`, `"a-3"`},
		{`{"email":"new@example.com","externalId":null}`, `"new@example.com"`, `null`},
		{`{"\u0065xternalId":"A-1"}`, `"new@example.com"`, `"A-1"`},
	} {
		want := `{"user":{"id":` + quote(id) + `,"appId":` + quote(c.app.ID.String()) + `,"email":` + step.email +
			`,"externalId":` + step.externalID + `,"createdAt":` + quote(created.text(t, "user", "createdAt")) + `}}`
		a := c.patch(t, strings.ToUpper(id), step.given).wantStatus(t, http.StatusOK)
		if diff := cmp.Diff(want, string(a.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.given, diff)
		}
		if diff := cmp.Diff(want, string(c.get(t, "/v1/users/"+id).body)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.given, diff)
		}
	}
	for query, want := range map[string][]string{
		"email=ada@example.com": {}, "email=NEW@example.com": {id}, "externalId=a-1": {}, "externalId=a-3": {}, "externalId=A-1": {id},
	} {
		if diff := cmp.Diff(want, c.ids(t, "/v1/users?"+query, "users")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if diff := cmp.Diff(string(award), string(c.get(t, "/v1/rewards/"+reward).body)); diff != "" {
		t.Errorf("the award (-before +after):\n%s", diff)
	}
	c.give(t, id)
	c.post(t, "/v1/users", `{"email":"ada@example.com","externalId":"a-1"}`).wantStatus(t, http.StatusCreated) // both are free
}

// Additions, section 8: a change that leaves neither, or names neither, is 400.
func TestRefusedChangesOfUsers(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	create := func(body string) string {
		t.Helper()
		return c.post(t, "/v1/users", body).wantStatus(t, http.StatusCreated).text(t, "user", "id")
	}
	both := create(`{"email":"both@example.com","externalId":"both"}`)
	email, external := create(`{"email":"email@example.com"}`), create(`{"externalId":"external"}`)
	before := c.get(t, "/v1/users").body
	for _, given := range []string{`{}`, `{"x":1}`, `{"email":null,"externalId":null}`, `[]`, `null`, ``, `{"email":null,"email":null}`} {
		for _, id := range []string{both, email, external, unknownID} {
			c.patch(t, id, given).wantIssues(t, "")
		}
		c.patch(t, "x", given).wantIssues(t, "", "userId")
	}
	c.patch(t, email, `{"email":null}`).wantIssues(t, "")
	c.patch(t, external, `{"externalId":null}`).wantIssues(t, "")
	for given, paths := range map[string][]string{
		`{"email":""}`: {"email"}, `{"email":"no","externalId":null}`: {"email"}, `{"email":7}`: {"email"}, `{"externalId":""}`: {"externalId"},
		`{"externalId":"a\u0000"}`: {"externalId"}, `{"externalId":{},"email":[]}`: {"externalId", "email"},
		`{"externalId":` + quote(strings.Repeat("x", 129)) + `,"email":null}`:    {"externalId"},
		`{"email":` + quote(strings.Repeat("x", 310)+"@example.com") + `,"x":1}`: {"email"},
	} {
		c.patch(t, both, given).wantIssues(t, paths...)
		c.patch(t, "x", given).wantIssues(t, append(paths, "userId")...)
	}
	c.patch(t, "x", `{"email":"x@example.com"}`).wantIssues(t, "userId")
	c.patch(t, unknownID, `{"email":"both@example.com"}`).wantStatus(t, http.StatusNotFound)
	if diff := cmp.Diff(string(before), string(c.get(t, "/v1/users").body)); diff != "" {
		t.Errorf("refused changes (-before +after):\n%s", diff)
	}
}

// Additions, section 8: a duplicate is 409 as at creation. What a change gives up is free.
func TestDuplicateChangesOfUsers(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	create := func(c client, body string) string {
		t.Helper()
		return c.post(t, "/v1/users", body).wantStatus(t, http.StatusCreated).text(t, "user", "id")
	}
	ada := create(c, `{"email":"Ada@example.com","externalId":"a-1"}`)
	bob := create(c, `{"email":"bob@example.com","externalId":"b-1"}`)
	for given, want := range map[string]object{
		`{"email":"ADA@example.com"}`:                    {"field": "email", "userId": ada},
		`{"externalId":"a-1"}`:                           {"field": "externalId", "userId": ada},
		`{"email":"ada@example.com","externalId":"a-1"}`: {"field": "email", "userId": ada},
		`{"email":"new@example.com","externalId":"a-1"}`: {"field": "externalId", "userId": ada},
		`{"email":null,"externalId":"a-1"}`:              {"field": "externalId", "userId": ada},
		`{"email":"bob@example.com","externalId":"a-1"}`: {"field": "externalId", "userId": ada},
	} {
		c.patch(t, bob, given).wantError(t, http.StatusConflict, "conflict", want)
	}
	c.get(t, "/v1/users/"+bob).want(t, "bob@example.com", "user", "email").want(t, "b-1", "user", "externalId")
	c.patch(t, ada, `{"email":"ada@example.org","externalId":"A-1"}`).wantStatus(t, http.StatusOK)
	c.patch(t, bob, `{"email":"ada@example.com","externalId":"a-1"}`).wantStatus(t, http.StatusOK)
	c.post(t, "/v1/users", `{"externalId":"a-1"}`).
		wantError(t, http.StatusConflict, "conflict", object{"field": "externalId", "userId": bob})
	other := w.newApp(t)
	theirs := create(other, `{"externalId":"theirs"}`)
	other.patch(t, theirs, `{"externalId":"a-1","email":"ada@example.com"}`).wantStatus(t, http.StatusOK)
	other.patch(t, ada, `{"externalId":"stolen"}`).wantError(t, http.StatusNotFound, "not_found", nil)
}

// Of concurrent changes to one value exactly one is 200, and the conflicts name its user. Changes of
// different members of one user do not undo each other.
func TestConcurrentChangesOfUsers(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	const users = 8
	ids, statuses := c.newUsers(t, users), make([]int, users)
	var running sync.WaitGroup
	at := func(i int, id, body string) {
		running.Go(func() {
			a, err := c.try(t, request{method: http.MethodPatch, target: "/v1/users/" + id, body: body})
			if err != nil {
				t.Error(err)
			}
			statuses[i] = a.status
		})
	}
	for i, id := range ids {
		at(i, id, `{"email":"wanted@example.com"}`)
	}
	running.Wait()
	counted := make(map[int]int)
	for _, status := range statuses {
		counted[status]++
	}
	if diff := cmp.Diff(map[int]int{200: 1, 409: users - 1}, counted); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	for i := range users {
		id := ids[i/2]
		at(i, id, []string{fmt.Sprintf(`{"email":"user-%d@example.com"}`, i), fmt.Sprintf(`{"externalId":"user-%d"}`, i)}[i%2])
	}
	running.Wait()
	for i := range users / 2 {
		c.get(t, "/v1/users/"+ids[i]).want(t, fmt.Sprintf("user-%d@example.com", 2*i), "user", "email").
			want(t, fmt.Sprint("user-", 2*i+1), "user", "externalId")
	}
}

// Additions, section 8: an erased person's user has neither an email nor an external id; awards
// and holdings stay, and the user may be given one again.
func TestErasedUser(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	id := c.post(t, "/v1/users", `{"email":"gone@example.com","externalId":"gone"}`).text(t, "user", "id")
	reward := c.give(t, id)
	c.hold(t, id, "KO", 7, 11)
	w.set(t, "KO", "70")
	before := c.get(t, "/v1/users/"+id+"/portfolio").body
	user, err := rewards.ParseID[rewards.User](id)
	check(t, err)
	_, err = w.store.EraseUser(t.Context(), user)
	check(t, err)
	c.get(t, "/v1/users/"+id).wantStatus(t, http.StatusOK).want(t, nil, "user", "email").want(t, nil, "user", "externalId")
	c.get(t, "/v1/users?limit=1").want(t, nil, "users", 0, "email")
	for _, query := range []string{"email=gone@example.com", "externalId=gone"} {
		if found := c.ids(t, "/v1/users?"+query, "users"); len(found) > 0 {
			t.Errorf("%s still finds %v", query, found)
		}
	}
	if diff := cmp.Diff(string(before), string(c.get(t, "/v1/users/"+id+"/portfolio").body)); diff != "" {
		t.Errorf("the portfolio (-before +after):\n%s", diff)
	}
	c.get(t, "/v1/rewards/"+reward).want(t, id, "reward", "userId")
	c.give(t, id)
	c.patch(t, id, `{"email":null}`).wantIssues(t, "")
	c.post(t, "/v1/users", `{"email":"gone@example.com","externalId":"gone"}`).wantStatus(t, http.StatusCreated)
	c.patch(t, id, `{"externalId":"again"}`).wantStatus(t, http.StatusOK).want(t, nil, "user", "email").
		want(t, "again", "user", "externalId")
}
