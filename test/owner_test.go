package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"stockrewards/test/world"
)

// What root's commands and a start as root make beside a database belongs to the database's user, who can start then.
func TestRootLeavesFilesToTheServicesUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("only root can give files away, as in CI")
	}
	const nobody = 65534
	folder := t.TempDir()
	database := "sqlite:" + filepath.Join(folder, "rewards.db")
	reachable := filepath.Join(folder, "stockrewards")
	noError(t, os.Link(binary, reachable))
	noError(t, os.Chmod(filepath.Dir(folder), 0o755))
	noError(t, os.Chown(folder, nobody, nobody))
	asNobody := func(args ...string) *exec.Cmd {
		cmd := exec.Command(reachable, append(args, "--database", database)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return cmd
	}
	out, err := asNobody("migrate").CombinedOutput()
	succeeds(t)(string(out), err)
	setup := filepath.Join(folder, "rewards.db.setup.lock")
	noError(t, os.Remove(setup))
	s := newService(t, folder)
	s.start()
	s.newUser("anna")
	owners(t, folder, nobody, "rewards.db-wal", "rewards.db.lock", "rewards.db.setup.lock", "rewards.db.webhook-key",
		"paper.db", "paper.db-wal")
	noError(t, s.stop())

	noError(t, os.Chown(setup, 0, 0))
	out, err = asNobody("app", "list").CombinedOutput()
	fails(t, "exit status 1", "setup.lock: permission denied: it belongs to root; give it to nobody (`chown nobody "+setup+
		"`), or remove it")(string(out), err)
	noError(t, os.Chown(setup, nobody, nobody))

	file := filepath.Join(folder, "rewards.db")
	noError(t, os.Chown(file, 0, 0))
	for _, command := range [][]string{{"app", "list"}, {"audit"}} {
		out, err = asNobody(command...).CombinedOutput()
		fails(t, "exit status 1", "cannot open "+file+": this user must be able to read and write the file and its folder",
			": it belongs to root; give it to nobody (`chown nobody "+file+"`)")(string(out), err)
	}
	noError(t, os.Chown(file, nobody, nobody))
	const other = 54321 // has no name
	for _, c := range []struct {
		file int
		want string
	}{{other, ": it belongs to 54321;"}, {nobody, ": its folder belongs to 54321;"}} {
		noError(t, os.Chown(folder, other, other))
		noError(t, os.Chown(file, c.file, c.file))
		give := folder
		if c.file == other {
			give += " " + file
		}
		out, err = asNobody("audit").CombinedOutput()
		fails(t, "exit status 1", c.want+" run this command as 54321, or give it to nobody (`chown nobody "+give+"`)")(string(out), err)
	}
	noError(t, os.Chown(folder, nobody, nobody))
	p := world.Launch(t, "nobody", asNobody("serve", "--listen", "127.0.0.1:0"))
	p.Kill()
}

// owners checks to whom files belong.
func owners(t *testing.T, folder string, want uint32, names ...string) {
	t.Helper()
	for _, name := range names {
		info, err := os.Stat(filepath.Join(folder, name))
		noError(t, err)
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != want || stat.Gid != want {
			t.Errorf("%s belongs to %+v, want the user %d", name, info.Sys(), want)
		}
	}
}
