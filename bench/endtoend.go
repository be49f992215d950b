package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// endToEndReport is the result of a fixed rate of new rewards.
type endToEndReport struct {
	target   string
	share    float64 // of the ceiling
	planned  float64 // requests per second
	ceiling  float64 // requests per second of the bare server with 64 connections
	backlog  []int   // of each second
	drained  time.Duration
	executed int
	cpu      time.Duration // of service and database, per 1,000 rewards
	offered
}

// endToEnd loads each engine in turn with a fixed share of the bare server's rate.
func (h *harness) endToEnd(ctx context.Context) error {
	ceiling, err := h.ceilingRate(ctx)
	if err != nil {
		return err
	}
	for _, t := range h.engines {
		shares := h.Share
		if len(shares) == 0 {
			shares = boughtShares(t.name)
		}
		for _, share := range shares {
			r, err := h.endToEndOf(ctx, t, ceiling, share)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			h.report.endToEnd = append(h.report.endToEnd, r)
			h.say("%s", r)
		}
	}
	return nil
}

// ceilingRate returns the median rate of the bare server with 64 connections.
func (h *harness) ceilingRate(ctx context.Context) (float64, error) {
	const times, connections = 3, 64
	rates := make([]float64, times)
	for i := range rates {
		r, err := h.measureOnce(ctx, h.ceiling, benchCase{"", modeNew, fileUsers, connections, ""}, h.WarmUp)
		if err != nil {
			return 0, err
		}
		rates[i] = r.rate()
	}
	return spreadOf(rates).Median, nil
}

// endToEndOf loads one engine and accounts for every reward.
func (h *harness) endToEndOf(ctx context.Context, t *target, ceiling, share float64) (r endToEndReport, err error) {
	r = endToEndReport{target: t.name, share: share, planned: ceiling * share, ceiling: ceiling}
	before, err := t.settle(ctx)
	if err != nil {
		return r, err
	}
	service, database, err := t.cpu()
	if err != nil {
		return r, err
	}
	done, err := h.offer(ctx, t, r.planned)
	if err != nil {
		return r, err
	}
	if r.backlog, err = t.watch(ctx, done); err != nil {
		return r, err
	}
	end := time.Now()
	o := <-done
	if r.offered = o.offered; o.err != nil {
		return r, o.err
	}
	after, err := t.settle(ctx)
	if err != nil {
		return r, err
	}
	r.drained = time.Since(end)
	serviceEnd, databaseEnd, err := t.cpu()
	if err != nil {
		return r, err
	}
	r.executed = after.rewards("executed") - before.rewards("executed")
	r.cpu = outcome{Requests: max(r.executed, 1)}.per1000(serviceEnd - service + databaseEnd - database)
	return r, r.account(after.rewards("recorded")-before.rewards("recorded"),
		after.rewards("failed")-before.rewards("failed"))
}

// account fails unless every acknowledged reward was recorded once and executed.
func (r endToEndReport) account(recorded, failed int) error {
	created, unknown := r.Statuses["201"], r.Statuses["error"]
	switch {
	case failed != 0:
		return fmt.Errorf("%d rewards failed", failed)
	case recorded < created || recorded > created+unknown:
		return fmt.Errorf("%d rewards are acknowledged (%d requests had no answer: %s), %d are recorded",
			created, unknown, r.Error, recorded)
	case r.executed != recorded:
		return fmt.Errorf("%d rewards are recorded, %d are executed", recorded, r.executed)
	}
	return nil
}

type ended struct {
	offered
	err error
}

func (h *harness) offer(ctx context.Context, t *target, rate float64) (<-chan ended, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "open-loop", "--url", t.url, "--key", t.key,
		"--users", filepath.Join(t.folder, fileUsers), "--rate", strconv.FormatFloat(rate, 'f', 1, 64),
		"--duration", h.EndToEnd.String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan ended, 1)
	go func() {
		var e ended
		if e.err = cmd.Wait(); e.err != nil {
			e.err = fmt.Errorf("open-loop: %w\n%s", errors.Join(ctx.Err(), e.err), stderr.Bytes())
		} else {
			e.err = json.Unmarshal(stdout.Bytes(), &e.offered)
		}
		done <- e
	}()
	return done, nil
}

// watch reads the backlog each second until the generator has ended.
func (t *target) watch(ctx context.Context, done <-chan ended) (backlog []int, err error) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for len(done) == 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-every.C:
		}
		m, err := readMetrics(ctx, t.admin)
		if err != nil {
			return nil, err
		}
		backlog = append(backlog, m.backlog())
	}
	return backlog, nil
}

// grows returns how many rewards per second the backlog grew by after the first third.
func (r endToEndReport) grows() float64 {
	const third = 3
	values := make([]float64, 0, len(r.backlog))
	for _, n := range r.backlog[len(r.backlog)/third:] {
		values = append(values, float64(n))
	}
	return slope(values)
}

// at returns the backlog after a share of the time.
func (r endToEndReport) at(share float64) int { return percentile(r.backlog, share) }

// bought returns the rate at which rewards were bought while new ones came, as a share of the
// ceiling.
func (r endToEndReport) bought() float64 {
	return (r.rate() - float64(r.at(1))/r.Took.Seconds()) / r.ceiling
}

// holds reports whether all planned requests were answered in time with 201, and the backlog
// did not grow.
func (r endToEndReport) holds() bool {
	const little = 0.01
	return r.rate() >= (1-little)*r.planned && r.Statuses["201"] == r.Requests && r.grows() <= little*r.planned
}

// String returns the report's paragraph.
func (r endToEndReport) String() string {
	const third, twoThirds = 1. / 3, 2. / 3
	verdict := "the service holds it"
	if !r.holds() {
		verdict = "THE SERVICE DOES NOT HOLD IT"
	}
	return fmt.Sprintf("\nEnd to end over %s: %.0f new rewards per second planned (%.3f of the ceiling's %.0f/s), "+
		"%.0f/s answered, statuses %v, %.3f of the ceiling bought meanwhile: %s.\n\n"+
		"- Recording, from the planned time on: p50 %s, p99 %s, max %s (the generator's own lateness: p99 %s).\n"+
		"- Backlog: %d after a third, %d after two thirds, %d at the end; %+.1f per second after the first third. "+
		"It was bought %s after the end.\n"+
		"- CPU per 1,000 rewards, bought: %s. All %d recorded rewards are executed.\n",
		r.target, r.planned, r.share, r.ceiling, r.rate(), r.Statuses, r.bought(), verdict, short(r.P50),
		short(r.P99), short(r.Max), short(r.Late), r.at(third), r.at(twoThirds), r.at(1), r.grows(),
		short(r.drained), short(r.cpu), r.executed)
}
