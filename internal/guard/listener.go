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
	Connections int // at once
	PerAddress  int // at once from one address beyond this machine; 0: no limit of its own
}

// Limit closes connections beyond the limits as soon as they are made, so that those
// within them are served, and logs that as well as errors of accepting: at most one line
// of each a second.
func Limit(l net.Listener, limits Limits, log *slog.Logger) net.Listener {
	return &limited{
		Listener: l, limits: limits, log: log,
		from: make(map[netip.Addr]int), logged: make(map[string]time.Time),
	}
}

type limited struct {
	net.Listener
	limits Limits
	log    *slog.Logger

	mu     sync.Mutex
	open   int
	from   map[netip.Addr]int // those that are limited
	logged map[string]time.Time
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.warn("a connection cannot be accepted", slog.Any("error", err))
			}
			return nil, err
		}
		address := l.addressOf(c)
		if l.take(address) {
			return &counted{Conn: c, leave: sync.OnceFunc(func() { l.leave(address) })}, nil
		}
		l.warn("a connection was refused: there are too many", slog.Int("limit", l.limits.Connections),
			slog.Int("limit_per_address", l.limits.PerAddress), slog.String("address", c.RemoteAddr().String()))
		_ = c.Close() // nothing was said on it
	}
}

// addressOf is the address to be counted; the zero address when it is not.
func (l *limited) addressOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok || l.limits.PerAddress == 0 || tcp.IP.IsLoopback() {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
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

// warn logs a line, unless one of its kind was logged within the last second.
func (l *limited) warn(message string, attrs ...slog.Attr) {
	now := time.Now()
	l.mu.Lock()
	soon := now.Sub(l.logged[message]) < time.Second
	if !soon {
		l.logged[message] = now
	}
	l.mu.Unlock()
	if !soon {
		ctx := context.Background()                            //nolint:forbidigo // a listener has none
		l.log.LogAttrs(ctx, slog.LevelWarn, message, attrs...) //nolint:sloglint // its callers give constants
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

// CloseWrite lets a server end its side and still read the other.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
