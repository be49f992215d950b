package api_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const unknownID = "01890000-0000-7000-8000-000000000000"

// Decisions, requests in general: an unknown path is 404 not_found, even if only a slash
// differs. There are no redirects, and no key is needed.
func TestUnknownPathsAreNotFound(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	stranger := c
	stranger.key = ""
	user := c.newUser(t)
	for _, target := range []string{
		"", "/", "/v1", "/v1/", "/v2/users", "/users", "//v1/assets", "/v1//assets", "/v1/assets/", "/v1/assets//",
		"/v1/assets/x", "/v1/users/", "/v1/users//portfolio", "/v1/users/" + user + "/",
		"/v1/users/" + user + "//portfolio", "/v1/users/" + user + "/portfolio/", "/v1/users/" + user + "/rewards",
		"/v1/rewards/", "/v1/rewards/" + unknownID + "/", "/v1/%2Fassets", "/v1%2Fassets", "/v1/assets%2F",
		"/v1/users/%2F", "/v1/users/..%2Fassets", "/v1/./assets", "/v1/../v1/assets", "/v1/users/../assets",
		"/v1/%2E/assets", "/v1/%2E%2E/v1/assets", "/V1/assets", "/v1/Assets", "/v1/assets;", "/v1/assets.json",
		"/openapi.json/", "/openapi.yaml", "/v1/openapi.json", "/favicon.ico", "/v1/assets?/x", "/healthz",
	} {
		if target == "/v1/assets?/x" { // the query is not part of the path
			c.get(t, target).wantStatus(t, http.StatusOK)
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			for _, by := range []client{c, stranger} {
				a := by.send(t, request{method: method, target: target, body: `{}`})
				a.wantError(t, http.StatusNotFound, "not_found", nil)
				if location := a.header.Get("Location"); location != "" {
					t.Errorf("%s %s redirects to %q", method, target, location)
				}
			}
		}
	}
	head := c.send(t, request{method: http.MethodHead, target: "/v1//assets"}).wantStatus(t, http.StatusNotFound)
	if len(head.body) > 0 {
		t.Errorf("HEAD has a body: %s", head.body)
	}
}

// Needless escapes in a path do not matter.
func TestEscapedLettersInPaths(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	c.get(t, "/v1/%61ssets").wantStatus(t, http.StatusOK)
	c.get(t, "/v1/users/"+strings.Replace(c.newUser(t), "-", "%2D", 1)).wantStatus(t, http.StatusOK)
	c.get(t, "/v1/users/a%2Fb").wantIssues(t, "userId")
}

