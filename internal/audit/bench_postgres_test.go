package audit_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/copier"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// BenchmarkPostgres moves books of 20,000 executed rewards, or of as many as
// AUDIT_BENCH_REWARDS says, to PostgreSQL, and audits them there.
func BenchmarkPostgres(b *testing.B) {
	n := 20_000
	if text := os.Getenv("AUDIT_BENCH_REWARDS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		check(b, err)
	}
	path := filepath.Join(b.TempDir(), "books.db")
	fillBooks(b, path, n)
	c := pgtest.Start(b)
	url := ""
	b.Run("copy", func(b *testing.B) {
		var rows int64
		for b.Loop() {
			b.StopTimer()
			url = createDatabase(b, c)
			engine, err := postgres.Open(b.Context(), url, postgres.Options{})
			check(b, err)
			check(b, engine.Close())
			b.StartTimer()
			check(b, copier.Copy(b.Context(), path, url, copier.Options{Progress: func(_ string, sent, total int64) {
				if sent == total {
					rows += total
				}
			}}))
		}
		b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rewards/s")
	})
	b.Run("audit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			books, err := audit.OpenPostgres(b.Context(), url)
			check(b, err)
			report, err := audit.Run(b.Context(), books, audit.Options{})
			if err != nil || !report.OK() {
				b.Fatalf("%v, %+v", err, report)
			}
			check(b, books.Close())
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/reward")
	})
}
