package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stockrewards/bench/growth"
	"stockrewards/internal/store/postgres/pgtest"
)

// growthReport is what an engine does with many rewards.
type growthReport struct {
	engine  string
	rewards int
	loaded  time.Duration
	sizes   growth.Sizes
	cases   []growthCase
	serve   processReport // started with a cold cache
	waiting waitingReport
}

// growthCase compares a case with the empty store's.
type growthCase struct {
	name       string
	empty      []float64 // requests per second of each round
	warm       []float64 // ratio of the rates in each round
	cpu        []float64 // ratio of the CPU times per request in each round
	cold       float64   // ratio of the first seconds with a cold cache to the median of empty
	warmP99    []time.Duration
	coldP99    time.Duration
	coldStarts time.Duration
}

// grown is a target with many rewards.
type grown struct {
	*target

	cluster *pgtest.Cluster // nil on SQLite
}

// growth measures each engine with many rewards beside its empty store, one engine after the
// other, so that the disk must hold only one of them.
func (h *harness) growth(ctx context.Context) error {
	for _, empty := range h.engines {
		r := &growthReport{engine: empty.name}
		h.report.growth = append(h.report.growth, r)
		if err := h.growthOf(ctx, empty, r); err != nil {
			return fmt.Errorf("%s: %w", empty.name, err)
		}
	}
	return nil
}

