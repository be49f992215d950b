package api_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// Specification, section 4.5, rules 1 to 3; decisions, awards: which requests with one
// key are the same.
func TestEqualRequests(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	user, other := c.newUser(t), c.newUser(t)
	for name, run := range map[string]struct {
		member, first, second string
		same                  bool
	}{
		"user in upper case":             {"userId", quote(user), quote(strings.ToUpper(user)), true},
		"another user":                   {"userId", quote(user), quote(other), false},
		"another spelling of the amount": {"amountUsd", "10", "1.0e1", true},
		"amount with zeros":              {"amountUsd", "10", "10.0000000", true},
		"amount beyond a millionth":      {"amountUsd", "0.3", "0.30000000000000004", true},
		"another amount":                 {"amountUsd", "10", "10.000001", false},
		"symbol in lower case":           {"assetSymbol", `"AAPL"`, `"aapl"`, true},
		"symbol by escapes":              {"assetSymbol", `"AAPL"`, `"\u0041APL"`, true},
		"another symbol":                 {"assetSymbol", `"AAPL"`, `"KO"`, false},
		"source null":                    {"source", "", "null", true},
		"source by escapes":              {"source", `"a/b"`, `"\u0061\/b"`, true},
		"source in another case":         {"source", `"a"`, `"A"`, false},
		"source with a space":            {"source", `"a"`, `"a "`, false},
		"source or none":                 {"source", `"a"`, "", false},
		"source in another composition":  {"source", `"\u00e9"`, `"e\u0301"`, false},
		"metadata null":                  {"metadata", "", "null", true},
		"metadata empty":                 {"metadata", "", "{}", true},
		"metadata empty with spaces":     {"metadata", "null", "{ \n }", true},
		"metadata or none":               {"metadata", "", `{"a":null}`, false},
		"metadata order":                 {"metadata", `{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`, true},
		"metadata order of emoji":        {"metadata", `{"😀":1,"\uffff":2}`, `{"\uffff":2,"\ud83d\ude00":1}`, true},
		"metadata white space":           {"metadata", `{"a":[1,2]}`, "{ \"a\" : [ 1 ,\t2 ] }", true},
		"metadata escapes":               {"metadata", `{"a":"é/\n"}`, `{"\u0061":"\u00E9\/\u000a"}`, true},
		"metadata escapes of pairs":      {"metadata", `{"a":"😀"}`, `{"a":"\ud83d\ude00"}`, true},
		"metadata with NUL":              {"metadata", `{"a":"\u0000"}`, `{"a":""}`, false},
		"metadata order of a list":       {"metadata", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
		"metadata another value":         {"metadata", `{"a":1}`, `{"a":2}`, false},
		"metadata another type":          {"metadata", `{"a":1}`, `{"a":"1"}`, false},
		"metadata null or absent":        {"metadata", `{"a":1,"b":null}`, `{"a":1}`, false},
		"metadata true or 1":             {"metadata", `{"a":true}`, `{"a":1}`, false},
		"metadata list or object":        {"metadata", `{"a":[]}`, `{"a":{}}`, false},
		"metadata names' case":           {"metadata", `{"a":1}`, `{"A":1}`, false},
		"metadata spaces in strings":     {"metadata", `{"a":"b c"}`, `{"a":"b  c"}`, false},
		// Numbers compare as written.
		"metadata 1.0":              {"metadata", `{"a":1}`, `{"a":1.0}`, false},
		"metadata 0.10":             {"metadata", `{"a":0.1}`, `{"a":0.10}`, false},
		"metadata 1e2":              {"metadata", `{"a":100}`, `{"a":1e2}`, false},
		"metadata 1E2":              {"metadata", `{"a":1e2}`, `{"a":1E2}`, false},
		"metadata 1e+2":             {"metadata", `{"a":1e2}`, `{"a":1e+2}`, false},
		"metadata -0":               {"metadata", `{"a":0}`, `{"a":-0}`, false},
		"metadata -0.0":             {"metadata", `{"a":0.0}`, `{"a":-0.0}`, false},
		"metadata beyond 2^53":      {"metadata", `{"a":9007199254740992}`, `{"a":9007199254740993}`, false},
		"metadata beyond floats":    {"metadata", `{"a":1e400}`, `{"a":1e401}`, false},
		"metadata many digits":      {"metadata", `{"a":0.1}`, `{"a":0.1000000000000000055}`, false},
		"an unknown member":         {"unknown", "1", "2", true},
		"an unknown member or none": {"unknown", `"status"`, "", true},
		"only white space":          {"amountUsd", "10", " \n10 ", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := quote(unique("same"))
			first := c.post(t, "/v1/rewards", award(user, "idempotencyKey", key, run.member, run.first)).wantStatus(t, http.StatusCreated)
			again := award(user, "idempotencyKey", key, run.member, run.second)
			if !run.same {
				c.post(t, "/v1/rewards", again).wantError(t, http.StatusConflict, "conflict",
					object{"idempotencyKey": first.text(t, "reward", "idempotencyKey")})
				return
			}
			c.post(t, "/v1/rewards", again).wantStatus(t, http.StatusOK).
				want(t, true, "idempotentReplay").want(t, first.at(t, "reward"), "reward")
		})
	}
}

