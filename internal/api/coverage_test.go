package api_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// brokenStore finds keys and fails everything else.
type brokenStore struct {
	rewards.Store
	err error
}

func (s brokenStore) User(context.Context, rewards.AppID, rewards.UserID) (rewards.User, error) {
	return rewards.User{}, s.err
}

func (s brokenStore) Users(
	context.Context, rewards.AppID, rewards.UserFilter, rewards.Page[rewards.User],
) ([]rewards.User, error) {
	return nil, s.err
}

func (s brokenStore) Reward(context.Context, rewards.AppID, rewards.RewardID) (rewards.Reward, error) {
	return rewards.Reward{}, s.err
}

func (s brokenStore) Rewards(
	context.Context, rewards.AppID, rewards.RewardFilter, rewards.Page[rewards.Reward],
) ([]rewards.Reward, error) {
	return nil, s.err
}

func (s brokenStore) Reversal(context.Context, rewards.AppID, rewards.ReversalID) (rewards.Reversal, error) {
	return rewards.Reversal{}, s.err
}

func (s brokenStore) Reversals(
	context.Context, rewards.AppID, rewards.ReversalFilter, rewards.Page[rewards.Reversal],
) ([]rewards.Reversal, error) {
	return nil, s.err
}

func (s brokenStore) Holdings(context.Context, rewards.AppID, rewards.UserID) ([]rewards.Holding, error) {
	return nil, s.err
}

func (s brokenStore) Activity(
	context.Context, rewards.AppID, rewards.UserID, rewards.ActivityPage,
) ([]rewards.UserActivity, error) {
	return nil, s.err
}

func (s brokenStore) History(context.Context, rewards.AppID, rewards.RewardID) (rewards.History, error) {
	return rewards.History{}, s.err
}

func (s brokenStore) ActionsOfApp(
	context.Context, rewards.AppID, rewards.ActionFilter, rewards.ActionPage,
) ([]rewards.Action, error) {
	return nil, s.err
}

func (s brokenStore) ActionOfApp(context.Context, rewards.AppID, string) (rewards.Action, error) {
	return rewards.Action{}, s.err
}

func (s brokenStore) Effects(
	context.Context, rewards.AppID, string, rewards.EffectPage,
) ([]rewards.ActionEffect, error) {
	return nil, s.err
}

func (s brokenStore) Budgets(context.Context, rewards.AppID) ([]rewards.BudgetUse, error) {
	return nil, s.err
}

func (s brokenStore) EventsAfter(
	context.Context, rewards.AppID, int64, rewards.EventTypes, int,
) (rewards.EventPage, error) {
	return rewards.EventPage{}, s.err
}

func (s brokenStore) Event(context.Context, rewards.AppID, rewards.EventID) (rewards.Event, error) {
	return rewards.Event{}, s.err
}

func (s brokenStore) Assets(context.Context) ([]rewards.Asset, error) { return nil, s.err }

// brokenRecorder fails to record.
type brokenRecorder struct{ err error }

func (r brokenRecorder) Record(context.Context, rewards.NewReward) (rewards.Outcome, error) {
	return rewards.Outcome{}, r.err
}

func (r brokenRecorder) RecordAll(
	context.Context, rewards.AppID, []rewards.NewReward,
) ([]rewards.BatchOutcome, error) {
	return nil, r.err
}

func (r brokenRecorder) CreateUser(context.Context, rewards.User) (rewards.User, error) {
	return rewards.User{}, r.err
}

func (r brokenRecorder) ChangeUser(context.Context, rewards.UserChange) (rewards.User, error) {
	return rewards.User{}, r.err
}

func (r brokenRecorder) Reverse(context.Context, rewards.NewReversal) (rewards.ReversalOutcome, error) {
	return rewards.ReversalOutcome{}, r.err
}

// broken is the client of a server whose store fails after the key was checked.
func (c client) broken(t *testing.T, err error) client {
	t.Helper()
	return c.over(t, brokenStore{c.world.store, err}, brokenRecorder{err})
}

// over is the client of another server, over a store and a recorder.
func (c client) over(t *testing.T, s rewards.Store, r rewards.Recorder) client {
	t.Helper()
	service := rewards.NewService(s, r, c.world.prices, c.world.clock.now)
	service.SetWebhooks(webhooks())
	server := c.world.serve(service)
	t.Cleanup(server.Close)
	c.base = server.URL
	return c
}

// suspended is a client whose app is suspended.
func (w *world) suspended(t *testing.T) client {
	t.Helper()
	c := w.newApp(t)
	c.suspend(t, true)
	return c
}

