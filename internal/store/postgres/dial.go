package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

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

// dialer dials for one connection: for itself, and once more to cancel its statement when pgx gives it up.
type dialer struct {
	conn       net.Conn // for itself, once it is connected
	committing atomic.Bool
}

// dialed is the key of a connection's dialer in its data.
const dialed = "dialed"

var errCommitting = errors.New("postgres: a commit that was sent is not canceled")

// useDialer gives a new connection its dialer.
func useDialer(c *pgconn.Config) {
	d := new(dialer)
	c.DialFunc = d.dial
	c.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		d.conn = conn.Conn()
		if encrypted, ok := d.conn.(*tls.Conn); ok {
			d.conn = encrypted.NetConn()
		}
		conn.CustomData()[dialed] = d
		return nil
	}
}

// dial refuses to cancel a commit. It then ends the connection: pgx would wait 15 seconds for the server to answer, and
// the pool for pgx.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.committing.Load() {
		return nil, errors.Join(errCommitting, d.conn.Close())
	}
	return dial(ctx, network, address)
}

// setCommitting notes whether a commit was sent on a connection and has no answer yet. A canceled one that waits for
// the standby would be seen by all, although a fail-over undoes it. Left alone it is seen when the standby has it.
func setCommitting(conn *pgconn.PgConn, committing bool) {
	if d, ok := conn.CustomData()[dialed].(*dialer); ok {
		d.committing.Store(committing)
	}
}
