package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// batches is the path of batches.
const batches = "/v1/rewards/batches"

// batchOf is the body of a batch of items.
func batchOf(items ...string) string { return `{"rewards":[` + strings.Join(items, ",") + `]}` }

// wantSummary compares the counts of a batch's results.
func (a answer) wantSummary(t *testing.T, created, replayed, refused int) answer {
	t.Helper()
	a.wantStatus(t, http.StatusOK)
	number := func(n int) json.Number { return json.Number(fmt.Sprint(n)) }
	return a.want(t, object{
		"created": number(created), "replayed": number(replayed), "refused": number(refused),
	}, "summary")
}

// results are the results of a batch.
func (a answer) results(t *testing.T) []object {
	t.Helper()
	list, _ := a.at(t, "results").([]any)
	results := make([]object, len(list))
	for i := range list {
		results[i], _ = list[i].(object)
	}
	return results
}

// alone sends an item as a separate request, and returns the result that it should have in a
// batch.
func (c client) alone(t *testing.T, item string, index int) object {
	t.Helper()
	a := c.post(t, "/v1/rewards", item)
	o := a.parse(t)
	o["index"], o["status"] = json.Number(fmt.Sprint(index)), json.Number(fmt.Sprint(a.status))
	if e, refused := o["error"].(object); refused {
		delete(e, "requestId")
	}
	return o
}

// likeAlone makes the results of two apps comparable: ids, times and apps differ.
func likeAlone(results []object) []object {
	for _, o := range results {
		if r, ok := o["reward"].(object); ok {
			delete(r, "id")
			delete(r, "appId")
			delete(r, "userId")
			delete(r, "createdAt")
		}
	}
	return results
}

// Additions, section 2: each item is judged as POST /v1/rewards would judge it alone, as if the
// items came one after the other: of two with one key the second is a replay or a conflict. A
// refused item changes nothing for the others. Paths are as for a single request.
func TestABatchIsJudgedLikeItsItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, twin := w.newApp(t), w.newApp(t)
	user, other := c.newUser(t), twin.newUser(t)
	c.post(t, "/v1/rewards", award(user, "idempotencyKey", `"recorded-before"`)).wantStatus(t, http.StatusCreated)
	twin.post(t, "/v1/rewards", award(other, "idempotencyKey", `"recorded-before"`)).wantStatus(t, http.StatusCreated)
	w.service.SetMinAward(10)
	items := func(user string) []string {
		with := func(changes ...string) string { return award(user, changes...) }
		return []string{
			with("idempotencyKey", `"first-in-batch"`, "amountUsd", "5.250", "metadata", `{"b": 1.0, "a": "\u0041"}`),
			with("idempotencyKey", `"first-in-batch"`, "amountUsd", "5.25", "metadata", `{"a":"A","b":1.0}`),
			with("idempotencyKey", `"first-in-batch"`, "amountUsd", "6"),
			with("idempotencyKey", `"recorded-before"`),
			with("idempotencyKey", `"recorded-before"`, "source", `"another"`),
			with("idempotencyKey", `"refused-first"`, "assetSymbol", `"NONE"`),
			with("idempotencyKey", `"refused-first"`, "assetSymbol", `"ko"`, "source", `"ö"`),
			with("idempotencyKey", `"refused-first"`, "assetSymbol", `"KO"`, "source", `"ö"`),
			with("userId", quote(unknownID), "idempotencyKey", `"unknown-user"`),
			with("idempotencyKey", `"too-small-item"`, "amountUsd", "0.000009"),
			with("idempotencyKey", `"short"`, "amountUsd", `"5"`, "source", `""`),
			with("amountUsd", "0", "idempotencyKey", `"invalid-amount"`), `{}`,
			with("idempotencyKey", `"large-metadata"`, "metadata", `{"a":`+quote(strings.Repeat("x", 16<<10))+`}`),
			with("idempotencyKey", `"unknown-member"`, "x", "1", "source", "null", "metadata", "null"),
			`{"userId":` + quote(user) + `,"\u0069dempotencyKey":"escaped-member","amountUsd":1e1,"assetSymbol":"AAPL"}`,
		}
	}
	var want []object
	for i, item := range items(other) {
		o := twin.alone(t, item, i)
		if _, refused := o["error"]; refused {
			want = append(want, o)
			continue
		}
		delete(o, "idempotentReplay")
		want = append(want, object{
			"index": o["index"], "status": o["status"], "reward": o["reward"], "idempotentReplay": o["status"] == json.Number("200"),
		})
	}
	a := c.post(t, batches, batchOf(items(user)...)).wantSummary(t, 4, 3, 9)
	if diff := cmp.Diff(likeAlone(want), likeAlone(a.results(t))); diff != "" {
		t.Errorf("(-alone +in a batch):\n%s", diff)
	}
	if got := c.get(t, "/v1/rewards").at(t, "rewards"); len(got.([]any)) != 5 { //nolint:forcetypeassert // the document says so
		t.Errorf("%d awards are listed, want 5", len(got.([]any))) //nolint:forcetypeassert // the same
	}
}