func (c client) suspend(t *testing.T, suspended bool) {
	t.Helper()
	_, err := c.world.store.SetSuspended(t.Context(), c.app.Name, suspended)
	check(t, err)
}

// produced collects the documented responses that were seen, by operation and status.
type produced map[string]bool

func (p produced) send(t *testing.T, c client, r request, status int) answer {
	t.Helper()
	a := c.send(t, r).wantStatus(t, status)
	route, _ := operationOf(loadDocument(t), r.method, r.target)
	p[route.Operation.OperationID+" "+strconv.Itoa(a.status)] = true
	return a
}

// The service produces every documented response and no others; checkAnswer validates each.
// Decisions: internal_error is 500, or 503 when the service cannot take the request now.
func TestEveryDocumentedResponseOccurs(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	w := c.world
	user := c.newUser(t)
	reward := c.give(t, user)
	c.cancel(t, user)
	event := c.get(t, "/v1/events").text(t, "events", 0, "id")
	reversal := c.post(t, "/v1/rewards/"+reward+"/reversals", `{"idempotencyKey":"back-0000","amountUsd":1}`).
		wantStatus(t, http.StatusCreated).text(t, "reversal", "id")
	c.hold(t, c.newUser(t), "NVDA", 1, 1)
	action := w.announce(t, rewards.Action{Terms: rewards.Terms{Type: "forward_split", Symbol: "NVDA"}})
	valid := map[string]request{
		"createUser":    {method: http.MethodPost, target: "/v1/users", body: `{"email":"a@example.com"}`},
		"listUsers":     {method: http.MethodGet, target: "/v1/users"},
		"changeUser":    {method: http.MethodPatch, target: "/v1/users/" + user, body: `{"email":"b@example.com"}`},
		"getUser":       {method: http.MethodGet, target: "/v1/users/" + user},
		"getPortfolio":  {method: http.MethodGet, target: "/v1/users/" + user + "/portfolio"},
		"createReward":  {method: http.MethodPost, target: "/v1/rewards", body: award(user)},
		"createRewards": {method: http.MethodPost, target: "/v1/rewards/batches", body: batchOf(award(user))},
		"listRewards":   {method: http.MethodGet, target: "/v1/rewards"},
		"getReward":     {method: http.MethodGet, target: "/v1/rewards/" + reward},
		"createReversal": {
			method: http.MethodPost, target: "/v1/rewards/" + reward + "/reversals", body: `{"idempotencyKey":"back-0001","amountUsd":1}`,
		},
		"listReversals": {method: http.MethodGet, target: "/v1/reversals"},
		"getReversal":   {method: http.MethodGet, target: "/v1/reversals/" + reversal},
		"listActivity":  {method: http.MethodGet, target: "/v1/users/" + user + "/activity"},
		"getTimeline":   {method: http.MethodGet, target: "/v1/rewards/" + reward + "/timeline"},
		"listAssets":    {method: http.MethodGet, target: "/v1/assets"},
		"listBudgets":   {method: http.MethodGet, target: "/v1/budgets"},
		"getDocument":   {method: http.MethodGet, target: "/openapi.json"},

		"listCorporateActions":       {method: http.MethodGet, target: "/v1/corporate-actions"},
		"getCorporateAction":         {method: http.MethodGet, target: "/v1/corporate-actions/" + action},
		"listCorporateActionEffects": {method: http.MethodGet, target: "/v1/corporate-actions/" + action + "/effects"},

		"listEvents":   {method: http.MethodGet, target: "/v1/events"},
		"getEvent":     {method: http.MethodGet, target: "/v1/events/" + event},
		"streamEvents": {method: http.MethodGet, target: "/v1/events/stream"},
	}
	endpoint := c.newEndpoint(t)
	maps.Copy(valid, webhookRequests(endpoint))
	gone := c.newEndpoint(t)
	valid["deleteWebhookEndpoint"] = request{method: http.MethodDelete, target: "/v1/webhook-endpoints/" + gone}
	seen := produced{"streamEvents 200": true} // which has no end: see TestEventStream
	for name, r := range valid {
		status, special := successes()[name]
		switch {
		case special:
		case r.method == http.MethodPost:
			status = http.StatusCreated
		default:
			status = http.StatusOK
		}
		if name != "streamEvents" {
			seen.send(t, c, r, status)
		}
		if name == "getDocument" {
			continue
		}
		stranger := c.stranger(t)
		seen.send(t, stranger, r, http.StatusUnauthorized)
		seen.send(t, w.suspended(t), r, http.StatusForbidden)
		seen.send(t, w.limited(t), r, http.StatusTooManyRequests)
		seen.send(t, c.broken(t, errFault), r, http.StatusInternalServerError).wantHidden(t, w.log.String())
		seen.send(t, c.broken(t, errUnavailable), r, http.StatusServiceUnavailable).wantHidden(t, w.log.String())
		if r.method != http.MethodGet {
			bad := r
			bad.body = `{"metadata":7,"rewards":{}}`
			if r.body == "" { // the operation takes no body
				bad.target = strings.NewReplacer(endpoint, "x", gone, "x").Replace(r.target)
			}
			seen.send(t, c, bad, http.StatusBadRequest)
			r.header = http.Header{"Content-Type": {"text/plain"}}
			r.body += " " // without a body the type does not matter
			seen.send(t, c, r, http.StatusUnsupportedMediaType)
			r.body = strings.Repeat(" ", bodyLimit(r.target)+1)
			seen.send(t, c, r, http.StatusRequestEntityTooLarge)
		}
	}
	get := func(target string, status int) {
		seen.send(t, c, request{method: http.MethodGet, target: target}, status)
	}
	for _, list := range []string{
		"/v1/users", "/v1/rewards", "/v1/reversals", "/v1/corporate-actions", "/v1/corporate-actions/" + action + "/effects",
		"/v1/users/" + user + "/activity", "/v1/events",
		"/v1/webhook-endpoints", "/v1/webhook-endpoints/" + c.newEndpoint(t) + "/deliveries",
	} {
		get(list+"?limit=0", http.StatusBadRequest)
	}
	for _, one := range []string{
		"/v1/users/ID", "/v1/users/ID/portfolio", "/v1/users/ID/activity", "/v1/rewards/ID", "/v1/corporate-actions/ID",
		"/v1/corporate-actions/ID/effects", "/v1/reversals/ID", "/v1/events/ID", "/v1/rewards/ID/timeline",
		"/v1/webhook-endpoints/ID",
	} {
		get(strings.Replace(one, "ID", "x", 1), http.StatusBadRequest)
		get(strings.Replace(one, "ID", unknownID, 1), http.StatusNotFound)
	}
	get("/v1/events/stream?after=x", http.StatusBadRequest)
	c.hold(t, user, "KO", 1, 1)
	get("/v1/users/"+user+"/portfolio", http.StatusBadGateway)
	post := func(target, body string, status int) {
		seen.send(t, c, request{method: http.MethodPost, target: target, body: body}, status)
	}
	post("/v1/users", valid["createUser"].body, http.StatusConflict)
	post("/v1/rewards/"+reward+"/reversals", `{"idempotencyKey":"back-0001","amountUsd":1}`, http.StatusOK)
	post("/v1/rewards/"+reward+"/reversals", `{"idempotencyKey":"back-0001"}`, http.StatusConflict)
	post("/v1/rewards/"+reward+"/reversals", `{"idempotencyKey":"back-0002","amountUsd":9}`, http.StatusUnprocessableEntity)
	post("/v1/rewards/"+unknownID+"/reversals", `{"idempotencyKey":"back-0003"}`, http.StatusNotFound)
	patch := func(id, body string, status int) {
		seen.send(t, c, request{method: http.MethodPatch, target: "/v1/users/" + id, body: body}, status)
	}
	patch(user, valid["createUser"].body, http.StatusConflict)
	patch(unknownID, `{"email":"c@example.com"}`, http.StatusNotFound)
	post("/v1/rewards", valid["createReward"].body, http.StatusOK)
	post("/v1/rewards", strings.Replace(valid["createReward"].body, `:10,`, `:11,`, 1), http.StatusConflict)
	post("/v1/rewards", award(unknownID), http.StatusNotFound)
	post("/v1/rewards", award(user, "assetSymbol", `"NONE"`), http.StatusUnprocessableEntity)
	for _, r := range webhookRequests(unknownID) {
		if strings.Contains(r.target, unknownID) {
			seen.send(t, c, r, http.StatusNotFound)
		}
	}
	seen.send(t, c, valid["deleteWebhookEndpoint"], http.StatusNotFound)
	for range rewards.MaxWebhookEndpoints {
		c.send(t, valid["createWebhookEndpoint"])
	}
	post("/v1/webhook-endpoints", valid["createWebhookEndpoint"].body, http.StatusUnprocessableEntity)
	for range rewards.MaxPendingTests {
		c.send(t, valid["testWebhookEndpoint"])
	}
	post(valid["testWebhookEndpoint"].target, "", http.StatusUnprocessableEntity)

	want := make(produced)
	for _, item := range loadDocument(t).Paths.Map() {
		for _, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				want[operation.OperationID+" "+status] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("documented against produced (-documented +produced):\n%s", diff)
	}
}
