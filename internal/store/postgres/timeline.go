package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
)

// timelineExpression is the server's timeline in SQL, in hexadecimal. A standby that takes over begins the next one
// (PostgreSQL: Continuous Archiving, Timelines). Some hosted servers have no such functions.
const timelineExpression = `left(pg_walfile_name(pg_current_wal_lsn()), 8)`

// newest keeps an engine off the old primary of a URL with several hosts. When that starts again after a fail-over it
// is as writable as the new one, but it lacks what was recorded since, and it is on an earlier timeline.
type newest struct {
	timeline atomic.Int64 // the highest that any server showed; 0: none did
}

// preferNewest makes the connections of the settings go to the server on the highest timeline, among several hosts. It
// asks each host once. One that does not answer now is judged when it does.
func preferNewest(ctx context.Context, c *pgconn.Config) {
	servers := serversOf(c)
	if len(servers) == 1 {
		return
	}
	n := new(newest)
	c.ValidateConnect = n.after(c.ValidateConnect)
	for _, s := range servers {
		one := c.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = s[0].Host, s[0].Port, s[0].TLSConfig, s[1:]
		if conn, err := pgconn.ConnectConfig(ctx, one); err == nil {
			_ = conn.Close(ctx) // what it showed is known now
		}
	}
}

// serversOf lists the ways to connect to each host of the settings.
func serversOf(c *pgconn.Config) (servers [][]*pgconn.FallbackConfig) {
	at := make(map[string]int)
	first := &pgconn.FallbackConfig{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}
	for _, f := range append([]*pgconn.FallbackConfig{first}, c.Fallbacks...) {
		address := fmt.Sprint(f.Host, " ", f.Port)
		if _, known := at[address]; !known {
			at[address] = len(servers)
			servers = append(servers, nil)
		}
		servers[at[address]] = append(servers[at[address]], f)
	}
	return servers
}

// after returns a check of a new connection: the given one, then that no server showed a higher timeline.
func (n *newest) after(check pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := check(ctx, conn); err != nil {
			return err
		}
		timeline, known := timelineOf(ctx, conn)
		for known {
			highest := n.timeline.Load()
			if timeline < highest {
				return fmt.Errorf("an old primary: it is on timeline %d, another server on %d", timeline, highest)
			}
			if n.timeline.CompareAndSwap(highest, timeline) {
				break
			}
		}
		return nil
	}
}

func timelineOf(ctx context.Context, conn *pgconn.PgConn) (timeline int64, known bool) {
	results, err := conn.Exec(ctx, `select `+timelineExpression).ReadAll()
	if err != nil || len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, false
	}
	timeline, err = strconv.ParseInt(string(results[0].Rows[0][0]), 16, 64)
	return timeline, err == nil
}
