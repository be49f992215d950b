package test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Without free file descriptors, open connections are served; new ones are served when
// descriptors are free again.
func TestFileDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start(settings()...)
	user := s.newUser("anna")
	kept := s.give(user, "before-the-limit", "5", "AAPL")
	s.await(kept.ID, "executed", 10*time.Second)
	before := descriptors(t, s.cmd.Process.Pid)
	limit(t, s.cmd.Process.Pid, before+3)
	address := strings.TrimPrefix(s.url, "http://")
	var crowd []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", address)
		noError(t, err)
		t.Cleanup(func() { c.Close() })
		crowd = append(crowd, c)
	}
	stranger := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	if a, err := stranger.Get(s.url + "/v1/users"); err == nil {
		a.Body.Close()
		t.Fatalf("a new connection was served: %d; %d descriptors, %d before", a.StatusCode, descriptors(t, s.cmd.Process.Pid), before)
	}
	s.must(200, "GET", "/v1/users/"+user+"/portfolio", "")
	during := s.give(user, "at-the-limit", "5", "KO")
	limit(t, s.cmd.Process.Pid, 1024)
	for _, c := range crowd {
		c.Close()
	}
	s.eventually("new connection", 20*time.Second, func() bool {
		a, err := stranger.Get(s.url + "/v1/users")
		if err == nil {
			a.Body.Close() // 401: it has no key
		}
		return err == nil
	})
	s.await(during.ID, "executed", 20*time.Second)
	noError(t, s.stop())
	s.command("audit")
	comparePositions(t, s.folder)
}

// descriptors is the number of a process's open files.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	noError(t, err)
	return len(open)
}

// limit sets the maximum of a process's open files.
func limit(t *testing.T, pid, files int) {
	t.Helper()
	noError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(files), Max: 1024}, nil))
}

// When the file system becomes read-only, as ext4 does after an error, the process stops and
// says why. It does not start before the repair, and continues afterwards.
func TestFileSystemBecomesReadOnly(t *testing.T) {
	t.Parallel()
	disk := newDisk(t)
	s := newService(t, disk.folder)
	s.start(settings()...)
	user := s.newUser("anna")
	kept := s.give(user, "before-the-error", "5", "AAPL")
	s.await(kept.ID, "executed", 10*time.Second)
	disk.turnReadOnly()
	var exit error
	for deadline := time.Now().Add(20 * time.Second); s.cmd != nil; time.Sleep(5 * time.Millisecond) {
		a, err := s.request(t.Context(), "POST", "/v1/rewards", giving(user, "during-the-error", "5", "AAPL"))
		if err == nil {
			wantRefusal(t, a)
		}
		select {
		case exit = <-s.exited:
			s.cmd = nil
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("it goes on: %d %s\n%s", a.status, a.body, s.logs())
		}
	}
	if exit == nil || exit.Error() != "exit status 1" || !strings.Contains(s.logs(), "stockrewards: cannot continue without the database; the next start recovers: ") {
		t.Errorf("it ended with %v\n%s", exit, s.logs())
	}
	s.wantError("stockrewards: ", "serve", "--listen", "127.0.0.1:0")
	disk.repair()
	s.start(settings()...)
	s.must(200, "GET", "/v1/rewards/"+kept.ID, "")
	again := s.give(user, "during-the-error", "5", "AAPL")
	s.await(again.ID, "executed", 10*time.Second)
	noError(t, s.stop())
	s.command("audit")
	comparePositions(t, s.folder)
}

// disk is an ext4 file system in a file.
type disk struct {
	t             *testing.T
	image, folder string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "image"), folder: t.TempDir()}
	d.run("truncate", "--size=32M", d.image)
	d.run("mkfs.ext4", "-q", "-F", d.image)
	d.mount()
	t.Cleanup(func() { d.run("umount", "-l", d.folder) })
	return d
}

func (d *disk) run(program string, args ...string) string {
	d.t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (d *disk) mount() { d.run("mount", "-o", "loop,errors=remount-ro", d.image, d.folder) }

// turnReadOnly causes an error of the file system.
func (d *disk) turnReadOnly() {
	d.t.Helper()
	device := filepath.Base(d.run("findmnt", "-n", "-o", "SOURCE", d.folder))
	noError(d.t, os.WriteFile("/sys/fs/ext4/"+device+"/trigger_fs_error", []byte("a drill"), 0o200))
}

// repair checks and remounts the file system, as an operator does.
func (d *disk) repair() {
	d.t.Helper()
	d.run("umount", d.folder)
	_ = exec.Command("fsck.ext4", "-f", "-y", d.image).Run() // its status reports the repairs
	d.mount()
}
