package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"
)

type report struct {
	machine   []string
	sync      spread[time.Duration]
	syncs     []time.Duration // the median of each case and round
	processes []processReport
	endToEnd  []endToEndReport
	overload  []overloadReport
	flood     []floodResult
	events    []eventReport
	growth    []*growthReport
}

// processReport is a service's start and its memory after the cases.
type processReport struct {
	target  string
	started time.Duration
	rss     int64 // bytes
	peak    int64
}

// write prints the report and writes it to the file of --markdown.
func (h *harness) write() error {
	var b strings.Builder
	for _, line := range h.report.machine {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	fmt.Fprintf(&b, "- fdatasync of 4 KiB: median %s (%s to %s)\n", short(h.report.sync.Median),
		short(h.report.sync.Least), short(h.report.sync.Most))
	h.writeCases(&b)
	h.writeProcesses(&b)
	for _, r := range h.report.endToEnd {
		b.WriteString(r.String())
	}
	for _, r := range h.report.overload {
		b.WriteString(r.String())
	}
	writeFlood(&b, h.report.flood, h.Engines)
	for _, r := range h.report.events {
		b.WriteString(r.String())
	}
	for _, r := range h.report.growth {
		b.WriteString(r.String())
	}
	h.writeGoals(&b)
	h.say("\n%s", b.String())
	if h.Markdown == "" {
		return nil
	}
	return os.WriteFile(h.Markdown, []byte(b.String()), 0o644)
}

func (h *harness) writeCases(b *strings.Builder) {
	list := chosen(h.only)
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\nMedians of %d rounds of %d s. Ratio: to the ceiling in the same round. CPU: per 1,000 requests, "+
		"of the service + of the database server.\n\n", h.Rounds, h.Seconds)
	b.WriteString("| case | target | ratio | min | max | req/s | p50 | p99 | of the ceiling's | CPU |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range list {
		for _, t := range append([]*target{h.ceiling}, h.engines...) {
			writeCase(b, c, t, resultsOf(h.results, c.name, t.name))
		}
	}
	sync := spreadOf(h.report.syncs)
	fmt.Fprintf(b, "\nfdatasync of 4 KiB before each case: median %s (%s to %s).\n", short(sync.Median),
		short(sync.Least), short(sync.Most))
}

func writeCase(b *strings.Builder, c benchCase, t *target, list []result) {
	ratio := spreadOfResults(list, func(r result) float64 { return r.ratio })
	cpu := short(medianOf(list, func(r result) time.Duration { return r.service }))
	if t.database != 0 {
		cpu += " + " + short(medianOf(list, func(r result) time.Duration { return r.database }))
	}
	fmt.Fprintf(b, "| %s | %s | %.3f | %.3f | %.3f | %.0f | %s | %s | %.1f | %s |\n", c.name, t.name,
		ratio.Median, ratio.Least, ratio.Most, medianOf(list, func(r result) float64 { return r.rate() }),
		short(medianOf(list, func(r result) time.Duration { return r.P50 })),
		short(medianOf(list, func(r result) time.Duration { return r.P99 })),
		medianOf(list, func(r result) float64 { return r.tail }), cpu)
}

func (h *harness) writeProcesses(b *strings.Builder) {
	b.WriteString("\n| service over | start until ready | memory after the cases | peak |\n|---|---|---|---|\n")
	for _, p := range h.report.processes {
		fmt.Fprintf(b, "| %s | %s | %d MB | %d MB |\n", p.target, short(p.started), p.rss>>20, p.peak>>20)
	}
}

func resultsOf(all []result, name, target string) []result {
	var list []result
	for _, r := range all {
		if r.name == name && r.target == target {
			list = append(list, r)
		}
	}
	return list
}

func spreadOfResults[T cmp.Ordered](list []result, of func(result) T) spread[T] {
	values := make([]T, len(list))
	for i, r := range list {
		values[i] = of(r)
	}
	return spreadOf(values)
}

func medianOf[T cmp.Ordered](list []result, of func(result) T) T {
	return spreadOfResults(list, of).Median
}

// short prints a duration with about three digits.
func short(d time.Duration) string {
	const hundred = 100
	switch {
	case d >= hundred*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= hundred*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
