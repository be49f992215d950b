package audit_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"stockrewards/bench/growth"
	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
)

// BenchmarkRun audits a store of 20,000 rewards on each engine, or of as many as
// AUDIT_BENCH_REWARDS says.
func BenchmarkRun(b *testing.B) {
	n := 20_000
	if s := os.Getenv("AUDIT_BENCH_REWARDS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		check(b, err)
	}
	for name, in := range map[string]audittest.Place{"sqlite": audittest.NewFile, "postgres": audittest.NewDatabase} {
		b.Run(name, func(b *testing.B) {
			where := in(b)
			database := where
			if !audittest.OnPostgres(where) {
				database = "sqlite:" + where
			}
			_, err := growth.Fill(b.Context(), growth.Options{
				Database: database, Rewards: n, Users: max(1, n/10), Apps: 1, Assets: 1, Days: max(1, n/200),
				End: time.Date(2026, 9, 21, 15, 0, 0, 0, time.UTC),
			})
			check(b, err)
			b.ReportAllocs()
			for b.Loop() {
				store, err := audittest.Open(b.Context(), where)
				check(b, err)
				report, err := audit.Run(b.Context(), store, audit.Options{})
				if err != nil || !report.OK() {
					b.Fatalf("%v, %+v", err, report)
				}
				check(b, store.Close())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/reward")
		})
	}
}
