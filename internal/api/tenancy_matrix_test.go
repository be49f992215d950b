package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/api"
	"stockrewards/internal/money"
)

// slot is a place in a request where a client writes something.
type slot struct{ in, name string }

func (s slot) String() string { return s.in + " " + s.name }

// apiKey is the slot that the document has as its security.
const apiKey = "x-api-key"

// slotsOf lists the slots of an operation, out of the document.
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

// estate is what an app has, and another one tries to reach.
type estate struct {
	client client
	ids    []string // in the order of their making
	user   string
	reward string
	key    string // the idempotency key of the reward
	values map[slot][]string
}

const (
	ownerEmail = "same@example.com"
	ownerID    = "same-id"
	requestID  = "the-owners-request"
)

// newEstate gives an app something of everything.
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
	c.hold(t, e.user, "KO", money.Share, money.Dollar)
	e.ids = slices.Concat(more, []string{e.user, e.reward, second, c.app.ID.String(), c.keyID.String()})
	for _, id := range e.ids[:2] {
		e.ids = append(e.ids, strings.ToUpper(id))
	}
	cursors := []string{
		c.cursor(t, "/v1/rewards?limit=1"), c.cursor(t, "/v1/users?limit=1"), c.cursor(t, "/v1/rewards?limit=1&userId="+e.user),
		c.cursor(t, "/v1/rewards?limit=1&status=recorded"),
	}
	statuses := []string{"recorded", "executing", "executed", "failed"}
	e.values = map[slot][]string{
		{"path", "userId"}: e.ids, {"path", "rewardId"}: e.ids, {"query", "userId"}: e.ids,
		{"query", "email"}: {ownerEmail, strings.ToUpper(ownerEmail)}, {"query", "externalId"}: {ownerID},
		{"query", "status"}: statuses, {"query", "limit"}: {"1", "2", "200"}, {"query", "cursor"}: cursors,
		{"header", "x-request-id"}: {requestID}, {"header", apiKey}: append([]string{ownerID, c.key[:len(c.key)-1]}, e.ids...),
		{"body", "email"}: {quote(ownerEmail)}, {"body", "externalId"}: {quote(ownerID)},
		{"body", "userId"}: quoteAll(e.ids), {"body", "idempotencyKey"}: {quote(e.key)},
		// The owner's key with what the owner gave, and with something else.
		{"body", "amountUsd"}: {"10", "11"}, {"body", "assetSymbol"}: {`"AAPL"`, `"KO"`, `"NONE"`},
		{"body", "source"}: {`"owners-source"`, quote(e.user)}, {"body", "metadata"}: {`{"secret":1}`, `{"userId":` + quote(e.user) + `}`},
	}
	return e
}

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return quoted
}

// The stranger's own things, which have other ids in each world.
const ownUser, ownReward = "{own-user}", "{own-reward}"

// plain is a request of the operation with nothing of the owner's in it; what it
// creates has a name of its own.
func plain(method, route string) request {
	r := request{method: method, target: strings.NewReplacer("{userId}", ownUser, "{rewardId}", ownReward).Replace(route)}
	if method == http.MethodPost {
		r.body = map[string]string{
			"/v1/users": body("externalId", quote(unique("mine"))), "/v1/rewards": award(ownUser),
		}[route]
	}
	return r
}

// probes are the requests of an operation with a value of the owner's in the slot:
// alone, and beside other values of the owner's.
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

// stranger is an app of a world that tries to reach what is not its own.
type stranger struct {
	*twin
	named *strings.Replacer
	alien map[string]bool // ids of the owner's, which are told as they are
}