// Specification, section 1: every response has an x-request-id, even one to a request
// that no ordinary client sends.
func TestUnusualRequestLines(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	host := strings.TrimPrefix(c.base, "http://")
	for line, status := range map[string]int{
		"OPTIONS * HTTP/1.1":                                          http.StatusNotFound,
		"GET http://" + host + "/v1/assets HTTP/1.1":                  http.StatusOK,
		"GET http://" + host + " HTTP/1.1":                            http.StatusNotFound,
		"GET /v1/assets?limit=%zz HTTP/1.1":                           http.StatusOK,
		"GET /v1/users?limit=%zz HTTP/1.1":                            http.StatusBadRequest,
		"GET /v1/users?a=b;c=d HTTP/1.1":                              http.StatusBadRequest,
		"GET /v1/assets HTTP/1.0":                                     http.StatusOK,
		"CONNECT /v1/assets HTTP/1.1":                                 http.StatusMethodNotAllowed,
		"CONNECT /v1//assets HTTP/1.1":                                http.StatusNotFound,
		"CONNECT " + host + " HTTP/1.1":                               http.StatusNotFound,
		"GET /v1/users/" + unknownID + "/ HTTP/1.1":                   http.StatusNotFound,
		"GET /v1/assets#fragment HTTP/1.1":                            http.StatusNotFound,
		"get /v1/assets HTTP/1.1":                                     http.StatusMethodNotAllowed,
		"POST /v1/users HTTP/1.1\r\nContent-Length: 0":                http.StatusBadRequest,
		"POST /v1/rewards HTTP/1.1":                                   http.StatusBadRequest,
		"POST /v1/users HTTP/1.1\r\nTransfer-Encoding: chunked":       http.StatusBadRequest, // {} is not a chunk
		"GET /v1/assets HTTP/1.1\r\nContent-Length: 2":                http.StatusOK,
		"GET /v1/users/%zz HTTP/1.1":                                  http.StatusBadRequest,
		"GET v1/users HTTP/1.1":                                       http.StatusBadRequest,
		"GET /v1/users\x01 HTTP/1.1":                                  http.StatusBadRequest,
		"GET /v1/users HTTP/3.0":                                      http.StatusBadRequest,
		"GET /v1/users HTTP/1.1\r\nTransfer-Encoding: gzip":           http.StatusBadRequest,
		"GET /v1/users HTTP/1.1\r\nX: " + strings.Repeat("x", 32<<10): http.StatusBadRequest,
		"GET /v1/users HTTP/1.1\r\nExpect: much":                      http.StatusBadRequest,
		// A client that waits for 100 Continue gets the refusal instead.
		"POST /v1/nothing HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue":               http.StatusNotFound,
		"POST /v1/users HTTP/1.1\r\nContent-Length: 70000\r\nExpect: 100-continue":             http.StatusRequestEntityTooLarge,
		"POST /v1/users HTTP/1.1\r\nX-Api-Key: a\r\nContent-Length: 9\r\nExpect: 100-continue": http.StatusUnauthorized,
		"PRI * HTTP/2.0": http.StatusNotFound,
		"GET /v1/assets HTTP/1.1\r\nX-Api-Key: another":  http.StatusUnauthorized,
		"GET /v1/assets HTTP/1.1\r\nx-request-id: a b":   http.StatusOK,
		"GET /v1/assets HTTP/1.1\r\nAccept: text/html":   http.StatusOK,
		"GET /v1/assets HTTP/1.1\r\nAccept-Encoding: br": http.StatusOK,
	} {
		t.Run(line[:min(len(line), 60)], func(t *testing.T) {
			t.Parallel()
			a := raw(t, c, line)
			checkAnswer(t, a)
			a.wantStatus(t, status)
		})
	}
}

// raw sends a request line, with the other headers, over a new connection.
func raw(t *testing.T, c client, line string) answer {
	t.Helper()
	host := strings.TrimPrefix(c.base, "http://")
	conn := dial(t, c.base, line+"\r\nHost: "+host+"\r\nX-Api-Key: "+c.key+"\r\nConnection: close\r\n\r\n{}\r\n")
	defer func() { _ = conn.Close() }() // the response was read
	method, rest, _ := strings.Cut(line, " ")
	target, _, _ := strings.Cut(rest, " ")
	got, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	check(t, err)
	read, err := io.ReadAll(got.Body)
	check(t, errors.Join(err, got.Body.Close()))
	return answer{request: request{method: method, target: target}, status: got.StatusCode, header: got.Header, body: read}
}

// Specification, section 1; decisions, requests in general: a client's id of 1 to 128
// harmless characters is kept; anything else is replaced by a new UUID.
func TestRequestID(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	targets := map[string]int{"/v1/assets": http.StatusOK, "/nowhere": http.StatusNotFound}
	for target, status := range targets {
		for _, id := range []string{"a", "0", "-", "_", ".", "AZaz09._-", strings.Repeat("x", 128)} {
			a := c.send(t, request{method: http.MethodGet, target: target, header: http.Header{"X-Request-Id": {id}}})
			a.wantStatus(t, status)
			if diff := cmp.Diff(id, a.header.Get("X-Request-Id")); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", target, diff)
			}
		}
		seen := make(map[string]bool)
		for _, id := range []string{
			"", " ", "a b", "a,b", "a/b", "a+b", "ä", "😀", "\"a\"", "a\tb", "<a>", "a=b", strings.Repeat("x", 129),
			strings.Repeat("x", 4096), "a:b", "{a}", "%41", "a\\b", "a@b", "~",
		} {
			a := c.send(t, request{method: http.MethodGet, target: target, header: http.Header{"X-Request-Id": {id}}})
			got := a.wantStatus(t, status).header.Get("X-Request-Id")
			if !uuidForm.MatchString(got) || seen[got] {
				t.Errorf("%s: %q became %q, want a new UUID", target, id, got)
			}
			seen[got] = true
		}
	}
}
