package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGoals: a goal has the median of its case or the largest share that holds, in bold when it
// is below the least or above the most. Goals that no engine measured are not listed.
func TestGoals(t *testing.T) {
	t.Parallel()
	record := func(engine string, ratio, tail float64) result {
		return result{name: caseRecord, target: engine, ratio: ratio, tail: tail}
	}
	fixed := func(share float64, requests, created int) endToEndReport {
		return endToEndReport{target: nameSQLite, share: share, planned: 100, offered: offered{
			Requests: requests, Took: time.Second, Statuses: map[string]int{"201": created},
		}}
	}
	h := &harness{results: []result{
		record(nameSQLite, 0.39, 3), record(nameSQLite, 0.3, 1.5), record(nameSQLite, 0.5, 1),
		record(namePostgres, 0.35, 2.1),
	}}
	h.report.endToEnd = []endToEndReport{
		fixed(0.1, 100, 100), fixed(0.15, 100, 100), fixed(0.33, 100, 99), fixed(0.4, 90, 90),
	}
	var b strings.Builder
	h.writeGoals(&b)
	_, got, _ := strings.Cut(b.String(), "|---|---|---|---|---|\n")
	const want = "| recording, of the ceiling | **0.390** | 0.40, aim 0.50 | 0.350 | 0.35, aim 0.40 |\n" +
		"| recording: p99, of the ceiling's | 1.5 | at most 2 | **2.1** | at most 2 |\n" +
		"| recorded and bought, of the ceiling | 0.15 | 0.15, aim 0.33 | not measured | 0.15, aim 0.30 |\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestGoalsOfGrowth: a store with many rewards is measured warm and cold, and with what waits.
func TestGoalsOfGrowth(t *testing.T) {
	t.Parallel()
	r := &growthReport{engine: namePostgres, rewards: 1000, serve: processReport{started: time.Second, peak: 201 << 20}}
	r.sizes.Data, r.sizes.Log = 650_000, 100_000
	for range growthCases() {
		r.cases = append(r.cases, growthCase{warm: []float64{0.8, 0.9, 0.95}, cold: 0.5})
	}
	r.waiting = waitingReport{rewards: 1, started: time.Second, served: 300 << 20}
	r.waiting.byUser.P99 = 6 * time.Millisecond
	h := &harness{runCommand: runCommand{Million: 10, Cold: true}}
	h.report.growth = []*growthReport{r}
	var b strings.Builder
	h.writeGoals(&b)
	for _, want := range []string{
		"Grown: with 10 million rewards.",
		"\n| grown: replay, of the empty store's | not measured | 0.9 | 0.90 | 0.85 |",
		"\n| grown: replay, cold | not measured | 0.9 | **0.50** | 0.85 |",
		"\n| grown: on disk per reward | not measured | at most 400 bytes | 650 bytes | at most 700 bytes |",
		"\n| grown: the same with the log | not measured |  | 750 bytes |  |",
		"\n| grown: memory | not measured | at most 200 MiB | **201 MiB** | at most 200 MiB |",
		"\n| waiting: memory | not measured | at most 300 MiB | 300 MiB | at most 300 MiB |",
		"\n| waiting: a page of a user, p99 | not measured | at most 5 ms | **6.00 ms** | at most 5 ms |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
}
