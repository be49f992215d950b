package api

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"stockrewards/internal/rewards"
)

// Listener gives the answers that net/http itself makes of requests too malformed
// for any handler ("GET /%zz", headers beyond the limit) the form of all others: an
// x-request-id and the error body, logs and observes them. Over TLS it belongs
// outside of the encryption.
func Listener(l net.Listener, o Options) net.Listener { return listener{l, o} }

type listener struct {
	net.Listener
	options Options
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c, l.options}, nil
}

type conn struct {
	net.Conn
	options Options
}

const (
	statusLine = "HTTP/1.1 "
	// plainHeaders are all headers of net/http's own answers; no handler of ours
	// writes them.
	plainHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	// expectation refuses an Expect header other than 100-continue; no handler of ours
	// answers so.
	expectation = "417 Expectation Failed"
	// plainHead bounds where they stand.
	plainHead = 512
)

// CloseWrite lets net/http end its side of a connection and still read the other.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	head, found := ownAnswer(b)
	if !found {
		return c.Conn.Write(b)
	}
	id := uuid.NewString()
	if _, err := c.Conn.Write(malformed(head, id)); err != nil {
		return 0, err // the connection broke, or never spoke TLS: nothing was answered
	}
	ctx := context.Background() //nolint:forbidigo // a connection has none
	c.options.tell(ctx, told{id: id, status: http.StatusBadRequest})
	return len(b), nil
}

// ownAnswer finds the status of an answer that net/http made itself.
func ownAnswer(b []byte) (status []byte, found bool) {
	rest, found := bytes.CutPrefix(b[:min(len(b), plainHead)], []byte(statusLine))
	if !found {
		return nil, false
	}
	if bytes.HasPrefix(rest, []byte(expectation)) { // it has no body
		return []byte(expectation), true
	}
	status, _, found = bytes.Cut(rest, []byte(plainHeaders))
	return status, found
}

// malformed is the answer to a request that net/http could not read, whatever it
// says of it: 400.
func malformed(status []byte, id string) []byte {
	body := appendError(nil, "bad_request", &rewards.Error{
		Message: "the request is malformed",
		Details: []rewards.Issue{{Message: string(status)}},
	}, id)
	return []byte(statusLine + "400 Bad Request" +
		"\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff" +
		"\r\nX-Request-Id: " + id + "\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) +
		"\r\n\r\n" + string(body))
}
