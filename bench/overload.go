package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// The number of connections before and after, and during the overload.
const (
	usualConnections = 64
	manyConnections  = 10 * usualConnections
)

// overloadReport is the result of ten times the connections.
type overloadReport struct {
	target  string
	before  outcome // with the usual connections
	many    outcome
	after   []outcome // of each second afterwards
	normal  int       // the first second afterwards with a normal rate; 0: not reached
	seconds int       // of overload
}

func (h *harness) overload(ctx context.Context) error {
	for _, t := range h.engines {
		r, err := h.overloadOf(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		h.report.overload = append(h.report.overload, r)
		h.say("%s", r)
	}
	return nil
}

func (h *harness) overloadOf(ctx context.Context, t *target) (overloadReport, error) {
	const usualSeconds, afterwards = 5, 6
	r := overloadReport{target: t.name, seconds: h.Overload}
	l := load{
		url: t.url, key: t.key, mode: modeNew, file: filepath.Join(t.folder, fileUsers),
		connections: usualConnections, seconds: usualSeconds,
	}
	var err error
	if r.before, err = l.run(ctx, h.script); err != nil {
		return r, err
	}
	l.mode, l.connections, l.seconds = modeOverload, manyConnections, h.Overload
	if r.many, err = l.run(ctx, h.script); err != nil {
		return r, err
	}
	l.mode, l.connections, l.seconds = modeNew, usualConnections, 1
	for second := 1; second <= afterwards; second++ {
		o, err := l.run(ctx, h.script)
		if err != nil {
			return r, err
		}
		const normal = 0.9
		if r.after = append(r.after, o); r.normal == 0 && o.rate() >= normal*r.before.rate() {
			r.normal = second
		}
	}
	if _, err := t.settle(ctx); err != nil {
		return r, err
	}
	return r, r.check()
}

// check fails when a client got anything but 201 or a 503 with Retry-After.
func (r overloadReport) check() error {
	c := r.many.Counted
	if c.Other > 0 || c.Unadvised > 0 || r.many.Timeouts > 0 {
		return fmt.Errorf("no clean run: of %d requests %d got neither 201 nor 503, %d a 503 without "+
			"Retry-After, %d timed out", r.many.Requests, c.Other, c.Unadvised, r.many.Timeouts)
	}
	for _, o := range append(r.after, r.before) {
		if err := o.clean(); err != nil {
			return fmt.Errorf("%d connections: %w", usualConnections, err)
		}
	}
	return nil
}

// String returns the report's paragraph and table.
func (r overloadReport) String() string {
	normal := "not normal again (0.9 of before) in this time"
	if r.normal > 0 {
		normal = fmt.Sprintf("normal again (0.9 of before) in second %d", r.normal)
	}
	c := r.many.Counted
	text := fmt.Sprintf("\nOverload of %s: %d connections for %s: %.0f/s, p99 %s, %d recorded, %d refused with 503 "+
		"(all with Retry-After), %d connection errors. Before, with %d: %.0f/s, p99 %s. "+
		"Afterwards, with %[9]d: %[12]s.\n\n| second afterwards | req/s | of before | p99 |\n|---|---|---|---|\n",
		r.target, manyConnections, time.Duration(r.seconds)*time.Second, r.many.rate(), short(r.many.P99),
		c.Created, c.Unavailable, r.many.Socket, usualConnections, r.before.rate(), short(r.before.P99), normal)
	for i, o := range r.after {
		text += fmt.Sprintf("| %d | %.0f | %.2f | %s |\n", i+1, o.rate(), o.rate()/r.before.rate(), short(o.P99))
	}
	return text
}
