package api

import (
	"bytes"
	"net"
	"strconv"

	"github.com/google/uuid"

	"stockrewards/internal/rewards"
)

// Listener gives the answers that net/http itself makes of requests too malformed
// for any handler ("GET /%zz", headers beyond the limit) the form of all others: an
// x-request-id and the error body. Over TLS it belongs outside of the encryption.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

type conn struct{ net.Conn }

const (
	statusLine = "HTTP/1.1 "
	// plainHeaders are all headers of net/http's own answers; no handler of ours
	// writes them.
	plainHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	// plainHead bounds where they stand.
	plainHead = 512
)

// CloseWrite lets net/http end its side of a connection and still read the other.
func (c conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements net.Conn.
func (c conn) Write(b []byte) (int, error) {
	head, _, plain := bytes.Cut(b[:min(len(b), plainHead)], []byte(plainHeaders))
	if !plain || !bytes.HasPrefix(head, []byte(statusLine)) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(malformed(head[len(statusLine):])); err != nil {
		return 0, err
	}
	return len(b), nil
}

// malformed is the answer to a request that net/http could not read, whatever it
// says of it: 400.
func malformed(status []byte) []byte {
	id := uuid.NewString()
	body := appendError(nil, "bad_request", &rewards.Error{
		Message: "the request is malformed",
		Details: []rewards.Issue{{Message: string(status)}},
	}, id)
	return []byte(statusLine + "400 Bad Request" +
		"\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff" +
		"\r\nX-Request-Id: " + id + "\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) +
		"\r\n\r\n" + string(body))
}