// An item that is no object is 400 with the path "".
func TestItemsThatAreNoObjects(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	a := c.post(t, batches, batchOf(`7`, `"x"`, `null`, `[]`, `true`, award(user), `[{"a":1}]`)).wantSummary(t, 1, 0, 6)
	for i, r := range a.results(t) {
		if i == 5 {
			continue
		}
		details, _ := json.Marshal(r["error"].(object)["details"]) //nolint:forcetypeassert // a refused item has an error
		if want := `[{"message":"the item must be a JSON object","path":""}]`; string(details) != want || r["status"] != json.Number("400") {
			t.Errorf("item %d: %v, want details %s", i, r, want)
		}
	}
}

// Additions, section 2: the JSON as a whole must be sound, else it is 400 and nothing is stored;
// so is a missing, empty or too long list.
func TestUnsoundBatchesStoreNothing(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	deep := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	many := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = award(user)
		}
		return batchOf(list...)
	}
	good := award(user)
	for name, body := range map[string]string{
		"empty": "", "a list": "[" + good + "]", "unclosed": `{"rewards":[` + good, "a tail": batchOf(good) + "x",
		"a comma":              `{"rewards":[` + good + `,]}`,
		"a broken item":        batchOf(good, `{"userId":}`),
		"a member twice":       batchOf(good, `{"a":1,"a":1}`),
		"twice by an escape":   batchOf(good, `{"a":1,"\u0061":1}`),
		"twice in metadata":    batchOf(award(user, "metadata", `{"a":1,"a":2}`)),
		"the list twice":       `{"rewards":[` + good + `],"rewards":[` + good + `]}`,
		"the list twice, once": `{"rewards":[` + good + `],"\u0072ewards":null}`,
		"invalid UTF-8":        batchOf(good, "{\"x\":\"\xff\"}"), "half a surrogate": batchOf(good, `{"x":"\ud800"}`),
		"too deep":        batchOf(award(user, "x", deep(62))),
		"unsound after":   `{"rewards":[` + good + `],"x":01}`,
		"broken beyond":   strings.Replace(many(1001), `]}`, `,{"a":1,"a":2}]}`, 1),
		"a leading comma": `{"rewards":[,` + good + `]}`,
	} {
		t.Log(name)
		c.post(t, batches, body).wantIssues(t, "")
	}
	for _, body := range []string{
		`{}`, `{"rewards":null}`, `{"rewards":[]}`, `{"rewards":{}}`, `{"rewards":7}`, `{"rewards":"x"}`, `{"Rewards":[` + good + `]}`, many(1001),
	} {
		a := c.post(t, batches, body)
		a.wantIssues(t, "rewards")
		if len(body) < 1000 {
			wantRefusedByDocument(t, a)
		}
	}
	c.get(t, "/v1/rewards").want(t, []any{}, "rewards")
	sound := c.world.newApp(t)
	user = sound.newUser(t)
	sound.post(t, batches, many(1000)).wantSummary(t, 1000, 0, 0)
	sound.post(t, batches, batchOf(award(user, "x", deep(61)))).wantSummary(t, 1, 0, 0)
	sound.post(t, batches, `{"x":{"rewards":1},"\u0072ewards":[`+award(user)+`],"y":null}`).wantSummary(t, 1, 0, 0)
}

// Additions, section 2: sending the whole batch again replays what was created, in order and
// byte for byte, and records what was refused before.
func TestABatchIsReplayed(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	items := make([]string, 500)
	for i := range items {
		items[i] = award(user, "amountUsd", fmt.Sprint(i+1), "metadata", `{"n":`+fmt.Sprint(i)+`}`)
	}
	items[77] = award(user, "assetSymbol", `"NONE"`)
	body := batchOf(items...)
	first := c.post(t, batches, body).wantSummary(t, 499, 0, 1).results(t)
	again := c.post(t, batches, body).wantSummary(t, 0, 499, 1).results(t)
	for i := range first {
		if diff := cmp.Diff(first[i]["reward"], again[i]["reward"]); diff != "" {
			t.Fatalf("item %d (-first +again):\n%s", i, diff)
		}
	}
	items[77] = strings.Replace(items[77], "NONE", "KO", 1)
	c.post(t, batches, batchOf(items...)).wantSummary(t, 1, 499, 0)
	c.post(t, "/v1/rewards", items[3]).wantStatus(t, http.StatusOK).want(t, first[3]["reward"], "reward")
}

