package api_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/sqlite"
)

var long = flag.Bool("long", false, "run the long variants of the tests")

// twin is one of two services that get the same requests. Its ids are numbered in the
// order in which they first appear in responses.
type twin struct {
	*world
	apps    []client
	numbers map[string]int
	ids     []string // by number
	next    string   // the next page of the list read last, after the app's number
}

// generated matches what two services cannot have in common.
var generated = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|cursor=[A-Za-z0-9_-]+`)

var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)

var sequences = regexp.MustCompile(`("sequence":|after=|\bid: )\d{10,}`)

// secrets matches the secrets of webhook endpoints.
var secrets = regexp.MustCompile(`whsec_[A-Za-z0-9+/]+=*`)

// canonical formats a response with numbers for ids and without times and cursors.
func (w *twin) canonical(a answer) string {
	line := fmt.Sprint(a.status, " ", a.header.Get("Link"), " ", a.header.Get("Allow"), " ", string(a.body))
	if request := a.header.Get("X-Request-Id"); request != "" {
		line = strings.ReplaceAll(line, request, "REQUEST")
	}
	line = sequences.ReplaceAllString(times.ReplaceAllString(line, `"TIME"`), "${1}SEQUENCE")
	line = secrets.ReplaceAllString(line, "SECRET")
	return generated.ReplaceAllStringFunc(line, func(id string) string {
		if strings.HasPrefix(id, "cursor=") {
			return "cursor=C"
		}
		n, known := w.numbers[id]
		if !known {
			n = len(w.ids)
			w.numbers[id], w.ids = n, append(w.ids, id)
		}
		return fmt.Sprint("#", n)
	})
}

// id returns the id with a number, or an unknown one.
func (w *twin) id(n int) string {
	if n < 0 || len(w.ids) == 0 {
		return unknownID
	}
	return w.ids[n%len(w.ids)]
}

func newTwin(t *testing.T, engine store.Engine) *twin {
	t.Helper()
	built, err := worldOn(t.Context(), engine)
	check(t, err)
	t.Cleanup(func() { check(t, built.close()) })
	w := &twin{world: built, numbers: make(map[string]int)}
	for range 2 {
		w.apps = append(w.apps, w.newApp(t))
	}
	w.set(t, "AAPL", "187.33")
	w.set(t, "KO", "70.01")
	return w
}

// Random requests get the same responses from a service over SQLite and from one over PostgreSQL.
func TestBothEnginesRespondAlike(t *testing.T) {
	t.Parallel()
	calls := 1_000
	if *long {
		calls = 10_000
	}
	c, err := cluster()
	check(t, err)
	url, err := c.NewDatabase(t.Context())
	check(t, err)
	far, err := postgres.Open(t.Context(), url, postgres.Options{Connections: 2})
	check(t, err)
	near, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	check(t, err)
	one, two := newTwin(t, near), newTwin(t, far)
	random := rand.New(rand.NewPCG(7, 7))
	statuses := map[int]int{}
	for i := range calls {
		ask := newQuestion(random, i)
		first, second := ask(t, one), ask(t, two)
		statuses[first.status]++
		if diff := cmp.Diff(one.canonical(first), two.canonical(second)); diff != "" {
			t.Fatalf("call %d: %s %s %s (-sqlite +postgres):\n%s",
				i, first.request.method, first.request.target, first.request.body, diff)
		}
	}
	for _, status := range []int{200, 201, 400, 401, 404, 409} {
		if statuses[status] < calls/200 {
			t.Errorf("only %d responses of status %d: %v", statuses[status], status, statuses)
		}
	}
}

// question sends a request to one of the twins.
type question func(*testing.T, *twin) answer

// newQuestion returns a random question.
func newQuestion(r *rand.Rand, i int) question {
	app, id, kind := r.IntN(2), r.IntN(1+i/2)-1, r.IntN(100)
	at := func(method, target, body string) question {
		return func(t *testing.T, w *twin) answer {
			t.Helper()
			named := strings.NewReplacer("{id}", w.id(id)).Replace
			return w.apps[app].send(t, request{method: method, target: named(target), body: named(body)})
		}
	}
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	limit := fmt.Sprint("limit=", r.IntN(7))
	switch {
	case kind < 15:
		return at(http.MethodPost, "/v1/users", fmt.Sprintf(`{"email":%q,"externalId":%q}`,
			pick("Ä", "x", "X")+fmt.Sprint(r.IntN(1+i/4))+"@example.org", pick("Straße-", "user ", "USER ")+fmt.Sprint(r.IntN(1+i/4))))
	case kind < 18:
		return at(http.MethodPost, "/v1/users", pick(`{}`, `{"email":"no"}`, `{"externalId":""}`, `[`, `{"externalId":"a\u0000"}`))
	case kind < 24:
		return at(http.MethodGet, pick("/v1/users/{id}", "/v1/rewards/{id}", "/v1/users/nonsense"), "")
	case kind < 32:
		return at(http.MethodGet, "/v1/users/{id}/portfolio", "")
	case kind < 40:
		return at(http.MethodGet, pick("/v1/users?", "/v1/rewards?", "/v1/rewards?userId={id}&", "/v1/rewards?status=recorded&",
			"/v1/rewards?status=executed&", "/v1/assets?", "/v1/users?externalId=user%20"+fmt.Sprint(r.IntN(50))+"&",
			"/v1/users?email=%C3%84"+fmt.Sprint(r.IntN(50))+"%40example.org&")+limit, "")
	case kind < 46:
		return func(t *testing.T, w *twin) answer { t.Helper(); return w.page(t, app, limit) }
	case kind < 50:
		return func(t *testing.T, w *twin) answer { t.Helper(); return w.setState(t, app, id, i%4+1) }
	case kind < 53:
		return func(t *testing.T, w *twin) answer {
			t.Helper()
			stranger := w.apps[app].stranger(t)
			return stranger.send(t, request{method: http.MethodGet, target: "/v1/assets"})
		}
	case kind < 54:
		return at(http.MethodPatch, "/v1/users/{id}", pick(`{}`, `{"email":null}`, `{"externalId":null}`, fmt.Sprintf(
			`{"email":"x%d@example.org"}`, r.IntN(9)), fmt.Sprintf(`{"externalId":"user %d","email":null}`, r.IntN(9))))
	case kind < 56:
		return at(pick(http.MethodPut, http.MethodDelete), pick("/v1/rewards", "/v1/nothing", "/v1/users/{id}"), "")
	}
	return at(http.MethodPost, "/v1/rewards", fmt.Sprintf(
		`{"userId":"{id}","idempotencyKey":"key-%06d","amountUsd":%s,"assetSymbol":%q%s}`, r.IntN(1+i/2),
		pick("5.25", "5.25", "5.250", "0.000001", "1e2", "0", "-1", "1000000.000001"), pick("AAPL", "aapl", "KO", "ÄÖ", "NONE", ""),
		pick("", `,"source":"ö"`, `,"metadata":{"b":1.0,"a":[1e400,"\u0000"]}`, `,"metadata":{"a":[1e400,"\u0000"],"b":1}`, `,"x":1`)))
}

// page reads a list, or the next page of the list read last.
func (w *twin) page(t *testing.T, app int, limit string) answer {
	t.Helper()
	target := "/v1/rewards?" + limit
	if next, found := strings.CutPrefix(w.next, fmt.Sprint(app)); found {
		target = next
	}
	a := w.apps[app].send(t, request{method: http.MethodGet, target: target})
	next, _, found := strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	if w.next = ""; found {
		w.next = fmt.Sprint(app) + next
	}
	return a
}

// setState sets a reward's status in the database and adds to its user's holding.
func (w *twin) setState(t *testing.T, app, id, status int) answer {
	t.Helper()
	c, reward := w.apps[app], w.id(id)
	a := c.send(t, request{method: http.MethodGet, target: "/v1/rewards/" + reward})
	if a.status == http.StatusOK {
		c.setStatus(t, reward, rewards.Status(status), time.UnixMilli(1_900_000_000_000))
		rewardID := parseID[rewards.Reward](t, reward)
		w.exec(t, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis)
			SELECT app_id, user_id, asset_id, 1000000000, amount FROM rewards WHERE app_id = ?1 AND id = ?2
			ON CONFLICT (app_id, user_id, asset_id) DO UPDATE SET quantity = holdings.quantity + 7`, c.app.ID[:], rewardID[:])
	}
	return c.send(t, request{method: http.MethodGet, target: "/v1/rewards/" + reward})
}
