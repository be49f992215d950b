package test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"stockrewards/test/world"
)

// strace counts the calls of each thread, but Go moves work between threads, so it cannot
// address the tenth call of a process. This tracer can: a seccomp filter stops the process
// at the calls that change files, and the tracer counts them and fails or kills at one.

// filteredCalls are the system calls that change files, by number; those that only some
// processors have are olderCalls.
var filteredCalls = map[uint64]string{
	unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64", unix.SYS_WRITEV: "writev", unix.SYS_PWRITEV: "pwritev",
	unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FTRUNCATE: "ftruncate",
	unix.SYS_FALLOCATE: "fallocate", unix.SYS_OPENAT: "openat", unix.SYS_MKDIRAT: "mkdirat",
	unix.SYS_UNLINKAT: "unlinkat", unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2",
	unix.SYS_LINKAT: "linkat", unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHOWN: "fchown", unix.SYS_TRUNCATE: "truncate",
}

// place is one system call of a run that changes a file.
type place struct {
	call, file string // pwrite64, rewards.db-wal; the file "log" is standard error
	nth        int    // of this call on this file, from 1
}

func (p place) String() string { return fmt.Sprintf("%s %s %d", p.call, p.file, p.nth) }

// fault is injected at a place.
type fault struct {
	kill  bool          // the process is killed before the call; with half, after it
	half  bool          // only half of the data is written
	errno syscall.Errno // the call's error
	stays bool          // all later calls on the folder's files fail too, until the fault is lifted
}

func (f fault) String() string {
	switch {
	case f.half:
		return "torn write"
	case f.kill:
		return "kill -9"
	case f.stays:
		return unix.ErrnoName(f.errno) + " from there on"
	default:
		return unix.ErrnoName(f.errno)
	}
}

// injector runs a process under the tracer.
type injector struct {
	folder string // whose files are traced
	pid    int    // of the process
	chosen func(place) bool
	fault  fault
	lifted atomic.Bool // a lasting fault has ended

	mu       sync.Mutex
	seen     []place
	injected []place
	counts   map[place]int // by call and file
}

// calls are the places that the process has reached.
func (i *injector) calls() []place {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]place(nil), i.seen...)
}

// done are the places where a fault was injected.
func (i *injector) done() []place {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]place(nil), i.injected...)
}

// never chooses no place: calls are only counted.
func never(place) bool { return false }

// at chooses one place.
func at(p place) func(place) bool { return func(q place) bool { return p == q } }

// inject prepares a tracer for a process with files in the folder.
func inject(folder string, chosen func(place) bool, f fault) *injector {
	return &injector{folder: folder, chosen: chosen, fault: f, counts: map[place]int{}}
}

// begin starts a command of the binary under the tracer.
func (i *injector) begin(t *testing.T, name string, args ...string) (p *world.Process, before int64) {
	t.Helper()
	logFile, before := world.OpenLog(t, name)
	defer logFile.Close()
	self, err := os.Executable()
	noError(t, err)
	p = &world.Process{Cmd: exec.Command(self, append([]string{underFilter, binary}, args...)...), Exited: make(chan error, 1)}
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Ptrace: true, Setpgid: true}
	p.Cmd.Stderr = logFile
	started := make(chan error)
	go func() {
		// The tracer is a thread, which must outlive its goroutine: its end kills the processes
		// that it started.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := p.Cmd.Start(); err != nil {
			started <- err
			return
		}
		i.pid = p.Cmd.Process.Pid
		err := i.attach()
		started <- err
		if err == nil {
			p.Exited <- i.trace()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("trace %s: %v", name, err)
	}
	return p, before
}

// attach waits for the program's first stop.
func (i *injector) attach() error {
	var status unix.WaitStatus
	if _, err := waitFor(i.pid, &status); err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	return unix.PtraceSetOptions(i.pid, unix.PTRACE_O_TRACESECCOMP|unix.PTRACE_O_TRACECLONE|
		unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_EXITKILL|unix.PTRACE_O_TRACEEXEC)
}

// waitFor waits for a process, or for all threads of a group. The thread may have other
// children, for which others wait.
func waitFor(pid int, status *unix.WaitStatus) (int, error) {
	for {
		got, err := unix.Wait4(pid, status, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return got, err
		}
	}
}

