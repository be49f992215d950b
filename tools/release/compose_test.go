package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// The Compose file is valid. The program knows the commands and the variables of its services, and
// every mounted file exists.
func TestCompose(t *testing.T) {
	t.Parallel()
	file := source + "/packaging/compose/compose.yaml"
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv([]string{"POSTGRES_PASSWORD=secret"}))
	check(t, err)
	project, err := options.LoadProject(t.Context())
	check(t, err)
	program := filepath.Join(unpacked(t, filepath.Join(dist, title+".tar.gz")), title, "stockrewards")
	var ours []string
	for name, service := range project.Services {
		for _, mount := range service.Volumes {
			if mount.Type == types.VolumeTypeBind {
				if _, err := os.Stat(mount.Source); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if service.Image != "localhost/stockrewards:"+version {
			continue
		}
		ours = append(ours, name)
		var environment []string
		for key, value := range service.Environment {
			environment = append(environment, key+"="+*value)
		}
		accepted(t, program, environment)
		help := append(slices.Clone([]string(service.Command)), "--help")
		if len(service.Command) == 0 {
			help = []string{"serve", "--help"}
		}
		contains(t, output(t, program, help...), "Usage: stockrewards "+help[0])
	}
	slices.Sort(ours)
	if want := []string{"migrate", "paper", "rewards"}; !slices.Equal(ours, want) {
		t.Errorf("services %q, want %q", ours, want)
	}
	if got := project.Services["rewards"].HealthCheck.Test; !slices.Equal(got, []string{"CMD", "/usr/bin/stockrewards", "health"}) {
		t.Errorf("health check %q", got)
	}
}

// The scripts of the PostgreSQL pair make a synchronous pair, on which the service runs.
func TestPair(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for path := folder; path != os.TempDir(); path = filepath.Dir(path) {
		check(t, os.Chmod(path, 0o777))
	}
	_, first, _ := strings.Cut(freeAddress(t), ":")
	_, second, _ := strings.Cut(freeAddress(t), ":")
	servers, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	check(t, err)
	p := pair{t, folder, servers[len(servers)-1], syscall.Credential{Uid: 65534, Gid: 65534}, first}
	scripts := source + "/packaging/compose/postgres"
	listen := []string{"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + folder}

	// As the entry point of PostgreSQL's image does at the first start.
	p.run("db1", first, "initdb", "--username=postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")
	p.run("db1", first, "sh", "-c", "echo 'host all all all scram-sha-256' >>$PGDATA/pg_hba.conf")
	p.run("db1", first, "pg_ctl", "-w", "-l", "setup.log", "-o", strings.Join(listen, " "), "start")
	p.run("db1", first, filepath.Join(scripts, "primary.sh"))
	p.run("db1", first, "pg_ctl", "-w", "-m", "fast", "stop")

	primary := p.command("db1", first, "postgres", listen...)
	log := background(t, primary)
	p.await("select 1", "1", log)
	standby := p.command("db2", second, filepath.Join(scripts, "standby.sh"), append(listen, "-c", "port="+second)...)
	p.await("select sync_state from pg_stat_replication", "sync", background(t, standby))

	program := filepath.Join(unpacked(t, filepath.Join(dist, title+".tar.gz")), title, "stockrewards")
	env := []string{
		"PGPASSWORD=secret", "STOCKREWARDS_DATABASE=postgres://stockrewards@127.0.0.1:" + first + ",127.0.0.1:" + second +
			"/rewards?sslmode=disable&target_session_attrs=read-write",
	}
	check(t, try("/", env, program, "migrate"))
	check(t, try("/", env, program, "app", "create", "shop"))
	check(t, primary.Process.Kill())
	_ = primary.Wait() // it was killed
	p.run("db2", second, "pg_ctl", "promote")
	check(t, try("/", env, program, "audit"))
	check(t, try("/", env, program, "app", "suspend", "shop"))
	check(t, standby.Process.Signal(syscall.SIGINT)) // a fast shutdown
	check(t, standby.Wait())
}

// pair runs the programs of two servers as a user without rights.
type pair struct {
	t           *testing.T
	folder, bin string
	owner       syscall.Credential
	primary     string // its port
}

// command is a program of a server, with the environment of its container.
func (p pair) command(server, port, name string, args ...string) *exec.Cmd {
	data := filepath.Join(p.folder, server)
	if _, err := os.Stat(data); os.IsNotExist(err) {
		check(p.t, os.Mkdir(data, 0o700))
		check(p.t, os.Chown(data, int(p.owner.Uid), int(p.owner.Gid)))
	}
	cmd := exec.CommandContext(p.t.Context(), "env", append([]string{name}, args...)...)
	cmd.Dir, cmd.WaitDelay = data, time.Second
	cmd.Env = append(os.Environ(), "PATH="+p.bin+":"+os.Getenv("PATH"), "PGDATA="+data, "PGPORT="+port, "PGHOST="+p.folder,
		"POSTGRES_PASSWORD=secret", "PGPASSWORD=secret", "PRIMARY=127.0.0.1", "PRIMARY_PORT="+p.primary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &p.owner, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs a program that must succeed.
func (p pair) run(server, port, name string, args ...string) string {
	p.t.Helper()
	out, err := p.command(server, port, name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", server, name, err, out)
	}
	return strings.TrimSpace(string(out))
}

// await waits until a query on the primary returns a value.
func (p pair) await(query, want string, log *bytes.Buffer) {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		got, err := p.command("db1", p.primary, "psql", "-U", "postgres", "-Atc", query).CombinedOutput()
		if err == nil && strings.TrimSpace(string(got)) == want {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: %v %s, want %s\n%s", query, err, got, want, log)
		}
	}
}
