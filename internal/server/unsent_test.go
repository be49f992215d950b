package server_test

import (
	"log/slog"
	"net"
	"syscall"
	"testing"

	"stockrewards/internal/api"
	"stockrewards/internal/guard"
	shared "stockrewards/test/world"
)

// The listener of the API bounds what the kernel keeps for a client that does not read, through the listener that
// limits connections.
func TestUnsentBytesAreBounded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	shared.Check(t, err)
	spied := &spy{Listener: l}
	outer := api.Listener(guard.Limit(spied, guard.Limits{Connections: 10}, slog.New(slog.DiscardHandler)), api.Options{})
	client, err := net.Dial("tcp", l.Addr().String())
	shared.Check(t, err)
	accepted, err := outer.Accept()
	shared.Check(t, err)
	raw, err := spied.conn.SyscallConn()
	shared.Check(t, err)
	var size int
	shared.Check(t, raw.Control(func(fd uintptr) {
		size, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	}))
	shared.Check(t, err)
	if most := 2 * 256 << 10; size > most { // the kernel doubles it
		t.Errorf("the send buffer has %d bytes, at most %d are meant", size, most)
	}
	shared.Check(t, accepted.Close())
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
