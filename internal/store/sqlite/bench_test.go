package sqlite_test

import (
	"path/filepath"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) store.Engine {
		b.Helper()
		e, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "rewards.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = e.Close() })
		return e
	})
}
