package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

type process struct {
	cmd   *exec.Cmd
	log   string // path of its output
	ended chan struct{}
}

// spawn starts a program that logs to a file in the folder. It gets no signals from the
// terminal, and is killed when this program ends.
func spawn(folder, name, program string, args ...string) (*process, error) {
	p := &process{
		cmd: exec.Command(program, args...), log: filepath.Join(folder, name+".log"), ended: make(chan struct{}),
	}
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.Env = append(os.Environ(), "APCA_API_KEY_ID=paper", "APCA_API_SECRET_KEY=paper")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	// The kernel kills the process when the thread that started it ends. Threads end only with
	// a goroutine that is locked to them, so the harness must not lock any.
	go func() {
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // check and stop report the result
			close(p.ended)
		}
	}()
	return p, errors.Join(<-started, file.Close())
}

// check fails when the process has ended. It accepts nil.
func (p *process) check() error {
	if p == nil {
		return nil
	}
	select {
	case <-p.ended:
		return p.failed(fmt.Errorf("%s ended early: %s", p.cmd, p.cmd.ProcessState))
	default:
		return nil
	}
}

// pid returns the process id, 0 for nil.
func (p *process) pid() int {
	if p == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// stop terminates the process, and kills it when it takes too long.
func (p *process) stop() error {
	const patience = 30 * time.Second
	if p == nil {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	if state := p.cmd.ProcessState; !state.Success() && state.ExitCode() >= 0 {
		return p.failed(fmt.Errorf("%s: %s", p.cmd, state))
	}
	return nil
}

// failed adds the end of the process's output to an error.
func (p *process) failed(err error) error {
	const tail = 2000
	text, _ := os.ReadFile(p.log)
	return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-tail):])
}

// await waits until the process answers 200 at the URL.
func (p *process) await(ctx context.Context, url string) error {
	const most, every = 2 * time.Minute, 2 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.ended:
			return p.check()
		case <-ctx.Done():
			return p.failed(fmt.Errorf("cannot reach %s: %w", url, ctx.Err()))
		case <-time.After(every):
		}
	}
}

// wait waits for a duration, or fails when ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// closers are functions that clean up, called last first.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

func (c *closers) close() error {
	var errs []error
	for i := len(*c) - 1; i >= 0; i-- {
		errs = append(errs, (*c)[i]())
	}
	*c = nil
	return errors.Join(errs...)
}
