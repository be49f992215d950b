// Package pgtest runs PostgreSQL for tests: real servers in temporary folders, on
// loopback, from the programs that Debian installs.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a PostgreSQL server with its own data.
type Cluster struct {
	Folder string // of the data and the log
	Port   int

	bin   string
	owner *syscall.Credential // nil: the user of this process
	cmd   *exec.Cmd
	ended chan error

	databases   atomic.Int64 // for names
	template    sync.Once
	templateErr error
}

// Start creates and starts a cluster with the settings ("name=value"). The end of the
// test stops and removes it.
func Start(tb testing.TB, settings ...string) *Cluster {
	tb.Helper()
	c, err := New(settings...)
	check(tb, err)
	tb.Cleanup(func() { check(tb, c.Close()) })
	return c
}

// New creates and starts a cluster with the settings. The caller must call Close.
func New(settings ...string) (*Cluster, error) { return NewIn("", settings...) }

// NewIn is New with the files in a new folder of parent, or of the system's temporary
// folder if parent is "". All users must be able to enter parent.
func NewIn(parent string, settings ...string) (*Cluster, error) {
	c, err := create(parent)
	if err != nil {
		return nil, err
	}
	out, err := c.command("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), c.Close())
	}
	if err := c.Run(settings...); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// create makes a cluster without data in a new folder of parent.
func create(parent string) (c *Cluster, err error) {
	c = &Cluster{}
	if c.bin, err = programs(); err != nil {
		return nil, err
	}
	if c.Folder, err = os.MkdirTemp(parent, "pgtest"); err != nil {
		return nil, err
	}
	err = c.dropRoot()
	if err == nil {
		c.Port, err = freePort()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close stops the server and removes the folder. If the server crashed, on a full disk for instance, its
// error says why: the tests only saw lost connections.
func (c *Cluster) Close() error {
	c.Kill()
	return errors.Join(c.crash(), os.RemoveAll(c.Folder))
}

// crash returns what the log says of crashes that no test ordered.
func (c *Cluster) crash() error {
	text, err := os.ReadFile(c.logPath())
	if errors.Is(err, fs.ErrNotExist) { // it never ran
		return nil
	}
	if lines := crashed.FindAllString(string(text), 5); len(lines) > 0 { //nolint:mnd // the rest is the same
		return fmt.Errorf("the server crashed:\n%s", strings.Join(lines, "\n"))
	}
	return err
}

var crashed = regexp.MustCompile(`(?m)^.*(PANIC:|was terminated by signal|No space left).*$`)

// programs finds the folder of PostgreSQL's programs.
func programs() (string, error) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("cannot find PostgreSQL's programs: run tools/install.sh postgres")
	}
	return filepath.Dir(path), nil
}

// dropRoot gives the folder to another user, because root must not run the server.
func (c *Cluster) dropRoot() error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	c.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.Join(uidErr, gidErr, os.Chown(c.Folder, int(uid), int(gid)))
}

func (c *Cluster) data() string { return filepath.Join(c.Folder, "data") }

// command returns a command for one of PostgreSQL's programs, run as the cluster's owner.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.Folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// Run starts the stopped server and waits until it accepts connections.
func (c *Cluster) Run(settings ...string) error {
	args := []string{"-D", c.data(), "-p", strconv.Itoa(c.Port), "-k", c.Folder, "-h", "127.0.0.1"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	logFile, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close()
	c.cmd = c.command("postgres", args...)
	c.cmd.Stdout, c.cmd.Stderr = logFile, logFile
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(c.cmd, c.ended)
	return c.wait()
}

func (c *Cluster) wait() error {
	const most = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(20 * time.Millisecond): //nolint:mnd // it takes half a second
		case <-ctx.Done():
			text, _ := os.ReadFile(c.logPath())
			return fmt.Errorf("cannot connect to the server: %w\n%s", err, text)
		}
	}
}

func (c *Cluster) logPath() string { return filepath.Join(c.Folder, "server.log") }

// URL returns the URL of a database.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.Port, database)
}

// PID returns the id of the running server's main process.
func (c *Cluster) PID() int { return c.cmd.Process.Pid }

// Kill stops the server without a shutdown, as a power failure would.
func (c *Cluster) Kill() { c.end(syscall.SIGQUIT) } // of all processes, without a checkpoint

// Stop shuts the server down, with a checkpoint.
func (c *Cluster) Stop() { c.end(syscall.SIGINT) }

func (c *Cluster) end(by syscall.Signal) {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Signal(by)
	<-c.ended
	c.cmd = nil
}

// NewDatabase creates a database with a new name and returns its URL.
func (c *Cluster) NewDatabase(ctx context.Context) (string, error) { return c.newDatabase(ctx, "") }

func (c *Cluster) newDatabase(ctx context.Context, options string) (string, error) {
	name := fmt.Sprint("test", c.databases.Add(1))
	return c.URL(name), c.Exec(ctx, "postgres", "create database "+name+options)
}

// Drop removes a database, for its space: hundreds of them take gigabytes.
func (c *Cluster) Drop(url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	return c.Exec(context.Background(), "postgres", "drop database "+config.Database+" with (force)")
}

// NewDatabaseLike creates a database as a copy of a template, in less time than a schema
// takes. The first call creates the template, for prepare to make the schema in it.
func (c *Cluster) NewDatabaseLike(ctx context.Context, prepare func(url string) error) (string, error) {
	const name = "template_of_tests"
	c.template.Do(func() {
		c.templateErr = c.Exec(ctx, "postgres", "create database "+name)
		if c.templateErr == nil {
			c.templateErr = prepare(c.URL(name))
		}
	})
	if c.templateErr != nil {
		return "", c.templateErr
	}
	return c.newDatabase(ctx, " template "+name)
}

// Exec runs statements in a database.
func (c *Cluster) Exec(ctx context.Context, database, statements string) error {
	conn, err := pgx.Connect(ctx, c.URL(database))
	if err != nil {
		return err
	}
	_, err = conn.PgConn().Exec(ctx, statements).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// Database creates a database with a name and returns its URL.
func (c *Cluster) Database(tb testing.TB, name string) string {
	tb.Helper()
	c.Must(tb, "postgres", "create database "+name)
	return c.URL(name)
}

// Must runs statements in a database and ends the test if they fail.
func (c *Cluster) Must(tb testing.TB, database, statements string) {
	tb.Helper()
	check(tb, c.Exec(tb.Context(), database, statements))
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Keep returns a function that puts the data back as they are now, as from a snapshot of the machine. Both stop the
// server and start it again.
func (c *Cluster) Keep(tb testing.TB) (putBack func()) {
	tb.Helper()
	kept := filepath.Join(c.Folder, "kept")
	c.swap(tb, func() error { return exec.Command("cp", "-a", c.data(), kept).Run() })
	return func() {
		tb.Helper()
		c.swap(tb, func() error { return errors.Join(os.RemoveAll(c.data()), os.Rename(kept, c.data())) })
	}
}

// swap changes the data of the stopped server.
func (c *Cluster) swap(tb testing.TB, change func() error) {
	tb.Helper()
	c.Stop()
	check(tb, change())
	check(tb, c.Run())
}
