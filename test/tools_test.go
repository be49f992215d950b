package test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"stockrewards/test/world"
)

// noError ends the test on an error.
var noError = world.Check

// eventually waits until a condition holds. The last look begins after the time is over, however long a look takes.
func eventually(t *testing.T, what string, most time.Duration, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(20 * time.Millisecond) {
		late := time.Now().After(deadline)
		if holds() {
			return
		}
		if late {
			t.Fatalf("no %s after %s", what, most)
		}
	}
}

// sameDay waits until the UTC day lasts for another minute: what is counted by day does not begin again meanwhile.
func sameDay() {
	const day = 24 * time.Hour
	if left := day - time.Since(time.Now().UTC().Truncate(day)); left < time.Minute {
		time.Sleep(left)
	}
}

// succeeds checks that a command succeeds and prints each string. Usage:
// succeeds(t, "1 row")(s.try(args...)).
func succeeds(t *testing.T, prints ...string) func(out string, err error) {
	t.Helper()
	return func(out string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wantText(t, out, prints...)
	}
}

// fails checks that a command fails and that its output and error contain each string, such
// as "exit status 2".
func fails(t *testing.T, prints ...string) func(out string, err error) {
	t.Helper()
	return func(out string, err error) {
		t.Helper()
		if err == nil {
			t.Fatalf("it succeeded, want an error with %q:\n%s", prints, out)
		}
		wantText(t, out+"\n"+err.Error(), prints...)
	}
}

// wantText checks that a message contains each string.
func wantText(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

// copyFile copies a file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	noError(t, err)
	noError(t, os.WriteFile(to, content, 0o600))
}

// commands are all commands of the program, as its help lists them.
func commands(t *testing.T) (names []string) {
	t.Helper()
	help, err := runProgram(t, "--help")
	noError(t, err)
	_, list, _ := strings.Cut(help, "--help")
	for _, m := range regexp.MustCompile(`(?m)^ {2}(\w+(?: \w+)?) {2,}`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	if len(names) < 30 {
		t.Fatalf("only %d commands in\n%s", len(names), help)
	}
	return names
}

// runProgram runs the program and returns its output.
func runProgram(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	return string(out), err
}

// smallDisk mounts a file system of the size; it needs root, as in CI.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", folder).CombinedOutput(); err != nil {
		t.Fatalf("a small disk needs root: mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", folder).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return folder
}

// fill fills the disk with a file.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	noError(t, err)
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			return
		}
	}
}
