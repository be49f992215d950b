// Package main_test builds a release of the working tree, and installs and runs what it
// consists of.
package main_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "all platforms, a fresh compiler cache, packages installed into a new Debian, podman")

const (
	version = "0.9.0"
	title   = "stockrewards_" + version + "_linux_amd64"
)

// tool is the built command, dist the release that it made, and source what it was made from.
var tool, dist, source string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	folder, err := os.MkdirTemp("", "release-test")
	if err == nil {
		err = os.Chmod(folder, 0o755)
		defer os.RemoveAll(folder)
		tool, dist, source = filepath.Join(folder, "release"), filepath.Join(folder, "dist"), filepath.Join(folder, "source")
		err = errors.Join(err, try(".", nil, "go", "build", "-o", tool, "."), snapshot(source))
	}
	if err == nil {
		err = makeRelease(source, dist, platforms())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func platforms() string {
	if *long {
		return "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"
	}
	return "linux/amd64"
}

// snapshot copies the working tree into a repository with one commit, which is the same
// wherever and whenever it is made.
func snapshot(to string) error {
	list, err := exec.Command("git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		from, copied := filepath.Join("..", "..", name), filepath.Join(to, name)
		info, err := os.Stat(from)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not committed yet
		}
		content, readErr := os.ReadFile(from)
		if err := errors.Join(err, readErr, os.MkdirAll(filepath.Dir(copied), 0o755)); err != nil {
			return err
		}
		if err := os.WriteFile(copied, content, info.Mode()); err != nil {
			return err
		}
	}
	env := []string{
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann",
		"GIT_COMMITTER_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=2026-11-01T12:00:00Z",
		"GIT_COMMITTER_DATE=2026-11-01T12:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null",
	}
	return errors.Join(try(to, env, "git", "init", "-q", "-b", "main"), try(to, env, "git", "add", "-A"),
		try(to, env, "git", "commit", "-q", "-m", "release"))
}

// makeRelease makes a release.
func makeRelease(source, dist, platforms string, env ...string) error {
	return try(source, env, tool, "-version", version, "-out", dist, "-platforms", platforms)
}

// try runs a program in a folder. Its output is in the error.
func try(folder string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// output runs a program that must succeed, and returns what it prints on both outputs.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// background starts a program until the test ends, and returns its output so far.
func background(t *testing.T, cmd *exec.Cmd) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &out
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains checks that an output has each string.
func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

// unpacked is a folder with the content of an archive.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	folder := t.TempDir()
	output(t, "tar", "-xf", archive, "-C", folder)
	return folder
}

// freeAddress is an address on which nobody listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, l.Close())
	return l.Addr().String()
}
