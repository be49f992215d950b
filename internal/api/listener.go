package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// Listener rewrites the responses that net/http itself sends to requests too malformed
// for any handler ("GET /%zz", headers beyond the limit). They get an x-request-id and
// the usual error body, and are logged and observed. With TLS it wraps the TLS listener.
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
	return &conn{Conn: c, options: l.options, expiry: expiry{opened: time.Now()}}, nil
}

// maxUnsent bounds the bytes that the kernel buffers for a client that does not read.
// All connections of a machine share this memory; when it is short, all become slow.
const maxUnsent = 256 << 10

// boundUnsent sets the send buffer of a connection.
func boundUnsent(c net.Conn) {
	if tcp, ok := lowest(c).(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = tcp.SetWriteBuffer(maxUnsent) // only a limit: the connection works without it
	}
}

// dropUnsent has the kernel throw away what it has buffered for the client when the connection is closed. It would keep
// that for minutes, and the connection would not count any more.
func dropUnsent(c net.Conn) {
	if tcp, ok := lowest(c).(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
}

// lowest is the connection below TLS and other wrappers.
func lowest(c net.Conn) net.Conn {
	for {
		below, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = below.NetConn()
	}
}

// conn is one connection to a client.
type conn struct {
	net.Conn
	options Options
	// handled reports that a handler serves the current request, so that writes pass unchanged.
	handled atomic.Bool
	// received is what was read last while no handler answered. Only net/http's goroutine of the connection uses it.
	received []byte
	// plain is the connection below TLS when the client began with a request without TLS; else nil.
	plain net.Conn
	// persists reports that the current request goes on when its client disconnects.
	persists atomic.Bool
	expiry
}

// connKey is the context key of a request's connection.
type connKey struct{}

// Front makes h the server's handler. The Listener passes its responses unchanged,
// whatever they contain, and ends requests that take longer than maxTime.
func Front(server *http.Server, h http.Handler) {
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		c.handled.Store(true)
		c.received = nil
		c.persists.Store(r.Body != http.NoBody)
		c.begin()
		h.ServeHTTP(w, r)
		c.end()
		c.persists.Store(false)
	})
}

// withConn adds the connection to the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*conn); ok {
		return context.WithValue(c.watch(ctx), connKey{}, c)
	}
	return ctx
}

// onState runs when the connection changes state; idle means between requests.
func onState(c net.Conn, state http.ConnState) {
	own, ok := c.(*conn)
	switch {
	case ok && state == http.StateIdle:
		own.handled.Store(false)
	case ok && state == http.StateClosed:
		own.timer.Stop()
	}
}

// CloseWrite lets net/http close its side and go on reading.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Read implements net.Conn. As soon as a handler has read the body of its request, net/http reads one byte beside it,
// only to notice that the client disconnects. Such a request, a new reward for example, goes on anyway, and this read
// took about a tenth of its processor time. So it ends with nothing read, which net/http takes for a client that is
// still there. What the client sent meanwhile is read with the next request. A request without a body ends with its
// client.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.persists.Load() {
		return 0, nil
	}
	n, err := c.Conn.Read(b)
	if len(b) > 1 && !c.handled.Load() { // the read of one byte is in another goroutine, beside the handler's beginning
		c.received, c.plain = b[:n], withoutTLS(err)
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if c.handled.Load() {
		return c.send(b)
	}
	status, found := ownStatus(b)
	if !found {
		return c.send(b)
	}
	id, why := requestID(givenID(c.received)), unreadable(string(status))
	if c.plain != nil {
		why = "it came without TLS; its address must begin with https://"
	}
	if _, err := c.send(malformed(why, id)); err != nil {
		return 0, err // broken, or the client spoke neither TLS nor HTTP: there was no response
	}
	if c.plain != nil {
		awaitEnd(c.plain)
	}
	client := hostOf(c.RemoteAddr().String())
	c.options.logRequest(&requestLog{at: time.Now(), id: id, status: http.StatusBadRequest, address: client})
	return len(b), nil
}

// send writes to the client. When it does not read, nothing of what it has not got is kept for it.
func (c *conn) send(b []byte) (int, error) {
	to := c.Conn
	if c.plain != nil {
		to = c.plain
	}
	n, err := to.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		dropUnsent(c.Conn)
	}
	return n, err
}

// unreadable says why net/http could not read a request that it answered with a status, such as
// "400 Bad Request: malformed Host header".
func unreadable(status string) string {
	if _, why, found := strings.Cut(status, ": "); found {
		return why
	}
	switch code, _, _ := strings.Cut(status, " "); code {
	case "417":
		return "the only expectation that is supported is 100-continue"
	case "431":
		return "the headers are too large"
	case "501":
		return "the only transfer encoding that is supported is chunked"
	default:
		return "the address, a header or the end of a line cannot be read"
	}
}

// ownStatus returns the status of a response that net/http made itself. It writes each
// in one piece, in the client's version of HTTP.
func ownStatus(b []byte) (status []byte, found bool) {
	line, _, found := bytes.Cut(b, []byte("\r\n"))
	version, status, separated := bytes.Cut(line, []byte(" "))
	return status, found && separated && bytes.HasPrefix(version, []byte("HTTP/1."))
}

// givenID returns the X-Request-Id of a request that net/http could not read, as far as it is in the bytes that were
// read last; "" for none.
func givenID(received []byte) string {
	for line := range bytes.Lines(received) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if line = bytes.TrimSuffix(line, []byte("\r")); !whole || len(line) == 0 {
			return "" // the end of the headers
		}
		name, value, _ := strings.Cut(string(line), ":")
		if strings.EqualFold(name, "X-Request-Id") {
			return strings.Trim(value, " \t")
		}
	}
	return ""
}

// withoutTLS returns the connection below TLS when its first bytes are those of an HTTP request; nil when they are not,
// or when the error is another one.
func withoutTLS(err error) net.Conn {
	if err == nil {
		return nil // of nearly every read, before anything is allocated
	}
	var record tls.RecordHeaderError
	if !errors.As(err, &record) {
		return nil
	}
	switch string(record.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return record.Conn
	default:
		return nil
	}
}

// awaitEnd reads what else a client sends that has got its answer, for a second: otherwise the end of the connection
// could take the answer from it.
func awaitEnd(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the connection ends in any case
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, c, maxHeaderBytes)
}

// malformed is the response to a request that could not be read: always 400, with why in the details.
func malformed(why, id string) []byte {
	body := appendError(nil, "bad_request", &rewards.Error{
		Message: "the request is malformed",
		Details: []rewards.Issue{{Message: why}},
	}, id)
	return []byte("HTTP/1.1 400 Bad Request" +
		"\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff" +
		"\r\nX-Request-Id: " + id + "\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) +
		"\r\n\r\n" + string(body))
}
