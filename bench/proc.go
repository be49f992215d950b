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

// tick is the kernel's unit of CPU time, which is the same on all of Linux.
const tick = 10 * time.Millisecond

// processTime is what /proc/PID/stat tells of a process.
type processTime struct {
	parent int
	own    time.Duration // user and system
	ended  time.Duration // of children that have ended and were waited for
}

// parseStat reads the text of /proc/PID/stat.
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

// cpuTime is the CPU time that a process and its children have had so far; 0 for
// the process 0.
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
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
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

// memory is the resident memory of a process in bytes: now, and at most so far.
func memory(pid int) (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseMemory(string(text))
}

// parseMemory reads the text of /proc/PID/status.
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
		return 0, 0, errors.New("/proc/PID/status tells no memory")
	}
	return now, most, nil
}
