package pgtest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Side is one end of a connection to PostgreSQL.
type Side int

// The sides.
const (
	Client Side = iota + 1
	Server
)

// Cut says where a proxy cuts the connection: at the N-th message (from 1) that a
// side sends. The other side gets the message when After is set; whatever would
// follow gets lost. The zero value cuts nowhere.
type Cut struct {
	From  Side
	N     int
	After bool
}

// Proxy passes the messages between clients and a server on, and counts them.
type Proxy struct {
	Port int

	server  string
	mu      sync.Mutex
	cut     Cut
	counts  map[Side]int // since Arm
	passing bool
}

// StartProxy starts a proxy in front of the cluster. It is stopped when the test ends.
func StartProxy(tb testing.TB, c *Cluster) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	p := &Proxy{server: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)), counts: map[Side]int{}}
	p.Port = l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// Arm sets where to cut once, counted from now on.
func (p *Proxy) Arm(cut Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.counts, p.passing = cut, map[Side]int{}, false
}

// Pass passes everything on and counts no more, until Arm.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.passing = Cut{}, true
}

// Counted is how many messages a side has sent since Arm.
func (p *Proxy) Counted(from Side) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[from]
}

// count counts a message and tells whether to pass it on, and whether to cut then.
func (p *Proxy) count(from Side) (pass, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passing {
		return true, false
	}
	p.counts[from]++
	if p.cut.From != from || p.cut.N != p.counts[from] {
		return true, false
	}
	pass, p.cut = p.cut.After, Cut{}
	return pass, true
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	done := make(chan struct{}, 2)
	go func() { p.pass(Client, client, server); done <- struct{}{} }()
	go func() { p.pass(Server, server, client); done <- struct{}{} }()
	<-done
	_ = client.Close()
	if half, ok := server.(*net.TCPConn); ok {
		_ = half.CloseWrite() // what was passed on is still read
	}
	<-done
	_, _ = io.Copy(io.Discard, server) // until the server has done what it was told, and goes
	_ = server.Close()
}

// pass passes messages on until one side closes or the cut comes. The first
// message of a client has no type; the others are a byte and a length.
func (p *Proxy) pass(from Side, in, out net.Conn) {
	var m bytes.Buffer
	for first := from == Client; ; first = false {
		m.Reset()
		header := int64(5)
		if first {
			header = 4
		}
		if _, err := io.CopyN(&m, in, header); err != nil {
			return
		}
		const lengthBytes = 4 // which the length includes
		length := int64(binary.BigEndian.Uint32(m.Bytes()[m.Len()-lengthBytes:])) - lengthBytes
		if _, err := io.CopyN(&m, in, length); err != nil {
			return
		}
		onward, cut := p.count(from)
		if onward {
			if _, err := out.Write(m.Bytes()); err != nil {
				return
			}
		}
		if cut {
			return
		}
	}
}
