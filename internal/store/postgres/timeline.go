package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stockrewards/internal/store"
)

// timelineExpression is the server's timeline in SQL, in hexadecimal. A standby that takes over begins the next one
// (PostgreSQL: Continuous Archiving, Timelines). Some hosted servers have no such functions.
const timelineExpression = `left(pg_walfile_name(pg_current_wal_lsn()), 8)`

// newest keeps an engine off the old primary of a URL with several hosts. When that starts again after a fail-over, or
// runs on, it is as writable as the new one. But it lacks what was recorded since, and it is on an earlier timeline.
type newest struct {
	timeline atomic.Int64 // the highest that any server showed; 0: none did

	mu   sync.Mutex
	rose chan struct{} // closed when timeline rises, and then replaced

	watchers sync.WaitGroup
	stop     context.CancelFunc
}

func newNewest() *newest { return &newest{rose: make(chan struct{}), stop: func() {}} }

// How newest watches the servers.
const (
	askEvery    = time.Second
	askTimeout  = dialTimeout
	asksOfOne   = 60 // over one connection, because the name of a host may lead to another server later
	timelineKey = "timeline"
)

// prefer makes the connections of a pool go to the server on the highest timeline, among several hosts. It returns when
// each host was asked once, and goes on asking until close. One that does not answer is judged when it does.
func (n *newest) prefer(ctx context.Context, pool *pgxpool.Config) {
	c := pool.ConnConfig
	hosts := len(serversOf(&c.Config))
	if hosts == 1 {
		return
	}
	check := n.after(c.ValidateConnect)
	ctx, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	var first sync.WaitGroup
	all := c.Copy()
	all.ValidateConnect = nil // a connection to a standby is kept until it takes over
	for i := range hosts {
		first.Add(1)
		asked := sync.OnceFunc(first.Done)
		server := func() (*pgconn.PgConn, error) { return connectTo(ctx, all, pool.BeforeConnect, i) }
		n.watchers.Go(func() { watch(ctx, server, check, asked) })
	}
	c.ValidateConnect = check
	first.Wait()
}

// connectTo connects to one server of the settings. prepare is the pool's, for each new connection.
func connectTo(
	ctx context.Context, all *pgx.ConnConfig, prepare func(context.Context, *pgx.ConnConfig) error, server int,
) (*pgconn.PgConn, error) {
	one := all.Copy()
	if err := prepare(ctx, one); err != nil {
		return nil, err
	}
	s := serversOf(&one.Config)[server]
	one.Host, one.Port, one.TLSConfig, one.Fallbacks = s[0].Host, s[0].Port, s[0].TLSConfig, s[1:]
	return pgconn.ConnectConfig(ctx, &one.Config)
}

// close ends the watch of the servers, and its connections.
func (n *newest) close() {
	n.stop()
	n.watchers.Wait()
}

// watch asks a server for its timeline until ctx ends, over one connection at a time. It calls asked after each
// attempt.
func watch(
	ctx context.Context, server func() (*pgconn.PgConn, error), check pgconn.ValidateConnectFunc, asked func(),
) {
	for ctx.Err() == nil {
		if conn, err := server(); err == nil {
			for i := 0; i < asksOfOne && ctx.Err() == nil && !conn.IsClosed(); i++ {
				ask(ctx, conn, check)
				asked()
				_ = store.Sleep(ctx, askEvery)
			}
			hangUp(ctx, conn)
			continue
		}
		asked()
		_ = store.Sleep(ctx, askEvery)
	}
}

// ask makes the check of a new connection. A connection that does not answer is closed.
func ask(ctx context.Context, conn *pgconn.PgConn, check pgconn.ValidateConnectFunc) {
	within, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_ = check(within, conn) // what the server showed is known now
}

// hangUp closes a connection. It waits until nothing of it is left, or until ctx ends.
func hangUp(ctx context.Context, conn *pgconn.PgConn) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	_ = conn.Close(within)
	select {
	case <-conn.CleanupDone():
	case <-ctx.Done():
	}
}

// serversOf lists the ways to connect to each host of the settings.
func serversOf(c *pgconn.Config) (servers [][]*pgconn.FallbackConfig) {
	at := make(map[string]int)
	for _, f := range ways(c) {
		address := fmt.Sprint(f.Host, " ", f.Port)
		if _, known := at[address]; !known {
			at[address] = len(servers)
			servers = append(servers, nil)
		}
		servers[at[address]] = append(servers[at[address]], f)
	}
	return servers
}

// after returns a check of a new connection: the given one, then that no server showed a higher timeline. The data of
// the connection keep its timeline.
func (n *newest) after(check pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := check(ctx, conn); err != nil {
			return err
		}
		timeline, known := timelineOf(ctx, conn)
		if !known {
			return nil
		}
		conn.CustomData()[timelineKey] = timeline
		if highest := n.raise(timeline); timeline < highest {
			return fmt.Errorf("an old primary: it is on timeline %d, another server on %d", timeline, highest)
		}
		return nil
	}
}

// raise notes the timeline of a server and returns the highest.
func (n *newest) raise(timeline int64) (highest int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if timeline > n.timeline.Load() {
		n.timeline.Store(timeline)
		close(n.rose)
		n.rose = make(chan struct{})
	}
	return n.timeline.Load()
}

// isOld reports whether another server showed a higher timeline than the connection's.
func (n *newest) isOld(conn *pgconn.PgConn) bool {
	timeline, known := conn.CustomData()[timelineKey].(int64)
	return known && timeline < n.timeline.Load()
}

// untilRisen returns a context that also ends when a server shows a higher timeline than any did before.
func (n *newest) untilRisen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	rose := n.rose
	n.mu.Unlock()
	go func() {
		defer cancel()
		select {
		case <-rose:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func timelineOf(ctx context.Context, conn *pgconn.PgConn) (timeline int64, known bool) {
	results, err := conn.Exec(ctx, `select `+timelineExpression).ReadAll()
	if err != nil || len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, false
	}
	timeline, err = strconv.ParseInt(string(results[0].Rows[0][0]), 16, 64)
	return timeline, err == nil
}
