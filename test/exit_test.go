package test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// exitOf runs the program and returns its exit status and output.
func exitOf(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	out, err := runProgram(t, args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out
	}
	noError(t, err)
	return 0, out
}

// docs/configure.md: 0 after success, 1 after a failure, 2 for an invalid
// command line.
func TestExitStatuses(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	database := "--database=" + s.database()
	missing := "--database=sqlite:" + filepath.Join(t.TempDir(), "none.db")
	const id = "01a1fe02-1262-7000-bbaf-62ded01743e8"
	for line, want := range map[string]int{
		"": 0, "--help": 0, "version": 0, "app list " + database: 0, "audit " + database: 0, "fulfillment status " + database: 0,
		"app list " + missing: 1, "app create tester " + database: 1, "app suspend nobody " + database: 1,
		"order show " + id + " " + database: 1, "key revoke " + id + " " + database: 1, "asset disable NONE " + database: 1,
		"nonsense": 2, "serve --nonsense " + database: 2, "app list": 2, "app create " + database: 2, "app list more " + database: 2,
		"app list --database=mysql:x": 2, "order show 1 " + database: 2, "order list --limit=x " + database: 2,
		"order list --limit=0 " + database: 2, "order list --state=x " + database: 2, "key create tester --expires=-1h " + database: 2,
		"serve --pooling-window=5 " + database: 2, "serve --pooling-window=-5s " + database: 2, "serve --listen=x " + database: 2,
		"serve --listen=0.0.0.0:0 " + database: 2, "serve --daily-notional-limit=x " + database: 2,
		"serve --max-order-notional=5 " + database: 2, "serve --tls-cert=x " + database: 2, "serve --broker=x " + database: 2,
		"serve --admin-listen=x " + database: 2, "fulfillment pause --reason= " + database: 2,
		"serve --max-connections=0 " + database: 2, "serve --broker=alpaca --alpaca-url=http://example.com " + database: 2,
		"app list --database=postgres://sr@db.example/x": 2, "app list --database=postgres://sr@db/a@b": 2,
		"paper --database=x": 2, "paper --cash=x " + missing: 2, "paper --fault=x " + missing: 2, "paper --clock=x " + missing: 2,
		"order resolve " + id + " --reason=x " + database: 2, "dev --listen=x": 2,
		"serve --listen=127.0.0.1:99999 " + database: 2, "serve --admin-host=x:80 " + database: 2,
		"serve --listen=127.0.0.1:-1 " + database: 2, "serve --admin-listen=127.0.0.1:-1 " + database: 2,
		"paper --listen=127.0.0.1:-1 " + missing: 2, "paper --database=sqlite:~/paper.db": 2,
		"serve --max-connections=10 --max-connections-per-address=11 " + database: 2,
		"serve --house-daily-limit=10 --house-daily-limit-per-app=20 " + database: 2,
		"serve --database=postgres://sr@127.0.0.1/x":                              2, "health http://127.0.0.1:1/readyz": 2, "health 127.0.0.1:99999": 2,
		"app create shop --database=sqlite::memory:": 2, "serve --database=sqlite::memory:": 2,
		"app limits tester --concurrent=-1 " + database: 2, "app limits tester --requests-per-second=99999999 " + database: 2,
		"serve --alpaca-requests-per-minute=0 " + database:                                2,
		"serve --daily-notional-limit= " + database:                                       2,
		"app create more --daily-budget= " + database:                                     2,
		"reward reverse " + id + " --reason=x --amount= " + database:                      2,
		"app create \xff " + database:                                                     2,
		"reward reverse " + id + " --reason=" + strings.Repeat("x", 201) + " " + database: 2,
	} {
		if got, out := exitOf(t, strings.Fields(line)...); got != want {
			t.Errorf("%s: exit status %d, want %d: %s", line, got, want, out)
		}
	}
}

// An amount that is empty in the environment would be no limit.
func TestEmptyAmountsAreRefused(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--database=sqlite:"+filepath.Join(t.TempDir(), "rewards.db"))
	cmd.Env = append(os.Environ(), "STOCKREWARDS_DAILY_NOTIONAL_LIMIT=")
	out, err := cmd.CombinedOutput()
	fails(t, "exit status 2", "STOCKREWARDS_DAILY_NOTIONAL_LIMIT is empty")(string(out), err)
}

// A key that could not be printed is lost: the command says so.
func TestAKeyThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	noError(t, err)
	defer full.Close()
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), binary, "app", "create", "shop",
		"--database=sqlite:"+filepath.Join(t.TempDir(), "rewards.db"))
	cmd.Stdout, cmd.Stderr = full, &said
	err = cmd.Run()
	fails(t, "exit status 1", "cannot write the output of the command; what it changed is changed")(said.String(), err)
}

// The error for an address in use names it and the flag that changes it.
func TestAddressTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	defer l.Close()
	taken, folder := l.Addr().String(), t.TempDir()
	database := "sqlite:" + filepath.Join(folder, "rewards.db")
	for flag, lines := range map[string][]string{
		"--listen": {
			"serve --database " + database + " --listen " + taken,
			"paper --database sqlite:" + filepath.Join(folder, "alone.db") + " --listen " + taken,
			"dev --admin-listen 127.0.0.1:0 --data " + filepath.Join(folder, "dev") + " --listen " + taken,
		},
		"--admin-listen": {"serve --database " + database + " --listen 127.0.0.1:0 --admin-listen " + taken},
	} {
		for _, line := range lines {
			fails(t, "exit status 1", "cannot listen on "+taken+": another program uses this address (address already in use); "+
				"choose another one with "+flag)(runProgram(t, strings.Fields(line)...))
		}
	}
}

// Closing the terminal stops the service like SIGTERM.
func TestSIGHUPDrains(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	s.newUser("anna")
	noError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	err := <-s.exited
	s.cmd = nil
	if err != nil || !strings.Contains(s.logs(), `"msg":"draining"`) {
		t.Errorf("serve ended with %v:\n%s", err, s.logs())
	}
}

// A process that got a signal to stop is not ready from then on, answers clients for the time of --stop-delay, and ends.
func TestStopDelay(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	admin := s.startWatched("--stop-delay", "3s")
	user := s.newUser("anna")
	began := time.Now()
	noError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.eventually("draining", 2*time.Second, func() bool {
		status, body := look(t, admin+"/readyz")
		return status == 503 && strings.Contains(body, "draining")
	})
	s.give(user, "while it drains", "1", "KO")
	err := <-s.exited
	s.cmd = nil
	if took := time.Since(began); err != nil || took < 3*time.Second {
		t.Errorf("serve ended with %v after %s", err, took)
	}
	s.wantError("--stop-delay 2m0s: must be from 0s to 1m", "serve", "--stop-delay", "2m")
}