// Concurrent equal batches: each award is created once, whatever batch creates it.
func TestConcurrentEqualBatches(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	items := make([]string, 300)
	for i := range items {
		items[i] = award(user)
	}
	done := make(chan answer, 8)
	for range cap(done) {
		go func() {
			for {
				a, err := c.try(t, request{method: http.MethodPost, target: batches, body: batchOf(items...)})
				if err != nil || a.status != http.StatusServiceUnavailable { // too many of the app at once
					done <- a
					return
				}
			}
		}()
	}
	created := make(map[int]int)
	for range cap(done) {
		a := <-done
		checkAnswer(t, a)
		for i, r := range a.wantStatus(t, http.StatusOK).results(t) {
			if r["status"] == json.Number("201") {
				created[i]++
			} else if r["status"] != json.Number("200") {
				t.Errorf("item %d: %v", i, r)
			}
		}
	}
	for i := range items {
		if created[i] != 1 {
			t.Errorf("item %d was created %d times", i, created[i])
		}
	}
}

// Additions, section 2: when the service can take none of it, the whole batch is 503 with
// Retry-After. An item that fails alone is 503 in its result, and its cause is in the log.
func TestBatchesThatFail(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	failing := func(failed string, err error) client {
		return c.over(t, c.world.store, itemRecorder{brokenRecorder{err}, failed})
	}
	body := batchOf(award(user, "idempotencyKey", `"fails-alone"`), award(user, "idempotencyKey", `"is-recorded"`), `{}`)
	for _, err := range []error{errFault, errUnavailable} {
		a := failing("fails-alone", err).post(t, batches, body).wantSummary(t, 1, 0, 2)
		a.want(t, json.Number("503"), "results", 0, "status").want(t, "internal_error", "results", 0, "error", "code")
		a.want(t, json.Number("201"), "results", 1, "status").want(t, json.Number("400"), "results", 2, "status")
		log := c.world.log.String()
		_, line, _ := strings.Cut(log, `"msg":"items of a batch failed","request_id":"`+a.header.Get("X-Request-Id"))
		if line, _, _ = strings.Cut(line, "\n"); !strings.Contains(line, "secret") {
			t.Errorf("the cause is not logged: %s", line)
		}
		if strings.Contains(string(a.body), "secret") {
			t.Errorf("the response has the cause: %s", a.body)
		}
	}
	whole := failing("", errUnavailable).post(t, batches, body).wantError(t, http.StatusServiceUnavailable, "internal_error", nil)
	if got := whole.header.Get("Retry-After"); got == "" {
		t.Error("a 503 without Retry-After")
	}
	failing("", errFault).post(t, batches, body).wantError(t, http.StatusInternalServerError, "internal_error", nil)
	c.broken(t, errUnavailable).post(t, batches, batchOf(`{}`)).wantSummary(t, 0, 0, 1) // needs no store
}

// Additions, section 2: a batch counts as its items toward the limit of requests per second.
func TestABatchCountsAsItsItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.newApp(t)
	user := c.newUser(t)
	w.limit(t, c, rewards.Limits{RequestsPerSecond: 5})
	items := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = award(user)
		}
		return batchOf(list...)
	}
	began := time.Now()
	c.post(t, batches, items(100)).wantSummary(t, 100, 0, 0) // the whole allowance, and 19 seconds more
	refused := c.post(t, "/v1/rewards", award(user)).wantError(t, http.StatusTooManyRequests, "forbidden", nil)
	got, err := strconv.Atoi(refused.header.Get("Retry-After"))
	if passed := int(time.Since(began).Seconds()); err != nil || got < 19-passed || got > 20 {
		t.Errorf("Retry-After is %d, %v after a batch of 100 at 5 per second and %d seconds", got, err, passed)
	}
	c.post(t, batches, items(1)).wantError(t, http.StatusTooManyRequests, "forbidden", nil)

	w.limit(t, c, rewards.Limits{RequestsPerSecond: 1000}) // a new allowance, enough for one of two at once
	w.clock.advance(time.Second)
	answers, late := make(chan answer), answer{}
	for began = time.Now(); late.status == 0 && time.Since(began) < time.Minute; {
		for range 2 {
			go func() {
				a, err := c.try(t, request{method: http.MethodPost, target: batches, body: items(1000)})
				if err != nil {
					t.Error(err)
				}
				answers <- a
			}()
		}
		for range 2 {
			if a := <-answers; a.status == http.StatusTooManyRequests {
				late = a
			}
		}
	}
	late.wantError(t, http.StatusTooManyRequests, "forbidden", nil)
	if got := late.header.Get("Retry-After"); got != "1" && got != "2" {
		t.Errorf("Retry-After is %q", got)
	}
}
