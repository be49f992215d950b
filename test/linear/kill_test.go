package linear

import (
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The built service, killed again and again while its clients go on: what was
// acknowledged is there afterwards, and what was not is there once or not at all.
func TestLinearizableThroughKills(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	binary := filepath.Join(folder, "stockrewards")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/stockrewards").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	database, address := "sqlite:"+filepath.Join(folder, "rewards.db"), freeAddress(t)
	start := func() *exec.Cmd {
		cmd := exec.Command(binary, "serve", "--listen", address, "--database", database)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return nil
		}
		awaitDoor(t, "http://"+address)
		return cmd
	}
	apps := 0
	s := site{doors: []string{"http://" + address}, newApp: func() string {
		apps++
		out, err := exec.CommandContext(t.Context(), binary, "app", "create", strings.Repeat("a", apps), "--database", database).Output()
		if err != nil {
			t.Fatalf("app create: %v", err)
		}
		return strings.TrimSpace(string(out))
	}}
	s.newApp() // the books
	running := start()
	var killed atomic.Int64
	var killer sync.WaitGroup
	quit := make(chan struct{})
	killer.Go(func() {
		for running != nil {
			select {
			case <-quit:
				return
			case <-time.After(time.Duration(30+rand.IntN(220)) * time.Millisecond):
			}
			_ = running.Process.Kill()
			_ = running.Wait()
			killed.Add(1)
			running = start()
		}
	})
	play(t, s, func(int) bool { return killed.Load() >= int64(*kills) })
	close(quit)
	killer.Wait()
	if running != nil {
		_ = running.Process.Kill()
		_ = running.Wait()
	}
	t.Logf("%d kills", killed.Load())
}

// freeAddress is one that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// awaitDoor waits until somebody answers there.
func awaitDoor(t *testing.T, door string) {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if answer, err := http.Get(door + "/openapi.json"); err == nil {
			_ = answer.Body.Close()
			return
		}
	}
	t.Error("the service does not answer")
}
