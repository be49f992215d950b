package postgres_test

import (
	"context"
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
	return openAt(t, url, o)
}

// openAt opens an engine and closes it when the test ends.
func openAt(t *testing.T, url string, o postgres.Options) *postgres.Engine {
	t.Helper()
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
	runContract(t, pgtest.Start(t), postgres.Options{Connections: 4}, func(e store.Engine) store.Engine { return e })
}

// runContract runs the contract on copies of one database with the schema.
func runContract(t *testing.T, c *pgtest.Cluster, o postgres.Options, wrap func(store.Engine) store.Engine) {
	t.Helper()
	storetest.Run(t, func(t *testing.T) store.Engine {
		t.Helper()
		url, err := c.NewDatabaseLike(t.Context(), func(url string) error {
			e, err := postgres.Open(context.Background(), url, o)
			if err != nil {
				return err
			}
			return e.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		return wrap(openAt(t, url, o))
	})
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
