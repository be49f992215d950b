package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// slot is a part of a request that a client fills in.
type slot struct{ in, name string }

func (s slot) String() string { return s.in + " " + s.name }

// apiKey is the slot that the document describes as its security scheme.
const apiKey = "x-api-key"

// slotsOf lists the slots of an operation in the document.
func slotsOf(item *openapi3.PathItem, operation *openapi3.Operation) []slot {
	var list []slot
	for _, p := range slices.Concat(item.Parameters, operation.Parameters) {
		list = append(list, slot{p.Value.In, p.Value.Name})
	}
	if operation.RequestBody != nil {
		for name := range operation.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties {
			list = append(list, slot{"body", name})
		}
	}
	if operation.Security == nil {
		list = append(list, slot{"header", apiKey})
	}
	slices.SortFunc(list, func(a, b slot) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// estate is the data of an app that another app tries to reach.
type estate struct {
	client   client
	ids      []string // in order of creation
	user     string
	reward   string
	action   string // of a stock that only the owner holds
	event    string
	reversal string
	key      string // the idempotency key of the reward
	values   map[slot][]string
	hook     string // a webhook endpoint
}

const (
	ownerEmail = "same@example.com"
	ownerID    = "same-id"
	requestID  = "the-owners-request"
)

// newEstate creates an app with data of every kind.
func (w *world) newEstate(t *testing.T) estate {
	t.Helper()
	c := w.newApp(t)
	e := estate{client: c, key: unique("owners-key")}
	create := request{
		method: http.MethodPost, target: "/v1/users", header: http.Header{"X-Request-Id": {requestID}},
		body: body("email", quote(ownerEmail), "externalId", quote(ownerID)),
	}
	e.user = c.send(t, create).wantStatus(t, http.StatusCreated).text(t, "user", "id")
	e.reward = c.give(t, e.user, "idempotencyKey", quote(e.key), "source", `"owners-source"`, "metadata", `{"secret":1}`)
	more := c.giveMany(t, e.user, 3)
	second := c.newUser(t)
	c.bought(t, e.user, e.reward, more[0])
	c.hold(t, e.user, "KO", money.Share, money.Dollar)
	e.action = w.announce(t, rewards.Action{
		Terms: rewards.Terms{Type: "forward_split", Symbol: "KO", OldRate: "1", NewRate: "4"}, State: rewards.ActionAnnounced,
	})
	w.announce(t, rewards.Action{Terms: rewards.Terms{Type: "cash_dividend", Symbol: "KO", Rate: "1"}})
	w.apply(t, rewards.Action{
		ID: e.action, Terms: rewards.Terms{Type: "forward_split", Symbol: "KO", OldRate: "1", NewRate: "4"}, State: rewards.ActionAnnounced,
	}, "")
	back := c.reverse(t, more[2], `{"idempotencyKey":`+quote(e.key)+`,"amountUsd":1,"reason":"the owner's"}`)
	more = append(more, back.text(t, "reversal", "id"))
	e.reversal = more[len(more)-1]
	c.setBudget(t, "owners-budget", rewards.PerApp, rewards.PeriodTotal, 7_777*money.Dollar)
	c.cancel(t, e.user)
	events := c.get(t, "/v1/events")
	e.event = events.text(t, "events", 0, "id")
	sequences := []string{"0", "1", fmt.Sprint(events.at(t, "events", 0, "sequence"))}
	more = append(more, e.event)
	e.hook = c.newEndpoint(t)
	e.ids = slices.Concat(more, []string{e.user, e.reward, e.action, e.hook, second, c.app.ID.String(), c.keyID.String()})
	for _, id := range e.ids[:2] {
		e.ids = append(e.ids, strings.ToUpper(id))
	}
	cursors := []string{
		c.cursor(t, "/v1/rewards?limit=1"), c.cursor(t, "/v1/users?limit=1"), c.cursor(t, "/v1/rewards?limit=1&userId="+e.user),
		c.cursor(t, "/v1/rewards?limit=1&status=recorded"), c.cursor(t, "/v1/corporate-actions?limit=1"),
		c.cursor(t, "/v1/users/"+e.user+"/activity?limit=1"),
	}
	statuses := []string{"recorded", "executing", "executed", "failed", "announced", "applied", "held", "withdrawn", "undone", "pending", "completed"}
	moments := []string{"2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"}
	e.values = map[slot][]string{
		{"path", "userId"}: e.ids, {"path", "rewardId"}: e.ids, {"query", "userId"}: e.ids,
		{"path", "reversalId"}: e.ids, {"query", "rewardId"}: e.ids, {"body", "reason"}: {`"the owner's"`},
		{"path", "eventId"}: e.ids, {"query", "after"}: sequences, {"header", "Last-Event-ID"}: sequences,
		{"query", "types"}: rewards.EventTypeNames(), {"query", "wait"}: {"0"},
		{"path", "webhookEndpointId"}: e.ids, {"body", "url"}: {quote(hook)}, {"body", "types"}: {`["reward.failed"]`},
		{"body", "description"}: {`"theirs"`}, {"body", "status"}: {`"disabled"`}, {"body", "after"}: {"0"},
		{"path", "corporateActionId"}: e.ids, {"query", "assetSymbol"}: {"KO", "AAPL"},
		{"query", "email"}: {ownerEmail, strings.ToUpper(ownerEmail)}, {"query", "externalId"}: {ownerID},
		{"query", "idempotencyKey"}: {e.key}, {"query", "createdAfter"}: moments, {"query", "createdBefore"}: moments,
		{"query", "status"}: statuses, {"query", "limit"}: {"1", "2", "200"}, {"query", "cursor"}: cursors,
		{"header", "x-request-id"}: {requestID}, {"header", apiKey}: append([]string{ownerID, c.key[:len(c.key)-1]}, e.ids...),
		{"body", "email"}: {quote(ownerEmail)}, {"body", "externalId"}: {quote(ownerID)},
		{"body", "userId"}: quoteAll(e.ids), {"body", "idempotencyKey"}: {quote(e.key)},
		// The owner's key with the owner's content, and with other content.
		{"body", "amountUsd"}: {"10", "11"}, {"body", "assetSymbol"}: {`"AAPL"`, `"KO"`, `"NONE"`},
		{"body", "source"}: {`"owners-source"`, quote(e.user)}, {"body", "metadata"}: {`{"secret":1}`, `{"userId":` + quote(e.user) + `}`},
		{"body", "rewards"}: {`[` + award(ownUser, "idempotencyKey", quote(e.key)) + `,` + award(e.user) + `,` +
			award(e.user, "idempotencyKey", quote(e.key)) + `,` + award(ownUser, "idempotencyKey", quote(e.key)) + `]`},
	}
	return e
}

func quoteAll(list []string) []string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return quoted
}

// The placeholders for the stranger's data, whose ids differ between the worlds.
const (
	ownUser, ownReward, ownAction = "{own-user}", "{own-reward}", "{own-action}"
	ownEvent, ownReversal         = "{own-event}", "{own-reversal}"
	ownHook                       = "{own-hook}"
)

// plain is a request of the operation without any of the owner's data.
func plain(method, route string) request {
	r := request{method: method, target: strings.NewReplacer(
		"{userId}", ownUser, "{rewardId}", ownReward, "{corporateActionId}", ownAction, "{eventId}", ownEvent,
		"{reversalId}", ownReversal,
		"{webhookEndpointId}", ownHook,
	).Replace(route)}
	if method == http.MethodPatch {
		r.body = `{"externalId":"changed","description":"changed"}`
	}
	if method == http.MethodPost {
		r.body = map[string]string{
			"/v1/users": body("externalId", quote(unique("mine"))), "/v1/rewards": award(ownUser),
			"/v1/rewards/batches":              batchOf(award(ownUser)),
			"/v1/rewards/{rewardId}/reversals": `{"idempotencyKey":"strangers-back","amountUsd":1}`,
			"/v1/webhook-endpoints":            body("url", quote(hook)),
		}[route]
		if strings.Contains(route, "{webhookEndpointId}") {
			r.body = `{"after":0}`
		}
	}
	return r
}

// probes are the requests of an operation with one of the owner's values in the slot,
// alone and with other values of the owner.
func (e estate) probes(method, route string, s slot, value string) []request {
	r := plain(method, route)
	switch s.in {
	case "path":
		r.target = strings.Replace(route, "{"+s.name+"}", value, 1)
		return []request{r}
	case "header":
		r.header = http.Header{http.CanonicalHeaderKey(s.name): {value}}
		return []request{r}
	case "query":
		with := func(pairs string) request {
			q := r
			q.target += "?" + s.name + "=" + url.QueryEscape(value) + pairs
			return q
		}
		if s.name == "userId" || s.name == "email" {
			return []request{with(""), with("&limit=1")}
		}
		return []request{with(""), with("&userId=" + e.user), with("&userId=" + ownUser), with("&email=" + ownerEmail)}
	}
	if strings.HasSuffix(route, "/reversals") {
		r.body = body("idempotencyKey", quote(unique("back")), s.name, value)
		if s.name == "idempotencyKey" {
			r.body = body(s.name, value, "amountUsd", "1")
		}
		return []request{r}
	}
	if route != "/v1/rewards" {
		r.body = body(s.name, value)
		return []request{r}
	}
	fresh, used := r, r
	fresh.body = award(ownUser, s.name, value)
	used.body = award(ownUser, "idempotencyKey", quote(e.key), s.name, value)
	theirs := r
	theirs.body = award(e.user, "idempotencyKey", quote(e.key), s.name, value)
	return []request{fresh, used, theirs}
}

// stranger is an app that tries to reach another app's data.
type stranger struct {
	*twin
	named *strings.Replacer
	alien map[string]bool // the owner's ids, which are compared literally
}

func newStranger(t *testing.T, w *world, owner estate) *stranger {
	t.Helper()
	c := w.newApp(t)
	user := c.post(t, "/v1/users", `{"externalId":"strangers"}`).wantStatus(t, http.StatusCreated).text(t, "user", "id")
	reward := c.give(t, user, "idempotencyKey", `"strangers-key"`)
	s := &stranger{twin: &twin{world: w, apps: []client{c}, numbers: make(map[string]int)}, alien: make(map[string]bool)}
	c.hold(t, user, "NVDA", money.Share, money.Dollar)
	action := w.announce(t, rewards.Action{Terms: rewards.Terms{Type: "forward_split", Symbol: "NVDA", OldRate: "1", NewRate: "4"}})
	event := c.get(t, "/v1/events").text(t, "events", 0, "id")
	reversal := c.reverse(t, reward, `{"idempotencyKey":"strangers-first","amountUsd":1}`).text(t, "reversal", "id")
	s.named = strings.NewReplacer(ownUser, user, ownReward, reward, ownAction, action, ownEvent, event, ownReversal, reversal,
		ownHook, c.newEndpoint(t))
	for _, id := range owner.ids {
		s.alien[strings.ToLower(id)] = true
	}
	return s
}

// ask sends a request and formats its response without this world's ids and times.
func (s *stranger) ask(t *testing.T, r request) string {
	t.Helper()
	r.target, r.body = s.named.Replace(r.target), s.named.Replace(r.body)
	a := s.apps[0].send(t, r)
	for id := range s.alien {
		a.body = []byte(strings.ReplaceAll(string(a.body), id, strings.ToUpper(id))) // not an id of this world
	}
	rest := a.header.Clone()
	for _, name := range []string{"Date", "Link", "Allow", "X-Request-Id"} { // canonical has the others
		rest.Del(name)
	}
	if sent := r.header.Get("X-Request-Id"); sent != "" && a.header.Get("X-Request-Id") != sent {
		t.Errorf("%s %s: the request id %q was not kept", r.method, r.target, sent)
	}
	return s.canonical(a) + fmt.Sprint(rest)
}

// everything is all data that the owner can read.
func (e estate) everything(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, target := range []string{
		"/v1/users", "/v1/rewards", "/v1/users/" + e.user, "/v1/users/" + e.user + "/portfolio", "/v1/rewards/" + e.reward,
		"/v1/users/" + e.user + "/activity", "/v1/reversals", "/v1/reversals/" + e.reversal, "/v1/budgets", "/v1/events", "/v1/events/" + e.event,
		"/v1/rewards/" + e.reward + "/timeline",
		"/v1/corporate-actions", "/v1/corporate-actions/" + e.action,
		"/v1/corporate-actions/" + e.action + "/effects",
		"/v1/webhook-endpoints", "/v1/webhook-endpoints/" + e.hook, "/v1/webhook-endpoints/" + e.hook + "/deliveries",
	} {
		all.Write(e.client.get(t, target).wantStatus(t, http.StatusOK).body)
	}
	return all.String()
}

// keepReading makes the owner read its data all the time, because the store combines
// concurrent reads.
func (e estate) keepReading(t *testing.T) (stop func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
			}
			target := []string{"/v1/rewards/" + e.reward, "/v1/users/" + e.user + "/portfolio", "/v1/users/" + e.user}[i%3]
			a, err := e.client.try(t, request{method: http.MethodGet, target: target})
			if err != nil || a.status != http.StatusOK {
				t.Errorf("the owner's %s: %d %v %s", target, a.status, err, a.body)
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// Specification, sections 1 and 5: another app's data does not exist for an app. The test
// puts the owner's values into every slot of every operation in the document. Each
// response must equal, byte for byte, that of a world without the owner. A new endpoint or
// parameter without values here fails the test.
func TestTenancyMatrix(t *testing.T) {
	t.Parallel()
	full, empty := newWorld(t), newWorld(t)
	for _, w := range []*world{full, empty} {
		w.set(t, "KO", "70")
		w.sweep(t) // takes the lease, which timelines show
	}
	owner := full.newEstate(t)
	here, there := newStranger(t, full, owner), newStranger(t, empty, owner)
	before := owner.everything(t)
	stop := owner.keepReading(t)
	asked, used := 0, map[slot]bool{}
	for _, route := range loadDocument(t).Paths.InMatchingOrder() {
		item := loadDocument(t).Paths.Value(route)
		for method, operation := range item.Operations() {
			for _, s := range slotsOf(item, operation) {
				values := owner.values[s]
				if used[s] = true; len(values) == 0 || method != http.MethodGet && method != http.MethodDelete && plain(method, route).body == "" {
					t.Errorf("%s %s: %s: no values of another app to try", method, route, s)
				}
				for _, value := range values {
					for _, r := range owner.probes(method, route, s, value) {
						if diff := cmp.Diff(there.ask(t, r), here.ask(t, r)); diff != "" {
							t.Errorf("%s %s %s (-never existed +another app's):\n%s", r.method, r.target, r.body, diff)
						}
						asked++
					}
				}
			}
		}
	}
	stop()
	for s := range maps.Keys(owner.values) {
		if !used[s] {
			t.Errorf("%s is in no operation", s)
		}
	}
	if diff := cmp.Diff(before, owner.everything(t)); diff != "" {
		t.Errorf("the owner's data has changed (-before +after):\n%s", diff)
	}
	t.Logf("%d requests with another app's values", asked)
}
