package postgres_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// Every connection ends when the server has acknowledged nothing for five seconds: those for requests, the one that
// listens, and those that watch each host.
func TestASilentServerIsNoticedByEveryConnection(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	c.Database(t, "rewards")
	e := open(t, fmt.Sprintf("postgres://postgres@127.0.0.1:%d,localhost:%[1]d/rewards?sslmode=disable", c.Port),
		postgres.Options{Connections: 1})
	go e.Listen(t.Context(), func() {})
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	check(t, err)
	const sessions = 4
	await(t, conn, fmt.Sprintf("select count(*) = %d from pg_stat_activity where datname = 'rewards'", sessions))
	check(t, conn.Close(t.Context()))
	open, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	found := 0
	for _, file := range open {
		fd, err := strconv.Atoi(file.Name())
		check(t, err)
		peer, err := unix.Getpeername(fd)
		if to, ok := peer.(*unix.SockaddrInet4); err != nil || !ok || to.Port != c.Port {
			continue
		}
		found++
		if limit, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err != nil || limit != 5_000 {
			t.Errorf("a connection ends after %d ms without an answer, %v", limit, err)
		}
	}
	if found != sessions {
		t.Errorf("%d connections, want %d", found, sessions)
	}
}
