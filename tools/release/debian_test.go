package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var debianPackage = "stockrewards_" + version + "_amd64.deb"

// The Debian package has what Debian expects, and its unit is confined.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(dist, debianPackage)
	contains(t, output(t, "dpkg-deb", "-f", path), "Package: stockrewards\n", "Version: "+version+"\n", "Maintainer: Ann <ann@example.com>\n")
	if got := output(t, "dpkg-deb", "-I", path, "conffiles"); got != "/etc/stockrewards/serve.env\n" {
		t.Errorf("conffiles: %q", got)
	}
	root := t.TempDir()
	output(t, "dpkg-deb", "-x", path, root)
	// systemd-analyze looks for the program and the settings.
	unit := filepath.Join(root, "stockrewards.service")
	text, err := os.ReadFile(root + "/usr/lib/systemd/system/stockrewards.service")
	check(t, err)
	moved := strings.NewReplacer("/usr/bin/", root+"/usr/bin/", "Documentation=man:", "#").Replace(string(text))
	check(t, os.WriteFile(unit, []byte(moved), 0o600))
	if out := output(t, "systemd-analyze", "verify", unit); out != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	exposure := output(t, "systemd-analyze", "security", "--no-pager", "--offline=true", unit)
	m := regexp.MustCompile(`exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(exposure)
	if m == nil {
		t.Fatal(exposure)
	}
	if level, err := strconv.ParseFloat(m[1], 64); err != nil || level >= 2 {
		t.Errorf("the unit's exposure is %s, want less than 2\n%s", m[1], exposure)
	}
	output(t, "bash", "-n", root+"/usr/share/bash-completion/completions/stockrewards")
	output(t, "groff", "-man", "-z", "-ww", unzipped(t, root+"/usr/share/man/man1/stockrewards.1.gz"))
	settings, err := os.ReadFile(root + "/etc/stockrewards/serve.env")
	check(t, err)
	accepted(t, root+"/usr/bin/stockrewards", variables(string(settings)))
}

// Purging the package removes the secrets too, and keeps the database. Removing it keeps both.
func TestDebianPurge(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	output(t, "dpkg-deb", "-e", filepath.Join(dist, debianPackage), root)
	text, err := os.ReadFile(root + "/postrm")
	check(t, err)
	moved := strings.NewReplacer("/etc/", root+"/etc/", "/var/", root+"/var/", "/run/", root+"/run/", "deb-systemd-helper", "no-such-program").
		Replace(string(text))
	check(t, os.WriteFile(root+"/moved", []byte(moved), 0o600))
	secrets, database := root+"/etc/stockrewards/secrets.env", root+"/var/lib/stockrewards/rewards.db"
	for _, name := range []string{secrets, database} {
		check(t, os.MkdirAll(filepath.Dir(name), 0o700))
		check(t, os.WriteFile(name, []byte("x"), 0o600))
	}
	left := func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	}
	output(t, "sh", root+"/moved", "remove")
	if !left(secrets) || !left(database) {
		t.Error("removing the package removed the secrets or the database")
	}
	contains(t, output(t, "sh", root+"/moved", "purge"), "is kept, because it has a database")
	if left(filepath.Dir(secrets)) || !left(database) {
		t.Errorf("after purging: %t that the secrets are left, %t that the database is", left(secrets), left(database))
	}
	check(t, os.Remove(database))
	output(t, "sh", root+"/moved", "purge")
	if left(filepath.Dir(database)) {
		t.Error("after purging an empty folder is left")
	}
}

// Debian's own checks find nothing.
func TestLintian(t *testing.T) {
	t.Parallel()
	if !*long {
		return // it needs 60 packages
	}
	out := output(t, "lintian", "--allow-root", "--fail-on", "error,warning", filepath.Join(dist, debianPackage))
	if out != "" {
		t.Error(out)
	}
}

// A new Debian installs, upgrades, removes and purges the package. Purging keeps the database.
func TestDebianLife(t *testing.T) {
	t.Parallel()
	if !*long {
		return // debootstrap takes a minute, and needs Debian's mirror
	}
	root := t.TempDir()
	output(t, "debootstrap", "--variant=minbase", "--include=systemd", "bookworm", root) // from its usual mirror
	content, err := os.ReadFile(filepath.Join(dist, debianPackage))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(root, "package.deb"), content, 0o600))
	inside := func(script string) string {
		t.Helper()
		return output(t, "chroot", root, "sh", "-ec", "export DEBIAN_FRONTEND=noninteractive; "+script)
	}
	contains(t, inside("dpkg -i /package.deb"), "systemctl enable --now stockrewards")
	contains(t, inside("systemctl is-enabled stockrewards || true"), "disabled")
	contains(t, inside("stat -c '%U %a' /var/lib/stockrewards; stat -c '%U %a' /etc/stockrewards/serve.env"),
		"stockrewards 700\n", "root 640\n")
	const operate = "set -a; . /etc/stockrewards/serve.env; runuser -u stockrewards -- stockrewards "
	contains(t, inside(operate+"app create shop"), "sr_test_")
	contains(t, inside(operate+"audit"), "hold")
	inside("systemctl enable stockrewards; echo STOCKREWARDS_LEAST_AWARD=1 >>/etc/stockrewards/serve.env")
	contains(t, inside("dpkg -i /package.deb </dev/null"), "back up the database")
	contains(t, inside("cat /etc/stockrewards/serve.env; systemctl is-enabled stockrewards; "+operate+"app list"),
		"STOCKREWARDS_LEAST_AWARD=1", "enabled", "shop")
	inside("dpkg -r stockrewards; test -f /etc/stockrewards/serve.env; test ! -e /usr/bin/stockrewards")
	inside("echo APCA_API_SECRET_KEY=x >/etc/stockrewards/secrets.env")
	contains(t, inside("dpkg -P stockrewards"), "is kept, because it has a database")
	left := inside("test -f /var/lib/stockrewards/rewards.db; dpkg -l stockrewards || true; " +
		"find /etc /usr /lib -name '*stockrewards*' | grep -v -e '^/etc/passwd' || true")
	if strings.Contains(left, "/etc/stockrewards") || strings.Contains(left, "/usr/") {
		t.Errorf("purging left %s", left)
	}
	inside("rm -r /var/lib/stockrewards/*; dpkg -i /package.deb; dpkg -P stockrewards; test ! -e /var/lib/stockrewards")
}

// unzipped writes the content of a compressed file beside it.
func unzipped(t *testing.T, path string) string {
	t.Helper()
	output(t, "gunzip", "-k", path)
	return strings.TrimSuffix(path, ".gz")
}

// variables are the settings of an environment file.
func variables(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

// accepted checks that the program knows every variable: it refuses unknown ones.
func accepted(t *testing.T, program string, environment []string) {
	t.Helper()
	if !slices.ContainsFunc(environment, func(v string) bool { return strings.HasPrefix(v, "STOCKREWARDS_") }) {
		t.Errorf("no settings in %q", environment)
	}
	check(t, try("/", environment, program, "version"))
}
