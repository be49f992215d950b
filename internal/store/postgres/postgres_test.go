package postgres_test

import (
	"strings"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

func open(t *testing.T, c *pgtest.Cluster, o postgres.Options) *postgres.Engine {
	t.Helper()
	url, err := c.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := postgres.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestContract(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	storetest.Run(t, func(t *testing.T) store.Engine { t.Helper(); return open(t, c, postgres.Options{Connections: 4}) })
}

// No use case holds two connections: all works with one.
func TestContractOnOneConnection(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	storetest.Run(t, func(t *testing.T) store.Engine { t.Helper(); return open(t, c, postgres.Options{Connections: 1}) })
}

// A server that may lose what it acknowledges says so.
func TestWeakness(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"synchronous_commit=remote_write": "synchronous_commit is remote_write", "full_page_writes=off": "full_page_writes is off",
		"synchronous_commit=on": "",
	} {
		weakness, err := open(t, pgtest.Start(t, setting), postgres.Options{}).Weakness(t.Context())
		if err != nil || (weakness == "") != (want == "") || !strings.HasPrefix(weakness, want) {
			t.Errorf("%s: %q, %v", setting, weakness, err)
		}
	}
}
