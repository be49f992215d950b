package guard

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits bound the connections of a listener.
type Limits struct {
	Connections int // concurrent
	PerAddress  int // concurrent from one remote address or IPv6 network of /64; 0: no separate limit
}

// Limit closes connections beyond the limits as soon as they are accepted. It logs these
// and failures to accept: at most one line of each kind per second.
func Limit(l net.Listener, limits Limits, log *slog.Logger) net.Listener {
	return &limited{
		Listener: l, limits: limits, log: log,
		from: make(map[netip.Addr]int), logged: make(map[string]time.Time),
	}
}

// ipv6Network is the length of the prefix of an IPv6 network that counts as one address.
const ipv6Network = 64

type limited struct {
	net.Listener
	limits Limits
	log    *slog.Logger

	mu     sync.Mutex
	open   int
	from   map[netip.Addr]int   // open connections by remote address
	logged map[string]time.Time // the last line of each kind
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.warn("cannot accept a connection", slog.Any("error", err))
			}
			return nil, err
		}
		address := l.addressOf(c)
		if l.take(address) {
			return &counted{Conn: c, leave: sync.OnceFunc(func() { l.leave(address) })}, nil
		}
		l.warn("too many connections; one was refused", slog.Int("limit", l.limits.Connections),
			slog.Int("limit_per_address", l.limits.PerAddress), slog.String("address", c.RemoteAddr().String()))
		_ = c.Close() // nothing was sent on it
	}
}

// addressOf is the address to count, with IPv6 that of a network of /64, which one customer usually has. The zero
// address is not counted.
func (l *limited) addressOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok || l.limits.PerAddress == 0 || tcp.IP.IsLoopback() {
		return netip.Addr{}
	}
	address := tcp.AddrPort().Addr().Unmap()
	if network, err := address.Prefix(ipv6Network); address.Is6() && err == nil {
		return network.Addr()
	}
	return address
}

func (l *limited) take(address netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.limits.Connections || address.IsValid() && l.from[address] >= l.limits.PerAddress {
		return false
	}
	l.open++
	if address.IsValid() {
		l.from[address]++
	}
	return true
}

func (l *limited) leave(address netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if !address.IsValid() {
		return
	}
	l.from[address]--
	if l.from[address] == 0 {
		delete(l.from, address)
	}
}

// warn logs a line, unless the same message was logged within the last second.
func (l *limited) warn(message string, attrs ...slog.Attr) {
	now := time.Now()
	l.mu.Lock()
	soon := now.Sub(l.logged[message]) < time.Second
	if !soon {
		l.logged[message] = now
	}
	l.mu.Unlock()
	if !soon {
		ctx := context.Background()                            //nolint:forbidigo // Accept has no context
		l.log.LogAttrs(ctx, slog.LevelWarn, message, attrs...) //nolint:sloglint // callers pass constants
	}
}

// counted is a connection within the limits.
type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}

// NetConn is the connection below, as of tls.Conn.
func (c *counted) NetConn() net.Conn { return c.Conn }

// CloseWrite lets a server end its side and still read the other.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
