package api_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Stored text that looks like net/http's own response comes back unchanged, wherever the
// server splits the response into writes.
func TestStoredTextIsNotRewritten(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, status := range []string{"HTTP/1.1 417 Expectation Failed", "HTTP/1.0 417 Expectation Failed"} {
		for offset := range len(status) {
			// With every offset, one of the repetitions begins a write.
			text := strings.Repeat("x", offset) + strings.Repeat(status, 10_000/len(status))
			metadata := `{"k":"` + text + `"}`
			a, err := c.try(t, request{method: http.MethodPost, target: "/v1/rewards", body: award(user, "metadata", metadata)})
			check(t, err)
			if got := a.wantStatus(t, http.StatusCreated).raw(t, "reward", "metadata"); got != metadata {
				t.Fatalf("offset %d of %q: the metadata came back changed", offset, status)
			}
		}
	}
}

// After valid requests on a connection, net/http's own response to a malformed one still
// has the usual form.
func TestAMalformedRequestBehindAGoodOne(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	good := "GET /v1/assets HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + c.key + "\r\n\r\n"
	for _, malformed := range []string{
		"GET /%zz HTTP/1.1", "GET / HTTP/1.1\r\nExpect: much", "GET / HTTP/1.0\r\nExpect: much",
		"POST / HTTP/1.1\r\nTransfer-Encoding: gzip",
	} {
		got := string(rawBytes(t, c, good+good+malformed+"\r\nHost: x\r\n\r\n"))
		if strings.Count(got, "HTTP/1.1 200 OK\r\n") != 2 ||
			strings.Count(got, `"message":"the request is malformed"`) != 1 || strings.Count(got, "HTTP/1.") != 3 {
			t.Errorf("%q behind two good requests: %s", malformed, got)
		}
	}
}

// A malformed request keeps its X-Request-Id, if that can be read and is sound. It never gets the one of a request that
// was sent together with it.
func TestAMalformedRequestKeepsItsID(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	good := "GET /v1/assets HTTP/1.1\r\nHost: x\r\nX-Request-Id: good\r\nX-Api-Key: " + c.key + "\r\n\r\n"
	for malformed, want := range map[string]string{
		"GET /%zz HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine-1\r\n":              "mine-1",
		"GET / HTTP/1.1\r\nx-request-id:mine-2 \r\nHost: x\r\nExpect: much\r\n": "mine-2",
		"GET / HTTP/1.1\nX-REQUEST-ID: \tmine-3\n":                              "mine-3",
		"GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\"b\r\nExpect: much\r\n":   "",
		"GET / HTTP/1.1\r\nX-Request-Id: " + strings.Repeat("x", 129) + "\r\n":  "",
		"GET / HTTP/1.1\r\nA: b\r\n\r\nX-Request-Id: behind\r\n":                "",
		"GET /%zz HTTP/1.1\r\nHost: x\r\n":                                      "",
	} {
		for before, sent := range map[string]string{"": "", "good": good} {
			got := string(rawBytes(t, c, sent+malformed+"\r\n"))
			_, last, _ := strings.Cut(got[strings.LastIndex(got, "HTTP/1.1 400 "):], "X-Request-Id: ")
			id, _, _ := strings.Cut(last, "\r\n")
			if alone := before == "" && want != ""; alone && id != want || !alone && len(id) != 36 || !strings.Contains(last, `"requestId":"`+id+`"`) {
				t.Errorf("%q behind %q: id %q, want %q", malformed, before, id, want)
			}
		}
	}
}

// dial sends bytes over a new connection.
func dial(t *testing.T, base, sent string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	check(t, err)
	_, err = io.WriteString(conn, sent)
	check(t, err)
	return conn
}

// rawBytes sends bytes over a new connection and returns the complete response.
func rawBytes(t *testing.T, c client, sent string) []byte {
	t.Helper()
	conn := dial(t, c.base, sent)
	defer func() { _ = conn.Close() }() // the responses were read
	got, err := io.ReadAll(conn)
	check(t, err)
	return got
}
