package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the kernel's unit of CPU time, the same on all Linux systems.
const tick = 10 * time.Millisecond

// processTime is the content of /proc/PID/stat.
type processTime struct {
	parent int
	own    time.Duration // user and system
	ended  time.Duration // of children that were waited for
}

// parseStat parses /proc/PID/stat.
func parseStat(text string) (processTime, error) {
	const parent, user, last = 1, 11, 14
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // a name can hold anything
	if len(fields) <= last {
		return processTime{}, fmt.Errorf("/proc/PID/stat %q is too short", text)
	}
	var n [last + 1]int64
	var errs []error
	for i := parent; i <= last; i++ {
		var err error
		n[i], err = strconv.ParseInt(fields[i], 10, 64)
		errs = append(errs, err)
	}
	return processTime{
		parent: int(n[parent]),
		own:    time.Duration(n[user]+n[user+1]) * tick,
		ended:  time.Duration(n[user+2]+n[last]) * tick,
	}, errors.Join(errs...)
}

// cpuTime returns the CPU time of a process and its children so far, 0 for the process 0.
func cpuTime(root int) (time.Duration, error) {
	if root == 0 {
		return 0, nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", root))
	if err != nil {
		return 0, err
	}
	top, err := parseStat(string(text))
	if err != nil {
		return 0, err
	}
	sum := top.own + top.ended
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if p, err := parseStat(string(text)); err == nil && p.parent == root {
			sum += p.own + p.ended
		}
	}
	return sum, nil
}

// memory returns the resident memory of a process in bytes: now, and the peak so far.
func memory(pid int) (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseMemory(string(text))
}

// parseMemory parses /proc/PID/status.
func parseMemory(text string) (now, most int64, err error) {
	const kibi = 1024
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		into := map[string]*int64{"VmRSS": &now, "VmHWM": &most}[name]
		if into == nil {
			continue
		}
		if _, err := fmt.Sscanf(strings.TrimSpace(value), "%d kB", into); err != nil {
			return 0, 0, fmt.Errorf("/proc/PID/status %q: %w", line, err)
		}
		*into *= kibi
	}
	if now == 0 || most == 0 {
		return 0, 0, errors.New("/proc/PID/status has no VmRSS or VmHWM")
	}
	return now, most, nil
}
