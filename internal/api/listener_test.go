package api_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Stored text that looks like an answer of net/http itself comes back as it was given,
// wherever in an answer the server cuts it into writes.
func TestStoredTextIsNoAnswerOfTheServer(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	user := c.newUser(t)
	for _, status := range []string{"HTTP/1.1 417 Expectation Failed", "HTTP/1.0 417 Expectation Failed"} {
		for offset := range len(status) {
			// One text after another: one of them begins where a write begins.
			text := strings.Repeat("x", offset) + strings.Repeat(status, 10_000/len(status))
			metadata := `{"k":"` + text + `"}`
			given := c.post(t, "/v1/rewards", award(user, "metadata", metadata)).wantStatus(t, http.StatusCreated)
			read := c.get(t, "/v1/rewards/"+given.text(t, "reward", "id")).wantStatus(t, http.StatusOK)
			if got := read.raw(t, "reward", "metadata"); got != metadata {
				t.Fatalf("offset %d of %q: the metadata came back changed", offset, status)
			}
		}
	}
}

// A connection that answered a request before still gives net/http's own answers the
// form of all others.
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

// rawBytes sends bytes over a connection of their own and returns everything that
// comes back.
func rawBytes(t *testing.T, c client, text string) []byte {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(c.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // the answers were read
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
