package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func machine(ctx context.Context, folder, command string) []string {
	first := func(program string, args ...string) string {
		out, _ := exec.CommandContext(ctx, program, args...).CombinedOutput() // wrk -v exits with 1
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return line
	}
	postgres := "none"
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) > 0 {
		postgres = first(found[len(found)-1], "--version")
	}
	commit := first("git", "rev-parse", "--short=12", "HEAD")
	if first("git", "status", "--porcelain") != "" {
		commit += " with changes"
	}
	wrk, _, _ := strings.Cut(first("wrk", "-v"), " Copyright")
	return []string{
		"CPU: " + model() + fmt.Sprintf(", %d cores", runtime.NumCPU()),
		"kernel: " + first("uname", "-sr"),
		"load before: " + loadAverage(),
		"Go: " + strings.TrimPrefix(runtime.Version(), "go"),
		"PostgreSQL: " + postgres,
		"wrk: " + wrk,
		"stores: " + folder,
		"date: " + time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		"commit: " + commit,
		"command: `" + strings.TrimSpace(command) + "`",
	}
}

func model() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// loadAverage returns the load of the last 1, 5 and 15 minutes.
func loadAverage() string {
	const shown = 3
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(shown, len(fields))], " ")
}
