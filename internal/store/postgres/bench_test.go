package postgres_test

import (
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	c := pgtest.Start(b)
	storetest.Bench(b, func(b *testing.B) store.Engine {
		b.Helper()
		e, err := postgres.Open(b.Context(), c.Database(b, "bench"), postgres.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = e.Close() })
		return e
	})
}