// trace runs the process to its end, and returns that.
func (i *injector) trace() error {
	tid, signal, goOn := i.pid, 0, unix.PtraceCont
	for {
		if tid != 0 {
			_ = goOn(tid, signal) // it may have been killed
		}
		var status unix.WaitStatus
		got, err := waitFor(-i.pid, &status)
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		tid, signal, goOn = got, 0, unix.PtraceCont
		switch {
		case status.Exited() || status.Signaled():
			if got == i.pid {
				return ended(status)
			}
			tid = 0
		case status.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
			if i.atCall(got) {
				goOn = unix.PtraceSyscall // stop again at the call's end
			}
		case status.StopSignal() == unix.SIGTRAP|0x80: // the end of a torn write
			_ = unix.Kill(i.pid, unix.SIGKILL)
		case status.TrapCause() > 0 || status.StopSignal() == unix.SIGSTOP || status.StopSignal() == unix.SIGTRAP:
			// a thread or a program starts
		default:
			signal = int(status.StopSignal())
		}
	}
}

// ended is an exit as os/exec reports it.
func ended(status unix.WaitStatus) error {
	switch {
	case status.Signaled():
		return fmt.Errorf("signal: %s", status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("exit status %d", status.ExitStatus())
	default:
		return nil
	}
}

// underFilter is the first argument that makes the test program start another one under the
// filter.
const underFilter = "run-under-filter"

// runUnderFilter becomes a program that stops at the filtered calls.
func runUnderFilter(program string, args []string) error {
	runtime.LockOSThread()
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for number := range calls() {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(number)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	stopAt := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&stopAt)), 0, 0); err != nil {
		return err
	}
	return unix.Exec(program, append([]string{program}, args...), os.Environ())
}

// calls are all calls that the filter stops at.
func calls() map[uint64]string {
	all := maps.Clone(filteredCalls)
	maps.Copy(all, olderCalls)
	return all
}

// atCall counts the call that a thread is entering, and injects a fault if one is due. It
// reports whether the thread must stop again at the call's end.
func (i *injector) atCall(tid int) (stopAtEnd bool) {
	number, args, err := callOf(tid)
	if err != nil {
		return false // it was killed
	}
	name := calls()[number]
	file := i.fileOf(name, args)
	if file == "" {
		return false
	}
	p := i.count(name, file)
	chosen := i.chosen(p)
	again := i.fault.stays && !i.lifted.Load() && len(i.done()) > 0 && file != "log"
	if !chosen && !again {
		return false
	}
	switch {
	case i.fault.half:
		err = shorten(tid, args[2]/2)
	case i.fault.kill:
		err = unix.Kill(i.pid, unix.SIGKILL)
	default:
		err = refuse(tid, i.fault.errno)
	}
	if err != nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.injected = append(i.injected, p)
	return i.fault.half
}

func (i *injector) count(name, file string) place {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := place{call: name, file: file}
	i.counts[p]++
	p.nth = i.counts[p]
	i.seen = append(i.seen, p)
	return p
}

// fileOf is the file that a call changes: its name in the folder, "log" for standard error,
// "" for all others.
func (i *injector) fileOf(name string, args [3]uint64) string {
	var path string
	switch name {
	case "openat":
		if args[2]&(unix.O_CREAT|unix.O_TRUNC) == 0 {
			return ""
		}
		path = i.text(args[1])
	case "unlinkat", "mkdirat", "renameat", "renameat2", "linkat":
		path = i.text(args[1])
	case "open":
		if args[1]&(unix.O_CREAT|unix.O_TRUNC) == 0 {
			return ""
		}
		path = i.text(args[0])
	case "unlink", "rename", "mkdir", "creat", "truncate", "link", "rmdir":
		path = i.text(args[0])
	default:
		if args[0] == uint64(syscall.Stderr) {
			return "log"
		}
		path, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", i.pid, args[0]))
	}
	if path == i.folder {
		return "folder"
	}
	if inside, found := strings.CutPrefix(path, i.folder+string(filepath.Separator)); found {
		return strings.TrimSuffix(inside, " (deleted)")
	}
	return ""
}

// text reads a path from the process's memory.
func (i *injector) text(address uint64) string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", i.pid))
	if err != nil {
		return ""
	}
	defer memory.Close()
	buffer := make([]byte, unix.PathMax)
	n, _ := memory.ReadAt(buffer, int64(address))
	if end := bytes.IndexByte(buffer[:n], 0); end >= 0 {
		return string(buffer[:end])
	}
	return ""
}
