package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

type result struct {
	name   string // of the case
	target string
	round  int
	outcome
	ratio    float64       // of the rate to the ceiling's in the same round
	tail     float64       // of p99 to the ceiling's in the same round
	syncs    float64       // of p50 to the disk's sync in the same round
	service  time.Duration // CPU time of the service per 1,000 requests
	database time.Duration // CPU time of the database server per 1,000 requests
}

func (h *harness) measureCase(ctx context.Context, c benchCase, round int) error {
	sync, err := syncTime(h.folder)
	if err != nil {
		return err
	}
	h.report.syncs = append(h.report.syncs, sync.Median)
	top, err := h.measureOnce(ctx, h.ceiling, c.forCeiling(), h.WarmUp)
	if err != nil {
		return err
	}
	list := []result{top}
	for _, t := range h.engines {
		r, err := h.measureOnce(ctx, t, c, h.WarmUp)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		list = append(list, r)
	}
	for _, r := range list {
		r.name, r.round = c.name, round
		r.ratio, r.tail = r.rate()/top.rate(), quotient(r.P99, top.P99)
		r.syncs = quotient(r.P50, sync.Median)
		h.results = append(h.results, r)
		h.say("%d  %-38s %-8s %7.0f/s %6.3f  p50 %-8s p99 %-8s cpu %-8s + %s\n", round+1, r.name, r.target,
			r.rate(), r.ratio, short(r.P50), short(r.P99), short(r.service), short(r.database))
	}
	return nil
}

// measureOnce measures a case after some seconds of the same load.
func (h *harness) measureOnce(ctx context.Context, t *target, c benchCase, warmUp int) (result, error) {
	r := result{target: t.name}
	l := load{
		url: t.url, key: t.key, mode: c.mode, file: filepath.Join(t.folder, c.file),
		connections: c.connections, seconds: warmUp,
	}
	before, err := t.metrics(ctx)
	if err != nil {
		return r, err
	}
	if warmUp > 0 {
		warm, err := l.run(ctx, h.script)
		if err != nil {
			return r, err
		}
		if err := warm.clean(); err != nil {
			return r, err
		}
	}
	service, database, err := t.cpu()
	if err != nil {
		return r, err
	}
	l.seconds = h.Seconds
	if r.outcome, err = l.run(ctx, h.script); err != nil {
		return r, err
	}
	serviceEnd, databaseEnd, err := t.cpu()
	if err != nil {
		return r, err
	}
	r.service, r.database = r.per1000(serviceEnd-service), r.per1000(databaseEnd-database)
	return r, h.check(ctx, t, c, r.outcome, before)
}

func (o outcome) per1000(d time.Duration) time.Duration {
	const thousand = 1000
	return d * thousand / time.Duration(o.Requests)
}

// clean fails when a request was refused or got no answer.
func (o outcome) clean() error {
	if o.Refused > 0 || o.Socket > 0 || o.Timeouts > 0 {
		return fmt.Errorf("no clean run: of %d requests %d were refused, %d failed with their connection, %d timed out",
			o.Requests, o.Refused, o.Socket, o.Timeouts)
	}
	return nil
}

// check fails when an answer differs from the case's. It waits until recorded rewards are
// bought, so that this does not slow down the next measurement.
func (h *harness) check(ctx context.Context, t *target, c benchCase, o outcome, before metrics) error {
	if err := o.clean(); err != nil || t.admin == "" {
		return err
	}
	after, err := t.settle(ctx)
	if err != nil {
		return err
	}
	return expected(after.statuses(before), c)
}

// expected fails when an answer differs from the case's. wrk cuts its connections at the
// end: the service counts the requests under way as 499.
func expected(statuses map[string]int, c benchCase) error {
	const runs, gone = 2, "499"
	for status, n := range statuses {
		if status != c.status && (status != gone || n > runs*c.connections) {
			return fmt.Errorf("the answers were %v, want %s only", statuses, c.status)
		}
	}
	if statuses[c.status] == 0 {
		return fmt.Errorf("the answers were %v, want %s", statuses, c.status)
	}
	return nil
}

// metrics returns the target's metrics, empty for the bare server.
func (t *target) metrics(ctx context.Context) (metrics, error) {
	if t.admin == "" {
		return metrics{}, nil
	}
	return readMetrics(ctx, t.admin)
}

// cpu returns the CPU time so far of the service with its brokerage, and of the database.
func (t *target) cpu() (service, database time.Duration, err error) {
	service, err = cpuTime(t.serve.pid())
	if err != nil {
		return 0, 0, err
	}
	brokerage, err := cpuTime(t.paper.pid())
	if err != nil {
		return 0, 0, err
	}
	database, err = cpuTime(t.database)
	return service + brokerage, database, err
}