func (h *harness) growthOf(ctx context.Context, empty *target, r *growthReport) (err error) {
	others := h.ends
	h.ends = nil
	defer func() { err, h.ends = errors.Join(err, h.ends.close()), others }()
	t, err := h.grow(ctx, empty.name, r)
	if err != nil {
		return err
	}
	if err := h.restartCold(ctx, t); err != nil {
		return err
	}
	r.serve.started = t.started
	r.cases = make([]growthCase, len(growthCases()))
	for range h.Rounds {
		for i, c := range growthCases() {
			if err := h.compare(ctx, empty, t.target, c, &r.cases[i]); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	if r.serve.rss, r.serve.peak, err = memory(t.serve.pid()); err != nil {
		return err
	}
	for i, c := range growthCases() {
		if !h.Cold {
			break
		}
		if err := h.measureCold(ctx, t, c, &r.cases[i]); err != nil {
			return fmt.Errorf("%s, cold: %w", c.name, err)
		}
	}
	if h.Waiting > 0 {
		return h.measureWaiting(ctx, t, &r.waiting)
	}
	return nil
}

// grow makes a store with many rewards, starts serve on it once, so that it is as serve leaves
// it, and measures its size.
func (h *harness) grow(ctx context.Context, engine string, r *growthReport) (t grown, err error) {
	const million, perUser, perDay = 1_000_000, 10, 200_000
	if t.target, err = h.newTarget("grown-" + engine); err != nil {
		return t, err
	}
	h.ends.add(func() error { return os.RemoveAll(t.folder) })
	if engine == namePostgres {
		if t.cluster, err = h.startCluster(ctx, t.target); err == nil {
			err = h.startPaper(ctx, t.target, filepath.Join(t.folder, "paper.db"))
		}
	} else {
		t.books = "sqlite:" + filepath.Join(t.folder, "rewards.db")
	}
	if err != nil {
		return t, err
	}
	r.rewards = int(h.Million * million)
	database := t.books
	if t.cluster != nil {
		database += "&synchronous_commit=off" // faster to fill; Measure makes it durable
	}
	filled, err := growth.Fill(ctx, growth.Options{
		Database: database, Rewards: r.rewards, Users: max(r.rewards/perUser, 1), Apps: 100, Assets: 300,
		Days: 1 + r.rewards/perDay, Seed: 1, End: time.Now(),
		Progress: func(text string) { h.say("%s: %s\n", t.name, text) },
	})
	if err != nil {
		return t, err
	}
	r.loaded, t.key = filled.Took, filled.Keys[0].Secret
	h.ends.add(t.stop)
	if err := h.launch(ctx, t.target); err != nil {
		return t, err
	}
	if err := h.prepare(ctx, t.target, true); err != nil {
		return t, err
	}
	if err := t.stop(); err != nil {
		return t, err
	}
	r.sizes, err = growth.Measure(ctx, t.books)
	h.say("%s: made in %s, %.0f bytes per reward\n", t.name, short(r.loaded), r.bytes(r.sizes.Data))
	return t, err
}

// compare measures a case over the empty store and over the grown one.
func (h *harness) compare(ctx context.Context, empty, t *target, c benchCase, g *growthCase) error {
	before, err := h.measureOnce(ctx, empty, c, h.WarmUp)
	if err != nil {
		return fmt.Errorf("empty: %w", err)
	}
	after, err := h.measureOnce(ctx, t, c, h.WarmUp)
	if err != nil {
		return err
	}
	g.name, g.empty = c.name, append(g.empty, before.rate())
	g.cpu = append(g.cpu, quotient(after.service+after.database, before.service+before.database))
	g.warm, g.warmP99 = append(g.warm, after.rate()/before.rate()), append(g.warmP99, after.P99)
	h.say("%s: %-15s %7.0f/s, empty %7.0f/s, %.3f; cpu %s + %s, empty %s + %s\n", t.name, c.name, after.rate(),
		before.rate(), after.rate()/before.rate(), short(after.service), short(after.database), short(before.service),
		short(before.database))
	return nil
}

// measureCold measures the first seconds of a case with a cold cache.
func (h *harness) measureCold(ctx context.Context, t grown, c benchCase, g *growthCase) error {
	if err := h.restartCold(ctx, t); err != nil {
		return err
	}
	r, err := h.measureOnce(ctx, t.target, c, 0)
	if err != nil {
		return err
	}
	g.cold, g.coldP99, g.coldStarts = r.rate()/spreadOf(g.empty).Median, r.P99, t.started
	h.say("%s: %-15s %7.0f/s, cold, %.3f\n", t.name, c.name, r.rate(), g.cold)
	return nil
}

// restartCold starts the service, and its database server, with nothing of the disk in memory.
func (h *harness) restartCold(ctx context.Context, t grown) error {
	if err := t.stop(); err != nil {
		return err
	}
	if t.cluster != nil {
		t.cluster.Stop()
	}
	if h.Cold {
		syscall.Sync()
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
			h.say("WARNING: cannot drop the page cache, which needs root; nothing is cold: %v\n", err)
		}
	}
	if t.cluster != nil {
		if err := t.cluster.Run(clusterSettings()...); err != nil {
			return err
		}
		t.database = t.cluster.PID()
	}
	return h.launch(ctx, t.target)
}

func (r *growthReport) bytes(of int64) float64 { return float64(of) / float64(max(1, r.rewards)) }

// String returns the report's paragraph and table.
func (r *growthReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d rewards over %s, made in %s: %.0f bytes per reward (%.0f with the log). "+
		"Start with a cold cache: %s. Memory: %d MB, peak %d MB.\n\n"+
		"| case | of the empty store's rate | min | max | p99 | CPU, of the empty store's | cold | p99 | start |\n"+
		"|---|---|---|---|---|---|---|---|---|\n", r.rewards, r.engine, short(r.loaded), r.bytes(r.sizes.Data),
		r.bytes(r.sizes.Data+r.sizes.Log), short(r.serve.started), r.serve.rss>>20, r.serve.peak>>20)
	for _, c := range r.cases {
		warm := spreadOf(c.warm)
		fmt.Fprintf(&b, "| %s | %.3f | %.3f | %.3f | %s | %.3f | %.3f | %s | %s |\n", c.name,
			warm.Median, warm.Least, warm.Most, short(spreadOf(c.warmP99).Median), spreadOf(c.cpu).Median, c.cold,
			short(c.coldP99), short(c.coldStarts))
	}
	if r.waiting.rewards > 0 {
		b.WriteString(r.waiting.String())
	}
	return b.String()
}
