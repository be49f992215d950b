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
	sqlite    bounds
	postgres  bounds
	unit      string
	precision int // digits after the point
	value     measure
}

// bounds are a least and an aim, or one maximum.
type bounds struct{ least, aim, most float64 }

func aim(least, aim float64) bounds { return bounds{least: least, aim: aim} }

func most(n float64) bounds { return bounds{most: n} }

// boughtGoal is the rate at which an engine records and buys, as a share of the ceiling's.
func boughtGoal(engine string) bounds {
	if engine == namePostgres {
		return aim(0.15, 0.30)
	}
	return aim(0.15, 0.33)
}

func boughtShares(engine string) []float64 {
	b := boughtGoal(engine)
	return []float64{b.least, b.aim}
}

// measure returns what an engine reached, or false when the run did not measure it.
type measure func(engine string) (value float64, measured bool)

// goals are the goals with 64 connections, with many rewards, and with many that wait.
func (h *harness) goals() []goal {
	ratio := func(r result) float64 { return r.ratio }
	p99 := h.median(caseRecord, func(r result) float64 { return r.tail })
	alone := h.median(caseAlone, func(r result) float64 { return r.syncs })
	record, portfolio := h.median(caseRecord, ratio), h.median(casePortfolio, ratio)
	list := []goal{
		{"recording, of the ceiling", aim(0.40, 0.50), aim(0.35, 0.40), "", 3, record},
		{"recording by batches, of single requests", aim(2, 0), aim(2, 0), "", 1, h.batches},
		{"recording: p99, of the ceiling's", most(2), most(2), "", 1, p99},
		{"recorded and bought, of the ceiling", boughtGoal(nameSQLite), boughtGoal(namePostgres), "", 2, h.held},
		{"portfolio of five, of the ceiling", aim(0.60, 0.70), aim(0.38, 0.45), "", 3, portfolio},
		{"a lone request, in syncs", most(1.5), most(2.2), "", 1, alone},
	}
	return append(append(list, h.growthGoals()...), h.waitingGoals()...)
}

// growthGoals are those with many rewards.
func (h *harness) growthGoals() []goal {
	var list []goal
	for i, c := range growthCases() {
		warm := h.grown(func(r *growthReport) float64 { return spreadOf(r.cases[i].warm).Median })
		cold := h.grown(func(r *growthReport) float64 { return r.cases[i].cold })
		list = append(list,
			goal{"grown: " + c.name + ", of the empty store's", aim(0.9, 0), aim(0.85, 0), "", 2, warm})
		if h.Cold {
			list = append(list, goal{"grown: " + c.name + ", cold", aim(0.9, 0), aim(0.85, 0), "", 2, cold})
		}
	}
	data := h.grown(func(r *growthReport) float64 { return r.bytes(r.sizes.Data) })
	all := h.grown(func(r *growthReport) float64 { return r.bytes(r.sizes.Data + r.sizes.Log) })
	start := h.grown(func(r *growthReport) float64 { return r.serve.started.Seconds() })
	peak := h.grown(func(r *growthReport) float64 { return mebibytes(r.serve.peak) })
	return append(list,
		goal{"grown: on disk per reward", most(400), most(700), " bytes", 0, data},
		goal{"grown: the same with the log", bounds{}, bounds{}, " bytes", 0, all},
		goal{"grown: start", most(2), most(2), " s", 2, start},
		goal{"grown: memory", most(200), most(200), " MiB", 0, peak})
}

// waitingGoals are those with many rewards that wait.
func (h *harness) waitingGoals() []goal {
	start := h.waiting(func(r waitingReport) float64 { return r.started.Seconds() })
	peak := h.waiting(func(r waitingReport) float64 { return mebibytes(max(r.recorded, r.served, r.bought)) })
	byStatus := h.waiting(func(r waitingReport) float64 { return milliseconds(r.byStatus.P99) })
	byUser := h.waiting(func(r waitingReport) float64 { return milliseconds(r.byUser.P99) })
	return []goal{
		{"waiting: start", most(5), most(5), " s", 2, start},
		{"waiting: memory", most(300), most(300), " MiB", 0, peak},
		{"waiting: a page by status, p99", most(5), most(5), " ms", 2, byStatus},
		{"waiting: a page of a user, p99", most(5), most(5), " ms", 2, byUser},
	}
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median measures the median of a case.
func (h *harness) median(name string, of func(result) float64) measure {
	return func(engine string) (float64, bool) {
		list := resultsOf(h.results, name, engine)
		return medianOf(list, of), len(list) > 0
	}
}

// batches is the rate of awards that come in batches, as a multiple of single requests'.
func (h *harness) batches(engine string) (float64, bool) {
	rate := func(r result) float64 { return r.rate() }
	single, measured := h.median(caseRecord, rate)(engine)
	batched, alsoMeasured := h.median(caseBatch, rate)(engine)
	return batched / single, measured && alsoMeasured
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

// grown measures a store with many rewards.
func (h *harness) grown(of func(*growthReport) float64) measure {
	return func(engine string) (float64, bool) {
		i := slices.IndexFunc(h.report.growth, func(r *growthReport) bool { return r.engine == engine })
		if i < 0 {
			return 0, false
		}
		return of(h.report.growth[i]), true
	}
}

// waiting measures a store with many rewards that wait.
func (h *harness) waiting(of func(waitingReport) float64) measure {
	return func(engine string) (value float64, measured bool) {
		value, _ = h.grown(func(r *growthReport) float64 {
			measured = r.waiting.rewards > 0
			return of(r.waiting)
		})(engine)
		return value, measured
	}
}

// writeGoals writes the measured goals beside their bounds.
func (h *harness) writeGoals(b *strings.Builder) {
	var rows strings.Builder
	for _, g := range h.goals() {
		sqlite, known := g.cell(nameSQLite, g.sqlite)
		postgres, alsoKnown := g.cell(namePostgres, g.postgres)
		if known || alsoKnown {
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", g.name, sqlite, g.text(g.sqlite), postgres,
				g.text(g.postgres))
		}
	}
	if rows.Len() == 0 {
		return
	}
	b.WriteString("\nWhat it must reach; bold is not reached.")
	if h.Million > 0 {
		fmt.Fprintf(b, " Grown: with %g million rewards. Waiting: %g million more wait.", h.Million, h.Waiting)
	}
	b.WriteString("\n\n| goal | SQLite | must reach | PostgreSQL | must reach |\n|---|---|---|---|---|\n")
	b.WriteString(rows.String())
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
