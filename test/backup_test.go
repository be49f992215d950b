package test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stockrewards/test/world"
)

// A backup is written under the name that was given, also when SQLite would give that a meaning, and nowhere else.
func TestBackupTakesEveryName(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	folder := t.TempDir()
	for _, name := range []string{"file:copy.db", ":memory:", "file:/tmp/x.db?mode=memory", "a b%41?.db"} {
		path := filepath.Join(folder, name)
		noError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		cmd := exec.CommandContext(t.Context(), binary, "backup", name, "--database", s.database())
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		succeeds(t, name+" is written and audited")(string(out), err)
		info, err := os.Stat(path)
		noError(t, err)
		if info.Mode() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: mode %s, %d bytes", name, info.Mode(), info.Size())
		}
	}
	noError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".partial") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

// refusing runs a command under a file system that refuses what is chosen, and returns its error and its log.
func (s *service) refusing(name string, errno syscall.Errno, chosen func(place) bool, args ...string) (string, error) {
	s.t.Helper()
	i := inject(s.folder, chosen, fault{errno: errno})
	p, before := i.begin(s.t, name, append(args, "--database", s.database())...)
	err := <-p.Exited
	if len(i.done()) == 0 {
		s.t.Errorf("%s: nothing was refused", name)
	}
	return world.ReadLog(s.t, name)[before:], err
}

// A backup that cannot be audited is complete under its name, and the error says so.
func TestBackupThatIsNotAudited(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	copied := filepath.Join(s.folder, "copy.db")
	note := copied + ".moved" // which the audit cannot read
	noError(t, os.WriteFile(note, []byte("x"), 0o600))
	fails(t, "exit status 1", copied+" is written, but not audited: cannot read "+note,
		"; run `stockrewards audit --database sqlite:"+copied+"`")(s.try("backup", copied))
	noError(t, os.Remove(note))
	succeeds(t, "checks hold")(runProgram(t, "audit", "--database", "sqlite:"+copied))
}

// Some file systems, such as vfat, have no hard links. Files get their names there by a rename that replaces none.
func TestFilesWithoutHardLinks(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	links := func(p place) bool { return p.call == "linkat" }
	written := func(name string) string {
		t.Helper()
		path := filepath.Join(s.folder, name)
		if _, err := os.Lstat(path + ".partial"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s.partial is left: %v", name, err)
		}
		return path
	}
	for errno, name := range map[syscall.Errno]string{syscall.EPERM: "eperm", syscall.EOPNOTSUPP: "eopnotsupp"} {
		copied, books := filepath.Join(s.folder, name+".db"), filepath.Join(s.folder, name+".journal")
		succeeds(t)(s.refusing(name+"-backup", errno, links, "backup", copied))
		succeeds(t, "checks hold")(runProgram(t, "audit", "--database", "sqlite:"+written(name+".db")))
		succeeds(t)(s.refusing(name+"-ledger", errno, links, "ledger", "--output", books))
		mustHold(t, written(name+".journal"))
	}
	moves := func(p place) bool { return links(p) || p.call == "renameat2" }
	for _, args := range [][]string{{"backup"}, {"ledger", "--output"}} {
		path := filepath.Join(s.folder, args[0])
		out, err := s.refusing("neither-"+args[0], syscall.ENOSYS, moves, append(args, path)...)
		fails(t, "exit status 1", "its file system has no hard links", "write to another file system")(out, err)
		if _, err := os.Lstat(written(args[0])); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}

	i := inject(s.folder, links, fault{errno: syscall.EPERM})
	p, _ := i.begin(t, "no-links", "serve", "--listen", "127.0.0.1:0", "--database", s.database())
	key := filepath.Join(s.folder, "rewards.db.webhook-key")
	eventually(t, "the key file", 20*time.Second, func() bool {
		_, err := os.Stat(key)
		return err == nil && len(i.done()) == 1
	})
	noError(t, p.Cmd.Process.Kill())
	<-p.Exited
}
