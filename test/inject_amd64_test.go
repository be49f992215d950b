package test

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// olderCalls are system calls that change files and that newer processors lack.
var olderCalls = map[uint64]string{
	unix.SYS_OPEN: "open", unix.SYS_UNLINK: "unlink", unix.SYS_RENAME: "rename", unix.SYS_MKDIR: "mkdir",
	unix.SYS_CREAT: "creat", unix.SYS_LINK: "link", unix.SYS_RMDIR: "rmdir",
}

// callOf is the system call that a stopped thread is entering, with its first arguments.
func callOf(tid int) (number uint64, args [3]uint64, err error) {
	var r unix.PtraceRegs
	err = unix.PtraceGetRegs(tid, &r)
	return r.Orig_rax, [3]uint64{r.Rdi, r.Rsi, r.Rdx}, err
}

// refuse makes the call that a stopped thread is entering fail without effect.
func refuse(tid int, errno syscall.Errno) error {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return err
	}
	r.Orig_rax, r.Rax = ^uint64(0), -uint64(errno)
	return unix.PtraceSetRegs(tid, &r)
}

// shorten changes the length of the write that a stopped thread is entering.
func shorten(tid int, bytes uint64) error {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return err
	}
	r.Rdx = bytes
	return unix.PtraceSetRegs(tid, &r)
}
