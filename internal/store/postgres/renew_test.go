package postgres_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// startWithLogin starts a server with the database "rewards", of the role "app" with a password.
func startWithLogin(t *testing.T, rule string) *pgtest.Cluster {
	t.Helper()
	c := pgtest.Start(t)
	c.Must(t, "postgres", "create role app login password 'first'")
	c.Must(t, "postgres", "create database rewards owner app")
	path := filepath.Join(c.Folder, "data", "pg_hba.conf")
	rules, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, append([]byte(rule+"\n"), rules...), 0o600))
	c.Must(t, "postgres", "select pg_reload_conf()")
	return c
}

// wantReads ends the sessions of the role and reads over new ones, until the message of the error is the wanted one, ""
// for success.
func wantReads(t *testing.T, c *pgtest.Cluster, e *postgres.Engine, want string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		c.Must(t, "postgres", "select pg_terminate_backend(pid, 1000) from pg_stat_activity where usename = 'app'")
		_, err := one(t, e, `SELECT ''`)
		message := ""
		if e, ok := errors.AsType[*rewards.Error](err); ok {
			message = e.Message
		}
		if message == want && (err == nil) == (want == "") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v; want %q", err, want)
		}
	}
}

// A password is changed while the process runs. All its connections read the new one from the passfile: those for
// requests, the one that listens, and those that watch each host. They use it also while the file is written or missing.
func TestAPasswordIsRotated(t *testing.T) {
	t.Parallel()
	c := startWithLogin(t, "host all app all scram-sha-256")
	passfile := filepath.Join(t.TempDir(), "pgpass")
	write := func(password string) { check(t, os.WriteFile(passfile, []byte("*:*:*:app:"+password+"\n"), 0o600)) }
	write("first")
	e := open(t, fmt.Sprintf("postgres://app@127.0.0.1:%d,localhost:%[1]d/rewards?sslmode=disable&passfile=%s", c.Port, passfile),
		postgres.Options{})
	listening, stop := context.WithCancel(t.Context())
	defer stop()
	go e.Listen(listening, func() {})
	others := func() {
		t.Helper()
		await(t, connect(t, c.URL("rewards")), `select count(*) filter (where query = 'listen stockrewards') = 1
			and count(*) filter (where query like 'select left(pg_walfile_name%') = 2
			from pg_stat_activity where usename = 'app' and state = 'idle'`)
	}
	others()
	c.Must(t, "postgres", "alter role app password 'second'")
	wantReads(t, c, e, "the database refuses the user, the password or the certificate of this service")
	write("second")
	wantReads(t, c, e, "")
	others()
	check(t, os.WriteFile(passfile, nil, 0o600))
	wantReads(t, c, e, "")
	check(t, os.Remove(passfile))
	wantReads(t, c, e, "")
}

// A service file is changed while the process runs. It goes on with the server, user and database of the start, and
// reads the password again when these are the same.
func TestAServiceFileIsChanged(t *testing.T) {
	t.Parallel()
	c := startWithLogin(t, "host all app,other all scram-sha-256")
	c.Must(t, "postgres", "create role other login password 'its'")
	c.Must(t, "postgres", "create database another owner other")
	path := filepath.Join(t.TempDir(), "services")
	write := func(hosts, database, user, password string) {
		check(t, os.WriteFile(path, fmt.Appendf(nil, "[rewards]\nhost=%s\nport=%d\ndbname=%s\nuser=%s\npassword=%s\n",
			hosts, c.Port, database, user, password), 0o600))
	}
	const start = "127.0.0.1"
	write(start, "rewards", "app", "first")
	e := open(t, "postgres:///?sslmode=disable&service=rewards&servicefile="+path, postgres.Options{})
	for name, change := range map[string]func(){
		"a user":        func() { write(start, "rewards", "other", "its") },
		"a database":    func() { write(start, "another", "app", "") },
		"a second host": func() { write(start+",127.0.0.2", "rewards", "app", "first") },
		"no service":    func() { check(t, os.WriteFile(path, nil, 0o600)) },
		"no file":       func() { check(t, os.Remove(path)) },
	} {
		change()
		wantReads(t, c, e, "")
		if got, err := one(t, e, `SELECT current_user || ' ' || current_database()`); err != nil || got != "app rewards" {
			t.Errorf("%s: connected as %q, %v", name, got, err)
		}
	}
	c.Must(t, "postgres", "alter role app password 'second'")
	wantReads(t, c, e, "the database refuses the user, the password or the certificate of this service")
	write(start, "rewards", "app", "second")
	wantReads(t, c, e, "")
}

// The certificate of the server is replaced, and then the file with its authority. Without that file nothing connects.
func TestACertificateIsRotated(t *testing.T) {
	t.Parallel()
	c := startWithLogin(t, "hostnossl all app all reject")
	root := filepath.Join(t.TempDir(), "root.crt")
	trusted := issue(t, c)
	check(t, os.WriteFile(root, trusted, 0o600))
	c.Must(t, "postgres", "alter system set ssl = on")
	c.Must(t, "postgres", "select pg_reload_conf()")
	url := fmt.Sprintf("postgres://app@127.0.0.1:%d/rewards?sslmode=verify-full&sslrootcert=%s", c.Port, root)
	var e *postgres.Engine
	for err := errors.New("no TLS yet"); err != nil; e, err = postgres.Open(t.Context(), url, postgres.Options{}) {
		check(t, t.Context().Err())
	}
	t.Cleanup(func() { check(t, e.Close()) })
	renewed := issue(t, c)
	c.Must(t, "postgres", "select pg_reload_conf()")
	wantReads(t, c, e, "the certificate of the database is not trusted")
	check(t, os.Remove(root))
	wantReads(t, c, e, "the files that a connection to the database needs cannot be used")
	check(t, os.WriteFile(root, renewed, 0o600))
	wantReads(t, c, e, "")
}

// issue gives a server a new certificate, which is its own authority.
func issue(t *testing.T, c *pgtest.Cluster) (cert []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	data := filepath.Join(c.Folder, "data")
	info, err := os.Stat(data)
	check(t, err)
	owner := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // it is a file
	for name, content := range map[string][]byte{
		"server.crt": cert, "server.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	} {
		path := filepath.Join(data, name)
		check(t, os.WriteFile(path, content, 0o600))
		check(t, os.Chown(path, int(owner.Uid), int(owner.Gid)))
	}
	return cert
}
