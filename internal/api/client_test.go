package api_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// client is an app of a world, with its key.
type client struct {
	world *world
	base  string // the server's address
	app   rewards.App
	key   string
	keyID rewards.KeyID
}

// newApp makes an app with a key.
func (w *world) newApp(t *testing.T) client {
	t.Helper()
	secret := newSecret(t)
	name := fmt.Sprintf("app %d", w.apps.Add(1))
	app, key, err := w.store.CreateApp(t.Context(), name, rewards.Key{Hash: rewards.HashKey(secret)})
	check(t, err)
	return client{world: w, base: w.server.URL, app: app, key: secret, keyID: key.ID}
}

func newSecret(tb testing.TB) string {
	tb.Helper()
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
	check(tb, err)
	return secret
}

// request is one request. The client adds its key unless the header has one.
type request struct {
	method string
	target string // path and query
	body   string
	header http.Header
	stream bool // send the body without its length
}

// answer is one complete response.
type answer struct {
	request request
	status  int
	header  http.Header
	body    []byte
}

func (c client) get(t *testing.T, target string) answer {
	t.Helper()
	return c.send(t, request{method: http.MethodGet, target: target})
}

func (c client) post(t *testing.T, target, body string) answer {
	t.Helper()
	return c.send(t, request{method: http.MethodPost, target: target, body: body})
}

// send sends a request and checks the response by checkAnswer.
func (c client) send(t *testing.T, r request) answer {
	t.Helper()
	a, err := c.try(t, r)
	check(t, err)
	checkAnswer(t, a)
	return a
}

// try sends a request. Unlike send, it may be called from any goroutine.
func (c client) try(t *testing.T, r request) (answer, error) {
	t.Helper()
	var body io.Reader = strings.NewReader(r.body)
	if r.stream {
		body = io.MultiReader(body)
	}
	sent, err := http.NewRequestWithContext(t.Context(), r.method, c.base+r.target, body)
	if err != nil {
		return answer{}, err
	}
	if r.method != http.MethodGet && r.body != "" {
		sent.Header.Set("Content-Type", "application/json")
	}
	sent.Header.Set("X-Api-Key", c.key)
	for name, values := range r.header {
		sent.Header[name] = values
	}
	got, err := c.world.server.Client().Do(sent)
	if err != nil {
		return answer{}, err
	}
	from := io.Reader(got.Body)
	if got.Header.Get("Content-Type") == "text/event-stream" { // which has no end: the beginning
		from = &beginning{got.Body}
	}
	read, err := io.ReadAll(from)
	if err != nil {
		return answer{}, err
	}
	return answer{request: r, status: got.StatusCode, header: got.Header, body: read}, got.Body.Close()
}

// beginning reads what a stream sends at once.
type beginning struct{ io.Reader }

// Read implements io.Reader.
func (b *beginning) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == nil && n < len(p) {
		b.Reader = strings.NewReader("")
	}
	return n, err
}

// wantStatus ends the test unless the response has the status.
func (a answer) wantStatus(t *testing.T, want int) answer {
	t.Helper()
	if a.status != want {
		t.Fatalf("%s %s %.300s\ngot status %d, want %d: %s", a.request.method, a.request.target, a.request.body,
			a.status, want, a.body)
	}
	return a
}

// object is a JSON object with its numbers as written.
type object = map[string]any

// parse reads the body with numbers as written.
func (a answer) parse(t *testing.T) object {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return o
}

// at returns the value at a path of member names and indexes, or nil.
func (a answer) at(t *testing.T, path ...any) any {
	t.Helper()
	var v any = a.parse(t)
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

// text returns the string at a path; without one it fails the test.
func (a answer) text(t *testing.T, path ...any) string {
	t.Helper()
	s, ok := a.at(t, path...).(string)
	if !ok {
		t.Fatalf("no string at %v: %s", path, a.body)
	}
	return s
}

// want compares the value at a path.
func (a answer) want(t *testing.T, want any, path ...any) answer {
	t.Helper()
	if diff := cmp.Diff(want, a.at(t, path...)); diff != "" {
		t.Errorf("at %v (-want +got):\n%s", path, diff)
	}
	return a
}

// wantError compares status, code and details of an error.
func (a answer) wantError(t *testing.T, status int, code string, details any) answer {
	t.Helper()
	a.wantStatus(t, status)
	a.want(t, code, "error", "code")
	a.want(t, details, "error", "details")
	return a
}

// wantIssues compares the paths of the issues of a 400.
func (a answer) wantIssues(t *testing.T, paths ...string) {
	t.Helper()
	a.wantStatus(t, http.StatusBadRequest).want(t, "bad_request", "error", "code")
	list, _ := a.at(t, "error", "details").([]any)
	got := make([]string, len(list))
	for i := range list {
		got[i] = a.text(t, "error", "details", i, "path")
		if a.text(t, "error", "details", i, "message") == "" {
			t.Errorf("issue %d has no message: %s", i, a.body)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(paths)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("%s: paths of the issues (-want +got):\n%s\n%s", a.request.body, diff, a.body)
	}
}

// raw returns the member at a path, byte for byte.
func (a answer) raw(t *testing.T, path ...string) string {
	t.Helper()
	v := json.RawMessage(a.body)
	for _, name := range path {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(v, &o); err != nil {
			t.Fatalf("%v: %s", err, a.body)
		}
		v = o[name]
	}
	return string(v)
}
