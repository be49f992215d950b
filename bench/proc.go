package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// cpuTime returns the CPU time of a process and its children so far, also of children that
// have ended. It returns 0 for the process 0.
func cpuTime(root int) (time.Duration, error) {
	const tick = 10 * time.Millisecond // the kernel's unit, the same on all Linux systems
	if root == 0 {
		return 0, nil
	}
	processes, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	found, ticks := false, 0
	for _, p := range processes {
		stat, err := p.Stat()
		if err != nil {
			continue // the process has ended
		}
		if stat.PID == root || stat.PPID == root {
			found = found || stat.PID == root
			ticks += int(stat.UTime+stat.STime) + stat.CUTime + stat.CSTime
		}
	}
	if !found {
		return 0, fmt.Errorf("cannot read the CPU time of process %d: it has ended", root)
	}
	return time.Duration(ticks) * tick, nil
}

// memory returns the resident memory of a process in bytes: now, and the peak so far.
func memory(pid int) (now, peak int64, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, err
	}
	status, err := p.NewStatus()
	return int64(status.VmRSS), int64(status.VmHWM), err
}