func newStranger(t *testing.T, w *world, owner estate) *stranger {
	t.Helper()
	c := w.newApp(t)
	user := c.post(t, "/v1/users", `{"externalId":"strangers"}`).wantStatus(t, http.StatusCreated).text(t, "user", "id")
	reward := c.give(t, user, "idempotencyKey", `"strangers-key"`)
	s := &stranger{twin: &twin{world: w, apps: []client{c}, numbers: make(map[string]int)}, alien: make(map[string]bool)}
	s.named = strings.NewReplacer(ownUser, user, ownReward, reward)
	for _, id := range owner.ids {
		s.alien[strings.ToLower(id)] = true
	}
	return s
}

// ask sends a request and tells its answer, without the ids and times of the world.
func (s *stranger) ask(t *testing.T, r request) string {
	t.Helper()
	r.target, r.body = s.named.Replace(r.target), s.named.Replace(r.body)
	a := s.apps[0].send(t, r)
	for id := range s.alien {
		a.body = []byte(strings.ReplaceAll(string(a.body), id, strings.ToUpper(id))) // no id of this world's
	}
	rest := a.header.Clone()
	for _, name := range []string{"Date", "Link", "Allow", "X-Request-Id"} { // tell has the others
		rest.Del(name)
	}
	if sent := r.header.Get("X-Request-Id"); sent != "" && a.header.Get("X-Request-Id") != sent {
		t.Errorf("%s %s: the request id %q was not kept", r.method, r.target, sent)
	}
	return s.tell(a) + fmt.Sprint(rest)
}

// everything is what the owner can see of its own.
func (e estate) everything(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, target := range []string{
		"/v1/users", "/v1/rewards", "/v1/users/" + e.user, "/v1/users/" + e.user + "/portfolio", "/v1/rewards/" + e.reward,
	} {
		all.Write(e.client.get(t, target).wantStatus(t, http.StatusOK).body)
	}
	return all.String()
}

// keepReading lets the owner read its own things without pause: what is read at the
// same moment is read together.
func (e estate) keepReading(t *testing.T) (stop func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			target := []string{"/v1/rewards/" + e.reward, "/v1/users/" + e.user + "/portfolio", "/v1/users/" + e.user}[i%3]
			a, err := e.client.try(t, request{method: http.MethodGet, target: target})
			if err != nil || a.status != http.StatusOK {
				t.Errorf("the owner's own %s: %d %v %s", target, a.status, err, a.body)
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// Specification, sections 1 and 5, for every operation and every place in it where
// a client writes something, out of the document: whatever of another app's is
// written there is answered, byte by byte, as in a world where there has never been
// such an app. A new endpoint or parameter that nobody has thought of here fails.
func TestTenancyMatrix(t *testing.T) {
	t.Parallel()
	full, empty := newWorld(t), newWorld(t)
	for _, w := range []*world{full, empty} {
		w.set(t, "KO", "70")
	}
	owner := full.newEstate(t)
	here, there := newStranger(t, full, owner), newStranger(t, empty, owner)
	before := owner.everything(t)
	stop := owner.keepReading(t)
	documented, asked, used := map[api.Endpoint]bool{}, 0, map[slot]bool{}
	for _, route := range loadDocument(t).Paths.InMatchingOrder() {
		item := loadDocument(t).Paths.Value(route)
		for method, operation := range item.Operations() {
			documented[api.Endpoint{Method: method, Route: route}] = true
			for _, s := range slotsOf(item, operation) {
				values := owner.values[s]
				if used[s] = true; len(values) == 0 || method == http.MethodPost && plain(method, route).body == "" {
					t.Errorf("%s %s: %s: nothing of another app's is tried here", method, route, s)
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
	for _, e := range api.Endpoints() {
		if !documented[e] {
			t.Errorf("%s %s is not documented, and so not tried", e.Method, e.Route)
		}
	}
	for s := range maps.Keys(owner.values) {
		if !used[s] {
			t.Errorf("%s stands in no operation", s)
		}
	}
	if diff := cmp.Diff(before, owner.everything(t)); diff != "" {
		t.Errorf("what is the owner's has changed (-before +after):\n%s", diff)
	}
	t.Logf("%d requests with something of another app's", asked)
}
