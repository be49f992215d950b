package api_test

import (
	"net/http"
	"strings"
	"testing"

	"stockrewards/internal/money"
)

// Specification, sections 1 and 5: each app sees only its own users and awards.
// What belongs to another app is answered exactly as what does not exist.
func TestAnotherAppsThingsDoNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, other := w.newApp(t), w.newApp(t)
	body := `{"email":"same@example.com","externalId":"same-id"}`
	user := owner.post(t, "/v1/users", body).wantStatus(t, http.StatusCreated).text(t, "user", "id")
	given := award(user)
	reward := owner.post(t, "/v1/rewards", given).wantStatus(t, http.StatusCreated).text(t, "reward", "id")
	owner.hold(t, user, "KO", money.Share, money.Dollar)
	w.set(t, "KO", "70")
	second := owner.giveMany(t, user, 2)
	cursor := owner.cursor(t, "/v1/rewards?limit=1")

	for own, target := range map[string]string{
		user: "/v1/users/ID", user + "/portfolio": "/v1/users/ID/portfolio", reward: "/v1/rewards/ID", second[0]: "/v1/rewards/ID",
	} {
		id, _, _ := strings.Cut(own, "/")
		for _, form := range []string{id, strings.ToUpper(id)} {
			theirs := strings.Replace(target, "ID", form, 1)
			owner.get(t, theirs).wantStatus(t, http.StatusOK)
			foreign := other.get(t, theirs).wantError(t, http.StatusNotFound, "not_found", nil)
			none := other.get(t, strings.Replace(target, "ID", unknownID, 1))
			foreign.want(t, none.at(t, "error", "message"), "error", "message")
		}
	}
	for _, target := range []string{
		"/v1/rewards", "/v1/rewards?userId=" + user, "/v1/rewards?status=recorded", "/v1/rewards?userId=" + user + "&status=recorded",
		"/v1/rewards?limit=200",
	} {
		other.get(t, target).wantStatus(t, http.StatusOK).want(t, object{"rewards": []any{}})
	}
	for _, target := range []string{
		"/v1/users", "/v1/users?email=same@example.com", "/v1/users?externalId=same-id",
		"/v1/users?externalId=same-id&email=same@example.com",
	} {
		other.get(t, target).wantStatus(t, http.StatusOK).want(t, object{"users": []any{}})
	}
	other.get(t, "/v1/rewards?cursor="+cursor).wantIssues(t, "cursor")
	other.post(t, "/v1/rewards", award(user)).wantError(t, http.StatusNotFound, "not_found", nil)
	// The owner's key of an award means nothing to the other app: no replay, no conflict.
	other.post(t, "/v1/rewards", given).wantError(t, http.StatusNotFound, "not_found", nil)
	other.post(t, "/v1/rewards", strings.Replace(given, ":10,", ":11,", 1)).wantError(t, http.StatusNotFound, "not_found", nil)
}

// Specification, section 2.1: email and externalId are unique within the app only;
// decisions, awards: so is the idempotency key.
func TestAppsDoNotCollide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := make(map[string]bool)
	for range 3 {
		c := w.newApp(t)
		u := c.post(t, "/v1/users", `{"email":"same@example.com","externalId":"same-id"}`).wantStatus(t, http.StatusCreated)
		u.want(t, c.app.ID.String(), "user", "appId")
		user := u.text(t, "user", "id")
		a := c.post(t, "/v1/rewards", award(user, "idempotencyKey", `"the-same-key"`)).wantStatus(t, http.StatusCreated)
		a.want(t, c.app.ID.String(), "reward", "appId")
		c.post(t, "/v1/rewards", award(user, "idempotencyKey", `"the-same-key"`)).
			wantStatus(t, http.StatusOK).want(t, a.at(t, "reward"), "reward")
		for _, id := range []string{user, a.text(t, "reward", "id")} {
			if ids[id] {
				t.Errorf("%s stands twice", id)
			}
			ids[id] = true
		}
		c.get(t, "/v1/users?email=SAME@example.com").want(t, []any{u.at(t, "user")}, "users")
		c.get(t, "/v1/rewards").want(t, []any{a.at(t, "reward")}, "rewards")
	}
}

// Specification, section 5: no app id is ever sent; one that is sent changes nothing.
func TestAppIDsInRequestsAreIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.newApp(t), w.newApp(t)
	foreign := quote(other.app.ID.String())
	u := c.post(t, "/v1/users", body("externalId", `"mine"`, "appId", foreign)).wantStatus(t, http.StatusCreated)
	u.want(t, c.app.ID.String(), "user", "appId")
	c.post(t, "/v1/rewards", award(u.text(t, "user", "id"), "appId", foreign)).
		wantStatus(t, http.StatusCreated).want(t, c.app.ID.String(), "reward", "appId")
	c.get(t, "/v1/users?appId="+other.app.ID.String()).want(t, []any{u.at(t, "user")}, "users")
	other.get(t, "/v1/users?appId="+c.app.ID.String()).want(t, []any{}, "users")
}
