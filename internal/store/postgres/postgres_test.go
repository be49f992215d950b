package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// shared is the server of the tests that need no special settings. Its commits do not wait for
// the disk, which no test needs. It vacuums nothing by itself: tests measure tables and statements, and read its log.
var shared struct {
	once    sync.Once
	cluster *pgtest.Cluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func cluster(t *testing.T) *pgtest.Cluster {
	t.Helper()
	shared.once.Do(func() {
		shared.cluster, shared.err = pgtest.New("synchronous_commit=off", "max_connections=500", "autovacuum=off")
	})
	check(t, shared.err)
	return shared.cluster
}

// database makes a database with the current schema, until the test ends.
func database(t *testing.T, c *pgtest.Cluster) (url string) {
	t.Helper()
	url, err := c.NewDatabaseLike(t.Context(), func(url string) error {
		e, err := postgres.Open(context.Background(), url, postgres.Options{})
		if err != nil {
			return err
		}
		return e.Close()
	})
	check(t, err)
	t.Cleanup(func() { check(t, c.Drop(url)) })
	return url
}

// open opens an engine and closes it when the test ends.
func open(t *testing.T, url string, o postgres.Options) *postgres.Engine {
	t.Helper()
	e, err := postgres.Open(t.Context(), url, o)
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	return e
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoStatementCostsMoreOverTheYears runs the contract, too.
func TestContract(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	storetest.Run(t, func(t *testing.T) store.Engine {
		t.Helper()
		return open(t, database(t, c), postgres.Options{Connections: 4})
	})
}

func TestLotsOfAnOlderSnapshot(t *testing.T) {
	t.Parallel()
	storetest.LotsOfAnOlderSnapshot(t, open(t, database(t, cluster(t)), postgres.Options{Connections: 4}))
}

// A server whose settings can lose acknowledged commits is reported.
func TestWeakness(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	for setting, want := range map[string]string{
		"synchronous_commit=remote_write": "synchronous_commit is remote_write",
		"synchronous_commit=on":           "",
	} {
		e := open(t, database(t, c)+"&"+setting, postgres.Options{})
		weakness, err := e.Weakness(t.Context())
		if err != nil || (weakness == "") != (want == "") || !strings.HasPrefix(weakness, want) {
			t.Errorf("%s: %q, %v", setting, weakness, err)
		}
	}
	own := pgtest.Start(t, "full_page_writes=off")
	e := open(t, database(t, own), postgres.Options{})
	if weakness, err := e.Weakness(t.Context()); err != nil || !strings.HasPrefix(weakness, "full_page_writes is off") {
		t.Errorf("full_page_writes=off: %q, %v", weakness, err)
	}
	own.Must(t, "postgres", `ALTER SYSTEM SET fsync = off`)
	own.Must(t, "postgres", `SELECT pg_reload_conf()`)
	for deadline := time.Now().Add(10 * time.Second); ; {
		weakness, err := e.Weakness(t.Context())
		if strings.HasPrefix(weakness, "fsync is off") {
			break
		}
		check(t, err)
		if time.Now().After(deadline) {
			t.Fatalf("fsync=off: %q", weakness)
		}
	}
}

// An operator erases a user while a client's change of the user is under way.
func TestEraseWithinAChange(t *testing.T) {
	t.Parallel()
	storetest.TestEraseWithinAChange(t, open(t, database(t, cluster(t)), postgres.Options{}))
}
