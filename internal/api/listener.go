package api

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

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
	boundUnsent(c)
	return &conn{Conn: c, options: l.options}, nil
}

// maxUnsent bounds what the kernel keeps of answers that a client does not read, in
// bytes. All connections of a machine share this memory: when it is short, all become slow.
const maxUnsent = 256 << 10

// boundUnsent bounds the buffer of a connection, also below TLS.
func boundUnsent(c net.Conn) {
	if below, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = below.NetConn()
	}
	if tcp, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = tcp.SetWriteBuffer(maxUnsent) // it works without, too
	}
}

// conn is one connection to a client.
type conn struct {
	net.Conn
	options Options
	// handled: a handler has begun to answer the current request, so whatever is
	// written is its answer and passes unchanged.
	handled atomic.Bool
}

// connKey finds a request's connection in its context.
type connKey struct{}

// Front puts a handler in front of the server. Its answers pass the Listener
// unchanged, whatever text is in them.
func Front(server *http.Server, h http.Handler) {
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.handled.Store(true)
		}
		h.ServeHTTP(w, r)
	})
}

// withConn puts the connection into the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// betweenRequests notes that an answer has left and the next request has not come.
func betweenRequests(c net.Conn, state http.ConnState) {
	if c, ok := c.(*conn); ok && state == http.StateIdle {
		c.handled.Store(false)
	}
}

// CloseWrite lets net/http end its side of a connection and still read the other.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if c.handled.Load() {
		return c.Conn.Write(b)
	}
	status, found := ownStatus(b)
	if !found {
		return c.Conn.Write(b)
	}
	id := uuid.NewString()
	if _, err := c.Conn.Write(malformed(status, id)); err != nil {
		return 0, err // the connection broke, or never spoke TLS: nothing was answered
	}
	ctx := context.Background() //nolint:forbidigo // a connection has none
	c.options.tell(ctx, told{id: id, status: http.StatusBadRequest, from: hostOf(c.RemoteAddr().String())})
	return len(b), nil
}

// ownStatus is the status of an answer that net/http made itself: it writes each
// in one piece, in the version of HTTP that the client speaks.
func ownStatus(b []byte) (status []byte, found bool) {
	line, _, found := bytes.Cut(b, []byte("\r\n"))
	version, status, separated := bytes.Cut(line, []byte(" "))
	return status, found && separated && bytes.HasPrefix(version, []byte("HTTP/1."))
}

// malformed is the answer to a request that net/http could not read, whatever it
// says of it: 400.
func malformed(status []byte, id string) []byte {
	body := appendError(nil, "bad_request", &rewards.Error{
		Message: "the request is malformed",
		Details: []rewards.Issue{{Message: string(status)}},
	}, id)
	return []byte("HTTP/1.1 400 Bad Request" +
		"\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff" +
		"\r\nX-Request-Id: " + id + "\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) +
		"\r\n\r\n" + string(body))
}
