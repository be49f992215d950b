package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
)

func (c client) reverse(t *testing.T, reward, body string) answer {
	t.Helper()
	return c.post(t, "/v1/rewards/"+reward+"/reversals", body)
}

// Additions, section 1: one request takes an award back whatever its state is.
func TestReversals(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	reward := c.give(t, user)
	part := c.reverse(t, strings.ToUpper(reward), `{"idempotencyKey":"back-one","amountUsd":2.5000001,"reason":"half"}`).
		wantStatus(t, http.StatusCreated)
	id := part.text(t, "reversal", "id")
	want := `{"reversal":{"id":` + quote(id) + `,"appId":` + quote(c.app.ID.String()) + `,"rewardId":` + quote(reward) +
		`,"userId":` + quote(user) + `,"idempotencyKey":"back-one","amountUsd":2.5,"quantity":0,"reason":"half",` +
		`"status":"pending","createdAt":` + quote(part.text(t, "reversal", "createdAt")) + `,"completedAt":null}`
	if got := string(part.body); got != want+`,"status":"pending","idempotentReplay":false}` {
		t.Errorf("the answer is %s", got)
	}
	again := c.reverse(t, reward, `{"reason":"half","amountUsd":2.5,"idempotencyKey":"back-one"}`).wantStatus(t, http.StatusOK)
	if got := string(again.body); got != want+`,"status":"pending","idempotentReplay":true}` {
		t.Errorf("the replay is %s", got)
	}
	if got := string(c.get(t, "/v1/reversals/"+id).body); got != want+"}" {
		t.Errorf("read alone it is %s", got)
	}
	other := c.give(t, user, "idempotencyKey", `"back-two"`) // keys of awards are others
	key := object{"idempotencyKey": "back-one"}
	for _, c2 := range []struct{ reward, body string }{
		{reward, `{"idempotencyKey":"back-one"}`},
		{reward, `{"idempotencyKey":"back-one","amountUsd":2.5}`},
		{reward, `{"idempotencyKey":"back-one","amountUsd":2.500001,"reason":"half"}`},
		{other, `{"idempotencyKey":"back-one","amountUsd":2.5,"reason":"half"}`},
		{unknownID, `{"idempotencyKey":"back-one","amountUsd":2.5,"reason":"half"}`},
	} {
		c.reverse(t, c2.reward, c2.body).wantError(t, http.StatusConflict, "conflict", key)
	}
	c.reverse(t, unknownID, `{"idempotencyKey":"back-two"}`).wantError(t, http.StatusNotFound, "not_found", nil)
	c.reverse(t, reward, `{"idempotencyKey":"back-two","amountUsd":7.500001}`).
		wantError(t, http.StatusUnprocessableEntity, "unprocessable_entity", object{"leftUsd": json.Number("7.5")})
	whole := c.reverse(t, reward, `{"idempotencyKey":"back-two","amountUsd":null,"reason":null}`).wantStatus(t, http.StatusCreated)
	whole.want(t, json.Number("7.5"), "reversal", "amountUsd").want(t, "completed", "status").want(t, nil, "reversal", "reason")
	c.get(t, "/v1/reversals/"+id).want(t, "completed", "reversal", "status")
	failed := c.get(t, "/v1/rewards/"+reward)
	if reason := failed.text(t, "reward", "failureReason"); !strings.HasPrefix(reason, "canceled: ") {
		t.Errorf("the reward failed with %q", reason)
	}
	c.reverse(t, reward, `{"idempotencyKey":"back-three"}`).
		wantError(t, http.StatusConflict, "conflict", object{"rewardId": reward, "status": "failed"})
	if got := c.ids(t, "/v1/reversals?status=completed&rewardId="+reward+"&userId="+user, "reversals"); len(got) != 2 || got[1] != id {
		t.Errorf("the list has %v", got)
	}
}

// What is wrong with a request is named, of the path and the body together.
func TestRefusedReversals(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	reward := c.give(t, user)
	for given, paths := range map[string][]string{
		`{}`:                         {"idempotencyKey"},
		`{"idempotencyKey":"short"}`: {"idempotencyKey"},
		`{"idempotencyKey":"back-0001","amountUsd":0}`:                                                  {"amountUsd"},
		`{"idempotencyKey":"back-0001","amountUsd":-1}`:                                                 {"amountUsd"},
		`{"idempotencyKey":"back-0001","amountUsd":1000000.1}`:                                          {"amountUsd"},
		`{"idempotencyKey":"back-0001","amountUsd":0.0000001}`:                                          {"amountUsd"},
		`{"idempotencyKey":"back-0001","amountUsd":"1"}`:                                                {"amountUsd"},
		`{"idempotencyKey":"back-0001","reason":""}`:                                                    {"reason"},
		`{"idempotencyKey":7,"reason":` + quote(strings.Repeat("é", rewards.MaxReversalReason+1)) + `}`: {"idempotencyKey", "reason"},
		`[]`: {""},
	} {
		c.reverse(t, reward, given).wantIssues(t, paths...)
		c.reverse(t, "x", given).wantIssues(t, append(paths, "rewardId")...)
	}
	for target, path := range map[string]string{
		"/v1/reversals/x": "reversalId", "/v1/reversals?status=done": "status", "/v1/reversals?rewardId=x": "rewardId",
		"/v1/reversals?userId=x": "userId", "/v1/reversals?limit=0": "limit", "/v1/reversals?cursor=x": "cursor",
	} {
		c.get(t, target).wantIssues(t, path)
	}
	longest := `{"idempotencyKey":"back-0001","reason":` + quote(strings.Repeat("é", rewards.MaxReversalReason)) + `}`
	stranger := newApp(t)
	stranger.reverse(t, reward, longest).wantError(t, http.StatusNotFound, "not_found", nil)
	id := c.reverse(t, reward, longest).wantStatus(t, http.StatusCreated).text(t, "reversal", "id")
	stranger.get(t, "/v1/reversals/"+id).wantError(t, http.StatusNotFound, "not_found", nil)
	if got := stranger.ids(t, "/v1/reversals?rewardId="+reward, "reversals"); len(got) != 0 {
		t.Errorf("another app lists %v", got)
	}
}
