package linear

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stockrewards/test/world"
)

// program is the built service, over one database.
type program struct {
	t        *testing.T
	binary   string
	database string
	apps     int
	down     atomic.Int64 // number of stopped processes
	answers  atomic.Int64 // number of answers that clients got
}

func build(t *testing.T, database string) *program {
	t.Helper()
	binary, err := world.Build(t.TempDir())
	check(t, err)
	return &program{t: t, binary: binary, database: database}
}

// newApp creates an app, and the database if it does not exist.
func (p *program) newApp() string {
	p.apps++
	name := fmt.Sprint("app ", p.apps)
	out, err := exec.CommandContext(p.t.Context(), p.binary, "app", "create", name, "--database", p.database).Output()
	if err != nil {
		p.t.Fatalf("app create: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// process is a listening command of the program; it keeps its address.
type process struct {
	program *program
	door    string
	args    []string
	cmd     *exec.Cmd
}

// listen starts a command at a free address, passed by the flag.
func (p *program) listen(flag string, args ...string) *process {
	p.t.Helper()
	address := world.FreeAddress(p.t)
	one := &process{program: p, door: "http://" + address, args: append(slices.Clip(args), flag, address)}
	if !one.start() {
		p.t.FailNow()
	}
	p.t.Cleanup(one.kill)
	return one
}

// start starts the process and waits until it answers.
func (p *process) start() bool {
	t := p.program.t
	cmd := exec.Command(p.program.binary, p.args...)
	cmd.Env = append(os.Environ(), "APCA_API_KEY_ID=key", "APCA_API_SECRET_KEY=secret")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return false
	}
	p.cmd = cmd
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if answer, err := http.Get(p.door + "/openapi.json"); err == nil {
			_ = answer.Body.Close()
			return true
		}
	}
	t.Errorf("%s does not answer", p.args[0])
	return false
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// torment kills and restarts the processes in turn, until quit is closed. Between two kills clients get answers, on
// a slow machine too: a history in which most outcomes are unknown takes too long to check.
func (p *program) torment(quit <-chan struct{}, killed *atomic.Int64, all ...*process) {
	for {
		began, pause := time.Now(), time.Duration(30+rand.IntN(220))*time.Millisecond
		enough := p.answers.Load() + 20 + rand.Int64N(80)
		for time.Since(began) < pause || p.answers.Load() < enough {
			select {
			case <-quit:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		victim := all[rand.IntN(len(all))]
		p.down.Add(1)
		victim.kill()
		killed.Add(1)
		if !victim.start() {
			return
		}
		p.down.Add(-1)
	}
}
