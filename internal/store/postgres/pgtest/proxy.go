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

// Cut says where a proxy cuts a connection. The zero value never cuts.
type Cut struct {
	From  Side
	N     int  // the message, counted from 1
	After bool // forward the message first
}

// Proxy forwards and counts the messages between clients and a server.
type Proxy struct {
	Port int

	server  string
	mu      sync.Mutex
	cut     Cut
	counts  map[Side]int // since Arm
	passing bool
}

// StartProxy starts a proxy in front of the cluster. The end of the test stops it.
func StartProxy(tb testing.TB, c *Cluster) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(tb, err)
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

// Arm starts counting from 0 and cuts one connection at cut.
func (p *Proxy) Arm(cut Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.counts, p.passing = cut, map[Side]int{}, false
}

// Pass forwards without counting, until Arm.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.passing = Cut{}, true
}

// Counted returns how many messages a side has sent since Arm.
func (p *Proxy) Counted(from Side) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[from]
}

// count counts a message. It reports whether to forward it and whether to cut after it.
func (p *Proxy) count(from Side) (forward, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passing {
		return true, false
	}
	p.counts[from]++
	if p.cut.From != from || p.cut.N != p.counts[from] {
		return true, false
	}
	forward, p.cut = p.cut.After, Cut{}
	return forward, true
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	done := make(chan struct{}, 2)
	go func() { p.forward(Client, client, server); done <- struct{}{} }()
	go func() { p.forward(Server, server, client); done <- struct{}{} }()
	<-done
	_ = client.Close()
	if half, ok := server.(*net.TCPConn); ok {
		_ = half.CloseWrite() // the server still reads what was forwarded
	}
	<-done
	_, _ = io.Copy(io.Discard, server) // until the server has finished and closes
	_ = server.Close()
}

// forward forwards messages until one side closes or the cut comes. A message is a type
// (one byte) and a length; a client's first message has no type.
func (p *Proxy) forward(from Side, in, out net.Conn) {
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
		forward, cut := p.count(from)
		if forward {
			if _, err := out.Write(m.Bytes()); err != nil {
				return
			}
		}
		if cut {
			return
		}
	}
}
