package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wantRefused runs a command on another name of the service's database; it must fail at once
// with a message.
func (s *service) wantRefused(name, want string, args ...string) {
	s.t.Helper()
	other := &service{t: s.t, folder: s.folder, storeURL: "sqlite:" + name, env: s.env}
	other.wantError(want, args...)
}

// One process serves a database, by whatever path, and no command opens it by a hard link.
func TestOneDatabaseUnderTwoNamesIsServedOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	file := strings.TrimPrefix(s.database(), "sqlite:")
	const served = "another process serves this database"
	serve := []string{"serve", "--listen", "127.0.0.1:0"}

	symbolic := filepath.Join(t.TempDir(), "link.db")
	noError(t, os.Symlink(file, symbolic))
	s.wantRefused(symbolic, served, serve...)

	hard := filepath.Join(s.folder, "hard.db")
	noError(t, os.Link(file, hard))
	for _, args := range [][]string{serve, {"app", "create", "second"}, {"audit"}, {"backup", filepath.Join(s.folder, "copy.db")}} {
		s.wantRefused(hard, "has 2 names (hard links)", args...)
	}
	noError(t, os.Remove(hard))

	mounted := filepath.Join(t.TempDir(), "mounted.db")
	noError(t, os.WriteFile(mounted, nil, 0o600))
	bind := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), args[0], args[1:]...).CombinedOutput()
		succeeds(t)(string(out), err)
	}
	bind("mount", "--bind", file, mounted)
	t.Cleanup(func() { bind("umount", mounted) })
	for _, args := range [][]string{serve, {"app", "create", "second"}, {"fulfillment", "pause"}} {
		s.wantRefused(mounted, "the file itself is mounted", args...)
	}

	moved := filepath.Join(t.TempDir(), "moved.db")
	noError(t, os.Rename(file, moved)) // the service keeps using the file
	s.wantRefused(moved, served, serve...)
	noError(t, os.Rename(moved, file))

	noError(t, os.Symlink(filepath.Join(s.folder, "nothing.db"), filepath.Join(s.folder, "dangling.db")))
	s.wantRefused(filepath.Join(s.folder, "dangling.db"), "symbolic link to a missing file", serve...)
	s.newUser("anna")
	s.command("audit")
}

// Files that others can read become private; files that everyone can write are refused.
func TestDatabaseFilesArePrivate(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	s.newUser("anna")
	file := strings.TrimPrefix(s.database(), "sqlite:")
	symbolic := filepath.Join(t.TempDir(), "link.db")
	noError(t, os.Symlink(file, symbolic))
	linked := &service{t: t, folder: s.folder, storeURL: "sqlite:" + symbolic}
	files := []string{file, file + "-wal", file + "-shm", file + ".lock", file + ".setup.lock"}
	for _, mode := range []os.FileMode{0o644, 0o660} {
		for _, name := range files {
			noError(t, os.Chmod(name, mode))
		}
		linked.command("app", "list")
		for _, name := range files {
			if got := modeOf(t, name); got != 0o600 {
				t.Errorf("%s has the mode %o, had %o, want 600", name, got, mode)
			}
		}
	}
	for _, name := range files {
		noError(t, os.Chmod(name, 0o606))
		linked.wantRefused(symbolic, "its mode 0606 lets everyone write to it", "app", "list")
		noError(t, os.Chmod(name, 0o600))
	}
	noError(t, s.stop())
	paper := filepath.Join(s.folder, "paper.db")
	noError(t, os.Chmod(paper, 0o644))
	s.start()
	if got := modeOf(t, paper); got != 0o600 {
		t.Errorf("%s has the mode %o, want 600", paper, got)
	}
	noError(t, s.stop())
	linked.start() // its account is that of the books beside the real file, and its key, too
	if list, err := os.ReadDir(filepath.Dir(symbolic)); err != nil || len(list) != 1 {
		t.Errorf("beside the symbolic link are %v, %v", list, err)
	}
}

func modeOf(t *testing.T, name string) os.FileMode {
	t.Helper()
	info, err := os.Stat(name)
	noError(t, err)
	return info.Mode().Perm()
}
