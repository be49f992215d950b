package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// goal is what both engines must reach.
type goal struct {
	name      string
	postgres  bounds
	sqlite    bounds
	unit      string
	precision int
	value     func(engine string) (float64, bool) // false: not measured
}

// bounds are a least and an aim, or one maximum.
type bounds struct{ least, aim, most float64 }

// boughtGoal is the rate at which an engine records and buys, as a share of the ceiling's.
func boughtGoal(engine string) bounds {
	if engine == namePostgres {
		return bounds{least: 0.15, aim: 0.30}
	}
	return bounds{least: 0.15, aim: 0.33}
}

func boughtShares(engine string) []float64 {
	b := boughtGoal(engine)
	return []float64{b.least, b.aim}
}

// goals are the goals with 64 connections, with many rewards, and with many that wait.
func (h *harness) goals() []goal {
	twice := bounds{most: 2}
	list := []goal{
		{"recording, of the ceiling", bounds{0.35, 0.40, 0}, bounds{0.40, 0.50, 0}, "", 3,
			h.median(caseRecord, func(r result) float64 { return r.ratio })},
		{"recording: p99, of the ceiling's", twice, twice, "", 1,
			h.median(caseRecord, func(r result) float64 { return r.tail })},
		{"recorded and bought, of the ceiling", boughtGoal(namePostgres), boughtGoal(nameSQLite), "", 2, h.held},
		{"portfolio of five, of the ceiling", bounds{0.38, 0.45, 0}, bounds{0.60, 0.70, 0}, "", 3,
			h.median(casePortfolio, func(r result) float64 { return r.ratio })},
		{"a lone request, in syncs", bounds{most: 2.2}, bounds{most: 1.5}, "", 1,
			h.median(caseAlone, func(r result) float64 { return r.syncs })},
	}
	return append(append(list, h.growthGoals()...), h.waitingGoals()...)
}

// growthGoals are those with many rewards.
func (h *harness) growthGoals() []goal {
	var list []goal
	for i, c := range growthCases() {
		list = append(list,
			goal{"grown: " + c.name + ", of the empty store's", bounds{least: 0.85}, bounds{least: 0.9}, "", 2,
				h.grown(func(r *growthReport) float64 { return spreadOf(r.cases[i].warm).Median })},
			goal{"grown: " + c.name + ", cold", bounds{least: 0.85}, bounds{least: 0.9}, "", 2,
				h.grown(func(r *growthReport) float64 { return r.cases[i].cold })})
	}
	return append(list,
		goal{"grown: on disk per reward", bounds{most: 700}, bounds{most: 400}, " bytes", 0,
			h.grown(func(r *growthReport) float64 { return r.bytes(r.sizes.Data) })},
		goal{"grown: the same with the log", bounds{}, bounds{}, " bytes", 0,
			h.grown(func(r *growthReport) float64 { return r.bytes(r.sizes.Data + r.sizes.Log) })},
		goal{"grown: start", bounds{most: 2}, bounds{most: 2}, " s", 2,
			h.grown(func(r *growthReport) float64 { return r.serve.started.Seconds() })},
		goal{"grown: memory", bounds{most: 200}, bounds{most: 200}, " MiB", 0,
			h.grown(func(r *growthReport) float64 { return mebibytes(r.serve.peak) })})
}

// waitingGoals are those with many rewards that wait.
func (h *harness) waitingGoals() []goal {
	waiting := func(of func(waitingReport) float64) func(string) (float64, bool) {
		return func(engine string) (float64, bool) {
			r := h.growthReportOf(engine)
			if r == nil || r.waiting.rewards == 0 {
				return 0, false
			}
			return of(r.waiting), true
		}
	}
	five, large := bounds{most: 5}, bounds{most: 300}
	return []goal{
		{"waiting: start", five, five, " s", 2, waiting(func(r waitingReport) float64 { return r.started.Seconds() })},
		{"waiting: memory", large, large, " MiB", 0, waiting(func(r waitingReport) float64 {
			return mebibytes(max(r.recorded, r.served, r.bought))
		})},
		{"waiting: a page by status, p99", five, five, " ms", 2,
			waiting(func(r waitingReport) float64 { return milliseconds(r.byStatus.P99) })},
		{"waiting: a page of a user, p99", five, five, " ms", 2,
			waiting(func(r waitingReport) float64 { return milliseconds(r.byUser.P99) })},
	}
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median measures the median of a case.
func (h *harness) median(name string, of func(result) float64) func(string) (float64, bool) {
	return func(engine string) (float64, bool) {
		list := resultsOf(h.results, name, engine)
		return medianOf(list, of), len(list) > 0
	}
}

// held is the largest share of the ceiling that an engine holds.
func (h *harness) held(engine string) (share float64, measured bool) {
	for _, r := range h.report.endToEnd {
		if r.target != engine {
			continue
		}
		if measured = true; r.holds() {
			share = max(share, r.share)
		}
	}
	return share, measured
}

func (h *harness) growthReportOf(engine string) *growthReport {
	i := slices.IndexFunc(h.report.growth, func(r *growthReport) bool { return r.engine == engine })
	if i < 0 {
		return nil
	}
	return h.report.growth[i]
}

func (h *harness) grown(of func(*growthReport) float64) func(string) (float64, bool) {
	return func(engine string) (float64, bool) {
		r := h.growthReportOf(engine)
		if r == nil {
			return 0, false
		}
		return of(r), true
	}
}

// writeGoals writes the measured goals beside their bounds.
func (h *harness) writeGoals(b *strings.Builder) {
	var rows strings.Builder
	for _, g := range h.goals() {
		sqlite, known := g.cell(nameSQLite, g.sqlite)
		postgres, alsoKnown := g.cell(namePostgres, g.postgres)
		if known || alsoKnown {
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", g.name, sqlite, g.text(g.sqlite), postgres, g.text(g.postgres))
		}
	}
	if rows.Len() == 0 {
		return
	}
	b.WriteString("\nWhat it must reach; bold is not reached.")
	if h.Million > 0 {
		fmt.Fprintf(b, " Grown: with %g million rewards. Waiting: %g million more wait.", h.Million, h.Waiting)
	}
	b.WriteString("\n\n| goal | SQLite | must reach | PostgreSQL | must reach |\n|---|---|---|---|---|\n" + rows.String())
}

// cell returns the measured value, in bold when it is not reached.
func (g goal) cell(engine string, b bounds) (text string, measured bool) {
	value, measured := g.value(engine)
	if !measured {
		return "not measured", false
	}
	text = g.print(value)
	if value < b.least || b.most > 0 && value > b.most {
		text = "**" + text + "**"
	}
	return text, true
}

func (g goal) text(b bounds) string {
	switch {
	case b.most > 0:
		return fmt.Sprintf("at most %g%s", b.most, g.unit)
	case b.aim > 0:
		return fmt.Sprintf("%.2f, aim %.2f", b.least, b.aim)
	case b.least > 0:
		return fmt.Sprintf("%g", b.least)
	}
	return ""
}

func (g goal) print(value float64) string { return fmt.Sprintf("%.*f%s", g.precision, value, g.unit) }
