package world

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// Run builds the program into binary, runs the tests of a package, and returns their status.
func Run(m *testing.M, binary *string) int {
	if signal.Ignored(syscall.SIGHUP) { // under nohup: what the tests start must not ignore it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	folder, err := os.MkdirTemp("", "stockrewards-test")
	if err == nil {
		defer os.RemoveAll(folder)
		*binary, err = Build(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Build builds the program in a folder and returns its path.
func Build(folder string) (binary string, err error) {
	binary = filepath.Join(folder, "stockrewards")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "stockrewards/cmd/stockrewards")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the program needs no cgo
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the program: %w\n%s", err, out)
	}
	return binary, nil
}

// Process is a running command of the program that listens.
type Process struct {
	URL    string
	Cmd    *exec.Cmd
	Exited chan error
}

var listening = regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`)

// Launch starts a command that logs under a name, and waits until it listens.
func Launch(t *testing.T, name string, cmd *exec.Cmd) *Process {
	t.Helper()
	p, before := Begin(t, name, cmd)
	p.AwaitListening(t, name, before)
	return p
}

// Begin starts a command that logs under a name; its log begins at the returned offset.
func Begin(t *testing.T, name string, cmd *exec.Cmd) (p *Process, before int64) {
	t.Helper()
	p = &Process{Cmd: cmd, Exited: make(chan error, 1)}
	cmd.SysProcAttr = cmp.Or(cmd.SysProcAttr, &syscall.SysProcAttr{})
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	logFile, before := OpenLog(t, name)
	defer logFile.Close()
	cmd.Stderr = logFile
	Check(t, cmd.Start())
	go func() { p.Exited <- cmd.Wait() }()
	return p, before
}

// AwaitListening waits until the process listens, as its log says after the offset.
func (p *Process) AwaitListening(t *testing.T, name string, before int64) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if p.URL = ListensAt(t, name, before); p.URL != "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen:\n%s", name, ReadLog(t, name))
		}
	}
}

// ListensAt returns the URL at which a process listens, as its log says after the offset; "" if it
// does not say.
func ListensAt(t *testing.T, name string, before int64) string {
	t.Helper()
	text := ReadLog(t, name)
	m := listening.FindStringSubmatch(text[min(int(before), len(text)):])
	if m == nil {
		return ""
	}
	return "http://" + m[1]
}

// Kill ends the process by SIGKILL.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Exited
}

// OpenLog opens a log to append to it.
func OpenLog(t *testing.T, name string) (log *os.File, end int64) {
	t.Helper()
	log, err := os.OpenFile(LogPath(t, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		end, err = log.Seek(0, io.SeekEnd)
	}
	Check(t, err)
	return log, end
}

// LogPath returns the path of a log of the test.
func LogPath(t *testing.T, name string) string { return filepath.Join(t.ArtifactDir(), name+".log") }

// ReadLog reads a log of the test.
func ReadLog(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(LogPath(t, name))
	Check(t, err)
	return string(text)
}