// The order of members and escapes do not matter; keys are compared exactly.
func TestSpellingOfTheBodyIsIgnored(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	user, key := quote(c.newUser(t)), unique("spelling")
	post := func(key string, status int) {
		t.Helper()
		c.post(t, "/v1/rewards", body("userId", user, "idempotencyKey", key, "amountUsd", "1", "assetSymbol", `"KO"`)).
			wantStatus(t, status)
	}
	post(quote(key), http.StatusCreated)
	c.post(t, "/v1/rewards", body("assetSymbol", `"KO"`, "amountUsd", "1", "idempotencyKey", quote(key), "userId", user)).
		wantStatus(t, http.StatusOK)
	post(`"\u0073`+key[1:]+`"`, http.StatusOK)
	for _, other := range []string{strings.ToUpper(key), key + " ", " " + key} {
		post(quote(other), http.StatusCreated)
	}
}

// Decisions, awards: a replay shows the award's current state, which `status` repeats
// (specification, section 4.5). Keys never expire.
func TestReplayShowsTheCurrentState(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	for _, status := range []rewards.Status{rewards.Recorded, rewards.Executing, rewards.Executed, rewards.Failed} {
		body := award(user)
		id := c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusCreated).text(t, "reward", "id")
		c.setStatus(t, id, status, w.clock.now().Add(time.Minute))
		w.clock.advance(100 * 24 * time.Hour)
		again := c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusOK)
		again.want(t, status.String(), "status").want(t, true, "idempotentReplay")
		again.want(t, c.get(t, "/v1/rewards/"+id).at(t, "reward"), "reward").want(t, status.String(), "reward", "status")
		c.post(t, "/v1/rewards", strings.Replace(body, ":10,", ":11,", 1)).wantStatus(t, http.StatusConflict)
	}
}

// Decisions, awards: of identical concurrent requests exactly one is 201, all others
// are 200. Of two different requests with one key one wins; all copies of the other are 409.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	c := newWorldAt(t, filepath.Join(t.TempDir(), "rewards.db")).newApp(t)
	user := c.newUser(t)
	const rounds = 5
	for range rounds {
		same, different := award(user), award(user)
		for _, run := range []struct {
			bodies []string
			want   map[int]int
		}{
			{[]string{same}, map[int]int{201: 1, 200: 15}},
			{[]string{different, strings.Replace(different, ":10,", ":11,", 1)}, map[int]int{201: 1, 200: 7, 409: 8}},
		} {
			answers := c.concurrently(t, "/v1/rewards", 16, run.bodies...)
			if diff := cmp.Diff(run.want, count(answers)); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
			for _, a := range answers {
				checkAnswer(t, a)
				if len(run.bodies) == 1 {
					a.want(t, answers[0].at(t, "reward"), "reward").want(t, a.status == http.StatusOK, "idempotentReplay")
				}
			}
		}
	}
	if got := len(c.ids(t, "/v1/rewards", "rewards")); got != 2*rounds {
		t.Errorf("%d awards, want %d", got, 2*rounds)
	}
}

// concurrently posts n bodies at the same moment, taking the given ones in turn.
func (c client) concurrently(t *testing.T, target string, n int, bodies ...string) []answer {
	t.Helper()
	answers, errs := make([]answer, n), make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			answers[i], errs[i] = c.try(t, request{method: http.MethodPost, target: target, body: bodies[i%len(bodies)]})
		})
	}
	close(start)
	all.Wait()
	check(t, errors.Join(errs...))
	return answers
}

// count counts responses by status.
func count(answers []answer) map[int]int {
	statuses := make(map[int]int)
	for _, a := range answers {
		statuses[a.status]++
	}
	return statuses
}
