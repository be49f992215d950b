package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store/postgres/pgtest"
)

// waitsForStandby is true while a commit waits for the standby.
const waitsForStandby = `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

// A copy whose commit waits for the synchronous standby is killed, and its session is ended: everyone sees the data, and
// the standby lacks it. The same command again does not say that the data has moved before the standby has it, whatever
// the settings of the role are.
func TestCopyWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	s := stoppedService(t)
	pair := pgtest.StartPair(t)
	url := pair.Primary.Database(t, "target")
	pair.Primary.Must(t, "postgres", "ALTER ROLE postgres SET client_min_messages = error; ALTER ROLE postgres SET synchronous_commit = local")
	makeSchema(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	g := &gate{t, conn}
	pair.Standby.Kill()

	begin := func() (cmd *exec.Cmd, stderr string) {
		t.Helper()
		stderr = filepath.Join(t.TempDir(), "stderr")
		file, err := os.Create(stderr)
		noError(t, err)
		defer file.Close()
		cmd = exec.Command(binary, s.copyArgs(url)...)
		cmd.Stdout, cmd.Stderr = file, file
		noError(t, cmd.Start())
		t.Cleanup(func() { kill9(cmd) })
		g.wait(waitsForStandby)
		return cmd, stderr
	}
	printed := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		noError(t, err)
		return string(text)
	}
	cmd, stderr := begin()
	noError(t, cmd.Process.Signal(os.Interrupt))
	eventually(t, "answer to the first signal", 20*time.Second, func() bool {
		return strings.Contains(printed(stderr), "waiting for the server")
	})
	noError(t, cmd.Process.Signal(os.Interrupt))
	fails(t, "signal: interrupt")("", cmd.Wait())
	pair.Interrupt(t, 1)
	g.wait(countRewards)
	s.wantState("moving")

	cmd, stderr = begin()
	pair.Interrupt(t, 1)
	err = cmd.Wait()
	fails(t, "already has the data", "unknown outcome", "--from is frozen: repeat the command")(printed(stderr), err)
	s.wantState("moving")
	noError(t, pair.Standby.Run())
	pair.AwaitStandby(t)
	succeeds(t, "already has the data", "the data has moved")(s.copyTo(url))
	pair.FailOver(t)
	if n := count(t, pair.Primary.URL("target"), countRewards); n != 20 {
		t.Errorf("the server that took over has %d rewards, want 20", n)
	}
}
