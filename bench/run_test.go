package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build builds the harness and the service into a folder. Its flags are those of the
// end-to-end tests, so that both share the build cache. So does the profile, which is the service's.
func build(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-pgo=../cmd/stockrewards/default.pgo", "-o", folder,
		"stockrewards/bench", "stockrewards/cmd/stockrewards")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return folder
}

// harnessCommand returns a small run over SQLite in the folder data.
func harnessCommand(ctx context.Context, programs, data string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "bench"), append([]string{
		"--binary", filepath.Join(programs, "stockrewards"), "--data", data, "--engines", "sqlite",
		"--rounds", "1", "--seconds", "1", "--warm-up", "0", "--users", "64", "--holders", "4",
	}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestHarness(t *testing.T) {
	t.Parallel()
	programs := build(t)
	t.Run("Run", func(t *testing.T) { t.Parallel(); testRun(t, programs) })
	t.Run("Growth", func(t *testing.T) { t.Parallel(); testGrowth(t, programs) })
	t.Run("Interrupt", func(t *testing.T) {
		t.Parallel()
		testEarlyEnd(t, programs, func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(os.Interrupt) })
	})
	t.Run("ClosedOutput", func(t *testing.T) {
		t.Parallel()
		testEarlyEnd(t, programs, func(_ *exec.Cmd, stdout io.Closer) error { return stdout.Close() })
	})
}

// testRun measures the service, reads the report, and checks that nothing is left behind.
func testRun(t *testing.T, programs string) {
	t.Helper()
	data := t.TempDir()
	file := filepath.Join(t.TempDir(), "report.md")
	out, err := harnessCommand(t.Context(), programs, data, "--only", "^record, 1 |^portfolio", "--markdown", file).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n| record, 1 connection | ceiling | 1.000 |", "\n| record, 1 connection | sqlite | ",
		"\n| portfolio, 64 connections | sqlite | ", "\n| a lone request, in syncs | ",
		"\n| portfolio of five, of the ceiling | ", "\n- fdatasync of 4 KiB",
		"\n- commit: ", "| sqlite |", " MB |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	checkRemoved(t, data)
}

// testGrowth makes a store with many rewards, measures it, lets more wait, and reads the report.
func testGrowth(t *testing.T, programs string) {
	t.Helper()
	data := t.TempDir()
	out, err := harnessCommand(t.Context(), programs, data, "--only", "^growth", "--million", "0.002",
		"--waiting", "0.001", "--no-cold").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"\n2000 rewards over sqlite, made in ", "\n| record | ", "\n| grown: list of a user, of the empty store's | ",
		"\n| grown: on disk per reward | ", "\n| waiting: a page of a user, p99 | ", " more rewards wait: ",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	checkRemoved(t, data)
}

// testEarlyEnd ends a run early and checks that nothing is left behind.
func testEarlyEnd(t *testing.T, programs string, end func(*exec.Cmd, io.Closer) error) {
	t.Helper()
	data := t.TempDir()
	cmd := harnessCommand(t.Context(), programs, data)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = nil
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "fdatasync") {
	}
	if err := end(cmd, stdout); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the run ended with %v, want exit status 1", err)
	}
	checkRemoved(t, data)
}

// checkRemoved fails when the folder has a file, or when a program still runs in it.
func checkRemoved(t *testing.T, data string) {
	t.Helper()
	left, err := os.ReadDir(data)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), data) {
			t.Errorf("%q still runs", text)
		}
	}
}
