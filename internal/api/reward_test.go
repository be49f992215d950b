package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// Specification, sections 2.2 and 4.5: the form of a new award. Decisions, awards: without
// a source it is null, without metadata that is {}.
func TestNewReward(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	w := c.world
	user := c.newUser(t)
	before := w.clock.now().Truncate(time.Millisecond)
	a := c.post(t, "/v1/rewards", award(user, "idempotencyKey", `"order-10045"`, "amountUsd", "25.50",
		"assetSymbol", `"brk.b"`, "source", `"referral"`, "metadata", `{"campaign":"spring"}`))
	a.wantStatus(t, http.StatusCreated)
	created := wantTime(t, a.text(t, "reward", "createdAt"))
	if created.Before(before) || created.After(w.clock.now()) {
		t.Errorf("created at %v, not after %v", created, before)
	}
	want := `{"reward":{"id":` + quote(a.text(t, "reward", "id")) + `,"appId":` + quote(c.app.ID.String()) + `,"userId":` +
		quote(user) + `,"idempotencyKey":"order-10045","amountUsd":25.5,"assetSymbol":"BRK.B","source":"referral",` +
		`"metadata":{"campaign":"spring"},"status":"recorded","createdAt":` + quote(a.text(t, "reward", "createdAt")) +
		`,"executedAt":null,"failureReason":null},"status":"recorded","idempotentReplay":false}`
	if diff := cmp.Diff(want, string(a.body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.get(t, "/v1/rewards/"+a.text(t, "reward", "id")).wantStatus(t, http.StatusOK).want(t, object{"reward": a.at(t, "reward")})
	c.get(t, "/v1/rewards").wantStatus(t, http.StatusOK).want(t, object{"rewards": []any{a.at(t, "reward")}})
	minimal := c.post(t, "/v1/rewards", award(user)).wantStatus(t, http.StatusCreated)
	if source, metadata := minimal.raw(t, "reward", "source"), minimal.raw(t, "reward", "metadata"); source != "null" || metadata != "{}" {
		t.Errorf("without both, source is %s and metadata is %s", source, metadata)
	}
}

// wantTime parses a timestamp. Decisions, requests in general: UTC with milliseconds and Z.
func wantTime(t *testing.T, s string) time.Time {
	t.Helper()
	parsed, err := time.Parse("2006-01-02T15:04:05.000Z", s)
	if err != nil || len(s) != len("2006-01-02T15:04:05.000Z") {
		t.Errorf("%q is not a time in UTC with milliseconds: %v", s, err)
	}
	return parsed
}

// Specification, sections 2.2 and 3: an award in each status.
func TestRewardInEachStatus(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	at := time.Date(2030, 2, 3, 4, 5, 6, 7_999_000, time.FixedZone("", 3600))
	for status, want := range map[rewards.Status]object{
		rewards.Recorded:  {"status": "recorded", "executedAt": nil, "failureReason": nil},
		rewards.Executing: {"status": "executing", "executedAt": nil, "failureReason": nil},
		rewards.Executed:  {"status": "executed", "executedAt": "2030-02-03T03:05:06.007Z", "failureReason": nil},
		rewards.Failed:    {"status": "failed", "executedAt": nil, "failureReason": "asset_not_tradable: not today"},
	} {
		id := c.give(t, user)
		c.setStatus(t, id, status, at)
		a := c.get(t, "/v1/rewards/"+id).wantStatus(t, http.StatusOK)
		for member, value := range want {
			a.want(t, value, "reward", member)
		}
		listed := c.get(t, "/v1/rewards?status="+status.String()).wantStatus(t, http.StatusOK)
		listed.want(t, []any{a.at(t, "reward")}, "rewards")
	}
}

// Specification, section 4.5, rule 6; decisions: an unknown user is 404 not_found.
func TestUnknownIDs(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	reward := c.give(t, user)
	for _, id := range []string{
		unknownID, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "11111111-2222-4333-8444-555555555555",
	} {
		c.get(t, "/v1/users/"+id).wantError(t, http.StatusNotFound, "not_found", nil)
		c.get(t, "/v1/users/"+id+"/portfolio").wantError(t, http.StatusNotFound, "not_found", nil)
		c.get(t, "/v1/rewards/"+id).wantError(t, http.StatusNotFound, "not_found", nil)
		c.post(t, "/v1/rewards", award(id)).wantError(t, http.StatusNotFound, "not_found", nil)
		c.get(t, "/v1/rewards?userId="+id).wantStatus(t, http.StatusOK).want(t, []any{}, "rewards")
	}
	// Ids of other kinds are unknown too.
	c.get(t, "/v1/users/"+reward).wantError(t, http.StatusNotFound, "not_found", nil)
	c.get(t, "/v1/rewards/"+user).wantError(t, http.StatusNotFound, "not_found", nil)
	c.get(t, "/v1/users/"+c.app.ID.String()).wantError(t, http.StatusNotFound, "not_found", nil)
	c.get(t, "/v1/rewards?userId="+reward).wantStatus(t, http.StatusOK).want(t, []any{}, "rewards")
}
