package postgres_test

import (
	"testing"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// The hot use cases over a server that syncs each commit.
func BenchmarkStore(b *testing.B) {
	c := pgtest.Start(b, "fsync=on", "synchronous_commit=on", "full_page_writes=on")
	url, err := c.NewDatabase(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	e, err := postgres.Open(b.Context(), url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	storetest.Bench(b, e)
}
