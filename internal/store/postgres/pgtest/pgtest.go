// Package pgtest runs throw-away clusters of PostgreSQL for tests: real servers
// from Debian's programs, each in a folder of its own, reached on loopback.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a running server.
type Cluster struct {
	Folder string // of its data and its log
	Port   int

	bin   string
	owner *syscall.Credential // nil: this process's own
	cmd   *exec.Cmd
	ended chan error

	databases atomic.Int64
}

// Start makes a cluster with the settings ("name=value") and starts it. It is
// stopped when the test ends.
func Start(tb testing.TB, settings ...string) *Cluster {
	tb.Helper()
	c, err := New(settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// New makes a cluster with the settings and starts it, for Close to stop.
func New(settings ...string) (*Cluster, error) { return NewIn("", settings...) }

// NewIn is New with the cluster's files in a folder of the parent, which everybody
// may enter; "" stands for the system's folder of temporary files.
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

// create makes a cluster without data in a folder of the parent.
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

// Close stops the server and removes its folder.
func (c *Cluster) Close() error {
	c.Kill()
	return os.RemoveAll(c.Folder)
}

// programs is the folder of PostgreSQL's programs.
func programs() (string, error) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("PostgreSQL's programs are missing: tools/install.sh postgres installs them")
	}
	return filepath.Dir(path), nil
}

// dropRoot gives the folder to a user that may run the server, which root may not.
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

// command is one of PostgreSQL's programs, as the cluster's owner.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.Folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("no TCP address")
	}
	return address.Port, l.Close()
}

// Run starts the server, which is stopped, and waits until it answers.
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
		case <-time.After(20 * time.Millisecond): //nolint:mnd // it is ready in half a second
		case <-ctx.Done():
			text, _ := os.ReadFile(c.logPath())
			return fmt.Errorf("the server does not answer: %w\n%s", err, text)
		}
	}
}

func (c *Cluster) logPath() string { return filepath.Join(c.Folder, "server.log") }

// URL names a database of the cluster.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.Port, database)
}

// PID is the process id of the server, which runs; its other processes are its
// children.
func (c *Cluster) PID() int { return c.cmd.Process.Pid }

// Kill ends the server as a power failure would.
func (c *Cluster) Kill() {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGQUIT) // at once, its children too, without a checkpoint
	<-c.ended
	c.cmd = nil
}

// NewDatabase makes a database with a name of its own and returns its URL.
func (c *Cluster) NewDatabase(ctx context.Context) (string, error) {
	name := fmt.Sprint("test", c.databases.Add(1))
	return c.URL(name), c.Exec(ctx, "postgres", "create database "+name)
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

// Database makes a database of a name and returns its URL.
func (c *Cluster) Database(tb testing.TB, name string) string {
	tb.Helper()
	c.Must(tb, "postgres", "create database "+name)
	return c.URL(name)
}

// Must runs statements in a database, which must succeed.
func (c *Cluster) Must(tb testing.TB, database, statements string) {
	tb.Helper()
	if err := c.Exec(tb.Context(), database, statements); err != nil {
		tb.Fatal(err)
	}
}
