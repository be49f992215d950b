package server_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stockrewards/internal/api"
	"stockrewards/internal/guard"
	"stockrewards/internal/server"
	shared "stockrewards/test/world"
)

// The listener of the API bounds what the kernel keeps for a client that does not read, through the listener that
// limits connections. Nothing is kept after such a client was cut off, and none for longer than 30 seconds.
func TestUnsentBytesAreBounded(t *testing.T) {
	t.Parallel()
	l, err := server.Listen(t.Context(), "--listen", "127.0.0.1:0")
	shared.Check(t, err)
	spied := &spy{Listener: l}
	outer := api.Listener(guard.Limit(spied, guard.Limits{Connections: 10}, slog.New(slog.DiscardHandler)), api.Options{})
	client, err := net.Dial("tcp", l.Addr().String())
	shared.Check(t, err)
	accepted, err := outer.Accept()
	shared.Check(t, err)
	raw, err := spied.conn.SyscallConn()
	shared.Check(t, err)
	option := func(level, name int) (value int) {
		shared.Check(t, raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), level, name) }))
		shared.Check(t, err)
		return value
	}
	if most := 2 * 256 << 10; option(syscall.SOL_SOCKET, syscall.SO_SNDBUF) > most { // the kernel doubles it
		t.Errorf("the send buffer has %d bytes, at most %d are meant", option(syscall.SOL_SOCKET, syscall.SO_SNDBUF), most)
	}
	if got := option(syscall.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); got != 30_000 {
		t.Errorf("what is not read is kept for %d ms, want 30000", got)
	}
	shared.Check(t, accepted.SetWriteDeadline(time.Now().Add(-time.Second)))
	if _, err := accepted.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a write after the deadline: %v", err)
	}
	shared.Check(t, accepted.Close())
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a client that was cut off reads %v, want %v", err, syscall.ECONNRESET)
	}
	shared.Check(t, client.Close())
	shared.Check(t, outer.Close())
}

// spy keeps the connection that was accepted last.
type spy struct {
	net.Listener

	conn *net.TCPConn
}

func (s *spy) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	s.conn, _ = c.(*net.TCPConn)
	return c, err
}
