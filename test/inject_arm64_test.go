package test

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// olderCalls are system calls that change files and that this processor lacks.
var olderCalls = map[uint64]string{}

// callOf is the system call that a stopped thread is entering, with its first arguments.
func callOf(tid int) (number uint64, args [3]uint64, err error) {
	var r unix.PtraceRegs
	err = unix.PtraceGetRegs(tid, &r)
	return r.Regs[8], [3]uint64{r.Regs[0], r.Regs[1], r.Regs[2]}, err
}

// refuse makes the call that a stopped thread is entering fail without effect.
func refuse(tid int, errno syscall.Errno) error {
	const systemCall = 0x404 // the register set NT_ARM_SYSTEM_CALL
	none := int32(-1)
	set := unix.Iovec{Base: (*byte)(unsafe.Pointer(&none)), Len: uint64(unsafe.Sizeof(none))}
	_, _, failed := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid), systemCall,
		uintptr(unsafe.Pointer(&set)), 0, 0)
	if failed != 0 {
		return failed
	}
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return err
	}
	r.Regs[0] = -uint64(errno)
	return unix.PtraceSetRegs(tid, &r)
}

// shorten changes the length of the write that a stopped thread is entering.
func shorten(tid int, bytes uint64) error {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return err
	}
	r.Regs[2] = bytes
	return unix.PtraceSetRegs(tid, &r)
}
