package test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"stockrewards/internal/store/sqlite"
	"stockrewards/test/world"
)

// Under nohup the program outlives its terminal. A script's background job, which ignores SIGINT too, can be stopped by it.
func TestNohup(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	p := world.Launch(t, s.logName(), exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" "$@"`,
		binary, "serve", "--listen", "127.0.0.1:0", "--database", s.database()))
	s.cmd, s.exited, s.url = p.Cmd, p.Exited, p.URL
	noError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	s.newUser("after the terminal")
	noError(t, s.cmd.Process.Signal(syscall.SIGINT))
	noError(t, <-s.exited)
	s.cmd = nil
	if drained := strings.Count(s.logs(), `"msg":"draining"`); drained != 1 {
		t.Errorf("it drained %d times, want once:\n%s", drained, s.logs())
	}
}

// A program that waits for another one, which updates the schema, says so, and ends at a signal.
func TestSIGTERMBeforeTheDatabaseIsOpen(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	unlock, err := sqlite.LockFile(strings.TrimPrefix(s.database(), "sqlite:") + ".setup.lock")
	noError(t, err)
	const waits = "waiting for another process, which updates the "
	for name, c := range map[string]struct {
		args []string
		exit int
		want string
	}{
		"serve":   {[]string{"serve", "--listen", "127.0.0.1:0"}, 0, `"msg":"stopped by a signal before it served"`},
		"command": {[]string{"app", "suspend", "tester"}, 1, "interrupted before it had opened the database; nothing was changed\n"},
		"migrate": {[]string{"migrate"}, 1, "stockrewards: interrupted\n"},
	} {
		p, _ := world.Begin(t, name, program(nil, append(c.args, "--database", s.database())...))
		eventually(t, "notice of "+name, 20*time.Second, func() bool { return strings.Contains(world.ReadLog(t, name), waits) })
		noError(t, p.Cmd.Process.Signal(syscall.SIGTERM))
		<-p.Exited
		if exit := p.Cmd.ProcessState.ExitCode(); exit != c.exit {
			t.Errorf("%s: exit status %d, want %d", name, exit, c.exit)
		}
		wantText(t, world.ReadLog(t, name), c.want)
	}
	noError(t, unlock())
	s.wantOutput("active", "app", "list")
}

// A stop does not return the lease once the index of SQLite's log is lost: that would write over what another program
// has committed since. The process says so by its exit status.
func TestAStopWithoutTheIndexOfTheLog(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	s.newUser("before")
	noError(t, os.Remove(strings.TrimPrefix(s.database(), "sqlite:")+"-shm"))
	if err := s.stop(); err == nil {
		t.Error("the exit status is 0")
	}
	wantText(t, s.logs(), "-shm was moved away, removed or replaced while this process used it")
	s.start()
	s.newUser("after")
	s.command("audit")
}

// A command that a signal ends says so, instead of naming the step that it was at.
func TestAnInterruptedCommand(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	defer silent.Close()
	p, _ := world.Begin(t, "health", program(nil, "health", silent.Addr().String()))
	asked, err := silent.Accept()
	noError(t, err)
	defer asked.Close()
	noError(t, p.Cmd.Process.Signal(syscall.SIGTERM))
	<-p.Exited
	if got := world.ReadLog(t, "health"); got != "stockrewards: interrupted\n" {
		t.Errorf("got %q", got)
	}
}
