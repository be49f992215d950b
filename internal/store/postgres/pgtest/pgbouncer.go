package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// StartPgBouncer starts Debian's PgBouncer, in transaction mode unless further settings say otherwise, in front of the
// cluster and returns its port. The end of the test stops it.
func StartPgBouncer(tb testing.TB, c *Cluster, further ...string) (port int) {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !exists(program) { // not in the PATH of users
			tb.Fatal("cannot find PgBouncer: run tools/install.sh pgbouncer")
		}
	}
	port, err = freePort()
	check(tb, err)
	settings := filepath.Join(c.Folder, fmt.Sprintf("pgbouncer-%d.ini", port))
	for path, text := range map[string]string{
		filepath.Join(c.Folder, "users.txt"): `"postgres" ""` + "\n",
		settings: fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir = %s
auth_type = trust
auth_file = users.txt
pool_mode = transaction
default_pool_size = 6
logfile = pgbouncer.log
%s
`, c.Port, port, c.Folder, strings.Join(further, "\n")),
	} {
		check(tb, os.WriteFile(path, []byte(text), 0o644))
	}
	cmd := exec.Command(program, "-q", settings)
	cmd.Dir = c.Folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Pdeathsig: syscall.SIGKILL}
	check(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	awaitPgBouncer(tb, port)
	return port
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func awaitPgBouncer(tb testing.TB, port int) {
	tb.Helper()
	const most = 20 * time.Second
	ctx, cancel := context.WithTimeout(tb.Context(), most)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port))
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		if ctx.Err() != nil {
			tb.Fatalf("cannot connect to PgBouncer: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
