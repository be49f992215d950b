package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// unreadCommand requests large answers on many connections without reading them.
type unreadCommand struct {
	URL         string `required:""`
	Key         string `required:""`
	Path        string `required:""`
	Connections int    `required:""`
}

// Run sends requests until ctx ends.
func (c *unreadCommand) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range c.Connections {
		all.Go(func() {
			for ctx.Err() == nil {
				c.ask(ctx)
			}
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// ask sends one request and keeps the connection open longer than a service should.
func (c *unreadCommand) ask(ctx context.Context) {
	const kept, again, buffer = 10 * time.Second, 100 * time.Millisecond, 4096
	address := strings.TrimPrefix(c.URL, "http://")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		_ = wait(ctx, again)
		return
	}
	defer func() { _ = conn.Close() }()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(buffer) // so more bytes stay at the service
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\n\r\n", c.Path, address, c.Key)
	_ = wait(ctx, kept)
}

func (h *harness) startUnread(t *target) (*process, error) {
	key, path := t.key, "/large"
	if t.admin != "" {
		key, path = t.hoarder, "/v1/rewards?limit=200"
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return spawn(t.folder, "unread", program, "unread", "--url", t.url, "--key", key, "--path", path,
		"--connections", strconv.Itoa(floodConnections))
}
