package guard_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"stockrewards/internal/guard"
)

// listener accepts the connections that a test sends it.
type listener struct {
	conns  chan net.Conn
	errors chan error
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case err := <-l.errors:
		return nil, err
	}
}

// Close implements net.Listener.
func (l *listener) Close() error { return nil }

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection from an address.
type from struct {
	net.Conn
	address string
}

// RemoteAddr implements net.Conn.
func (c from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.address), Port: 1} }

// world is a limited listener and its log.
type world struct {
	t       *testing.T
	inner   *listener
	limited net.Listener
	mu      sync.Mutex
	log     bytes.Buffer
}

// Write implements io.Writer.
func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func (w *world) logged(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.log.String(), text)
}

func newWorld(t *testing.T, limits guard.Limits) *world {
	w := &world{t: t, inner: &listener{conns: make(chan net.Conn), errors: make(chan error)}}
	w.limited = guard.Limit(w.inner, limits, slog.New(slog.NewTextHandler(w, nil)))
	return w
}

// connect opens a connection from an address; nil when it is refused.
func (w *world) connect(address string) net.Conn {
	w.t.Helper()
	ours, theirs := net.Pipe()
	w.t.Cleanup(func() { _ = theirs.Close() })
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := w.limited.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	w.inner.conns <- from{ours, address}
	refused := make(chan struct{})
	go func() {
		if _, err := theirs.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			close(refused)
		}
	}()
	select {
	case c := <-accepted:
		return c
	case <-refused:
		w.inner.errors <- net.ErrClosed // ends Accept
		return nil
	}
}

// Connections beyond the limit are refused; closing one admits the next.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, guard.Limits{Connections: 3, PerAddress: 2})
		first, second, other := w.connect("192.0.2.1"), w.connect("192.0.2.1"), w.connect("127.0.0.1")
		if first == nil || second == nil || other == nil {
			t.Fatal("a connection within the limits was refused")
		}
		if w.connect("127.0.0.1") != nil {
			t.Error("a fourth connection was accepted")
		}
		_ = other.Close()
		_ = other.Close() // the second call has no effect
		if w.connect("192.0.2.1") != nil || w.connect("::ffff:192.0.2.1") != nil {
			t.Error("a third connection of one address was accepted")
		}
		if other = w.connect("192.0.2.2"); other == nil {
			t.Error("another address was refused")
		}
		if w.connect("192.0.2.3") != nil {
			t.Error("closing one twice admitted two")
		}
		_, _ = first.Close(), second.Close()
		for range 2 {
			if w.connect("127.0.0.1") == nil {
				t.Error("closing a connection admitted no other")
			}
		}
		if n := w.logged("too many"); n != 1 {
			t.Errorf("%d lines about refused connections within a second", n)
		}
	})
}

// An IPv6 network of /64 counts as one address: one customer usually has all of it.
func TestANetworkCountsAsOneAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, guard.Limits{Connections: 10, PerAddress: 2})
	if w.connect("2001:db8:1:2::1") == nil || w.connect("2001:db8:1:2::2") == nil {
		t.Fatal("a connection within the limits was refused")
	}
	if w.connect("2001:db8:1:2:ffff::3") != nil {
		t.Error("a third connection of one network was accepted")
	}
	if w.connect("2001:db8:1:3::1") == nil || w.connect("192.0.2.1") == nil || w.connect("192.0.2.2") == nil {
		t.Error("another network or address was refused")
	}
}

// Failures to accept are logged, at most one per second.
func TestFailuresToAcceptAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, guard.Limits{Connections: 1})
		for range 5 {
			go func() { w.inner.errors <- errors.New("too many open files") }()
			if _, err := w.limited.Accept(); err == nil {
				t.Fatal("no error")
			}
		}
		go func() { w.inner.errors <- net.ErrClosed }()
		_, _ = w.limited.Accept()
		if n := w.logged("too many open files"); n != 1 || w.logged("level=WARN") != 1 || w.logged("closed") != 0 {
			t.Errorf("logged:\n%s", w.log.String())
		}
	})
}
