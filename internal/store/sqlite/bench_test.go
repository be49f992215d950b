package sqlite_test

import (
	"path/filepath"
	"testing"

	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

// The hot use cases over a file, each commit synced.
func BenchmarkStore(b *testing.B) {
	e, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "rewards.db"), sqlite.Options{})
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
