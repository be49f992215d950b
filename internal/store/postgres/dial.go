package postgres

import (
	"context"
	"net"
	"time"

	"stockrewards/internal/guard"
)

// How soon the engine notices that the server is gone without closing its connections.
const (
	dialTimeout   = 2 * time.Second
	silentFor     = 5 * time.Second // sent data not acknowledged
	probeAfter    = 4 * time.Second // nothing received
	probeInterval = time.Second
	probes        = 3
)

// dial connects to a server over TCP or a Unix socket.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		Timeout:         dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeAfter, Interval: probeInterval, Count: probes},
		Control:         guard.EndSilence(silentFor),
	}
	return d.DialContext(ctx, network, address)
}
