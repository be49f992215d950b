package test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stockrewards/test/world"
)

// traceSyncs injects into every file sync of the service, by strace: "error=EIO" or
// "delay_enter=…" (microseconds). It returns when all threads are traced.
func (s *service) traceSyncs(what string) {
	s.t.Helper()
	const syncs = "fsync,fdatasync"
	pid := s.cmd.Process.Pid
	trace := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace="+syncs,
		"-e", "inject="+syncs+":"+what, "-p", strconv.Itoa(pid))
	noError(s.t, trace.Start())
	s.t.Cleanup(func() {
		_ = trace.Process.Kill() // it would wait for a process that does not end
		_ = trace.Wait()
	})
	eventually(s.t, "strace", 20*time.Second, func() bool { return traced(s.t, pid) })
}

// traced reports whether every thread of a process has a tracer.
func traced(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads of %d: %v, %v", pid, threads, err)
	}
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if err != nil { // the thread has ended
			continue
		}
		for line := bufio.NewScanner(bytes.NewReader(status)); line.Scan(); {
			if bytes.Equal(line.Bytes(), []byte("TracerPid:\t0")) {
				return false
			}
		}
	}
	return true
}

// Every answer follows the sync of its reward: it takes at least as long as a sync.
func TestEveryAnswerFollowsASync(t *testing.T) {
	t.Parallel()
	const slow = 100 * time.Millisecond
	s := newService(t, t.TempDir())
	s.command("fulfillment", "pause", "--reason", "only clients write")
	s.start()
	user := s.newUser("anna")
	s.traceSyncs(fmt.Sprint("delay_enter=", slow.Microseconds()))
	for n := range 5 {
		time.Sleep(2 * slow) // earlier commits are over
		began := time.Now()
		s.give(user, fmt.Sprint("synced-", n), "5", "AAPL")
		if took := time.Since(began); took < slow {
			t.Errorf("a sync takes %s, but the reward was answered after %s", slow, took)
		}
	}
}

// What a client reads is on the disk too: an award is not listed before the sync of its commit.
func TestWhatIsReadIsSynced(t *testing.T) {
	t.Parallel()
	const slow = 300 * time.Millisecond
	s := newService(t, t.TempDir())
	s.command("fulfillment", "pause", "--reason", "only clients write")
	s.start()
	user := s.newUser("anna")
	s.traceSyncs(fmt.Sprint("delay_enter=", slow.Microseconds()))
	began := time.Now()
	var given sync.WaitGroup
	given.Go(func() {
		if _, err := s.request(t.Context(), "POST", "/v1/rewards", giving(user, "read-early", "5", "AAPL")); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the list", 20*time.Second, func() bool {
		return strings.Contains(string(s.must(200, "GET", "/v1/rewards?userId="+user, "").body), "read-early")
	})
	if took := time.Since(began); took < slow {
		t.Errorf("a sync takes %s, but the award was listed after %s", slow, took)
	}
	given.Wait()
}

// A backup gets its name only after its content is synced, and the command ends only after
// the name is synced. Syncs during VACUUM INTO do not count: SQLite documents none.
func TestABackupIsSynced(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	i := inject(s.folder, never, fault{})
	copied := filepath.Join(s.folder, "copy.db")
	p, _ := i.begin(t, "backup", "backup", copied, "--database", s.database())
	if err := <-p.Exited; err != nil {
		t.Fatalf("backup: %v\n%s", err, world.ReadLog(t, "backup"))
	}
	const partial = "copy.db.partial"
	contentSynced, named, nameSynced := false, false, false
	for _, c := range i.calls() {
		switch {
		case c.file == partial && (c.call == "pwrite64" || strings.HasPrefix(c.call, "open")):
			contentSynced = false
		case c.file == partial && (c.call == "fsync" || c.call == "fdatasync"):
			contentSynced = true
		case c.file == partial && c.call == "linkat":
			named = contentSynced
		case c.file == "folder" && c.call == "fsync":
			nameSynced = named
		}
	}
	if !nameSynced {
		t.Errorf("content synced %t, then named %t, then the name synced %t:\n%v", contentSynced, named, nameSynced, i.calls())
	}
}
