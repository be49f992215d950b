package test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// process is a running command of the binary that listens.
type process struct {
	url    string
	cmd    *exec.Cmd
	exited chan error
}

var listening = regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`)

// launch starts a command that logs under a name, and waits until it listens.
func launch(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	p, before := begin(t, name, env, args...)
	p.awaitListening(t, name, before)
	return p
}

// begin starts a command that logs under a name; its log begins at the returned offset.
func begin(t *testing.T, name string, env []string, args ...string) (p *process, before int64) {
	t.Helper()
	p = &process{cmd: exec.Command(binary, args...), exited: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	logFile, before := openLog(t, name)
	defer logFile.Close()
	p.cmd.Stderr = logFile
	noError(t, p.cmd.Start())
	go func() { p.exited <- p.cmd.Wait() }()
	return p, before
}

// openLog opens a log to append to it.
func openLog(t *testing.T, name string) (log *os.File, end int64) {
	t.Helper()
	log, err := os.OpenFile(logPath(t, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		end, err = log.Seek(0, io.SeekEnd)
	}
	noError(t, err)
	return log, end
}

func (p *process) awaitListening(t *testing.T, name string, before int64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text := readLog(t, name)
		if m := listening.FindStringSubmatch(text[min(int(before), len(text)):]); m != nil {
			p.url = "http://" + m[1]
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen:\n%s", name, text)
		}
	}
}

// kill ends the process by SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func logPath(t *testing.T, name string) string { return filepath.Join(t.ArtifactDir(), name+".log") }

func readLog(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(logPath(t, name))
	noError(t, err)
	return string(text)
}
