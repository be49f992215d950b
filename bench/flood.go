package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// The connections of a flood.
const (
	floodConnections = 500
	floodBatchers    = 8 // that send batches
)

const (
	floodRewards = "recording rewards"
	floodBatches = "recording batches of 1,000"
	floodUsers   = "creating users"
	floodLists   = "listing"
	floodUnread  = "not reading answers of 3.3 MB"
)

func floodKinds() []string {
	return []string{floodRewards, floodBatches, floodUsers, floodLists, floodUnread}
}

// neighbour is an app that asks with one connection while another app floods.
type neighbour struct {
	key    string
	folder string // what wrk's script reads
}

// latencies are medians of the neighbour's requests.
type latencies struct{ post, get time.Duration }

type floodResult struct {
	target, kind string // kind "": nobody floods
	latencies

	memory int64 // of the service, at most so far
}

// flood measures what an app notices of another one's flood, at the ceiling and at each
// engine in turn.
func (h *harness) flood(ctx context.Context) error {
	targets := append([]*target{h.ceiling}, h.engines...)
	neighbours := make(map[*target]neighbour)
	for _, t := range targets {
		n, err := h.prepareFlood(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		neighbours[t] = n
	}
	for range h.FloodRounds {
		for _, kind := range append([]string{""}, floodKinds()...) {
			for _, t := range targets {
				r, err := h.floodOnce(ctx, t, neighbours[t], kind)
				if err != nil {
					return fmt.Errorf("%s of %s: %w", kind, t.name, err)
				}
				h.report.flood = append(h.report.flood, r)
				h.say("flood: %-30s %-8s POST %-8s GET %-8s at most %d MB\n", kind, t.name, short(r.post), short(r.get),
					r.memory>>20)
			}
		}
	}
	return nil
}

// prepareFlood makes the neighbour, and an app whose lists are large.
func (h *harness) prepareFlood(ctx context.Context, t *target) (n neighbour, err error) {
	if t.admin == "" {
		return neighbour{t.key, t.folder}, nil
	}
	if n.folder, err = mkdir(t.folder, "neighbour"); err != nil {
		return n, err
	}
	if n.key, err = h.operate(ctx, "app", "create", "neighbour", "--database", t.books); err != nil {
		return n, err
	}
	const users, holders, large = 64, 4, 200
	s, err := makeSample(ctx, newClient(t.url, n.key, atOnce), users, holders)
	if err == nil {
		err = s.write(n.folder)
	}
	if err != nil {
		return n, err
	}
	if t.hoarder, err = h.operate(ctx, "app", "create", "hoarder", "--database", t.books); err != nil {
		return n, err
	}
	c := newClient(t.url, t.hoarder, atOnce)
	var got struct{ User struct{ ID string } }
	err = c.must(ctx, http.StatusCreated, http.MethodPost, "/v1/users", `{"externalId":"hoarder"}`, &got)
	if err != nil {
		return n, err
	}
	metadata := `{"a":"` + strings.Repeat("x", largeMetadata) + `"}`
	return n, each(ctx, large, func(ctx context.Context, i int) error {
		body := fmt.Sprintf(`{"userId":%q,"idempotencyKey":"large-%06d","amountUsd":5,"assetSymbol":"KO",`+
			`"metadata":%s}`, got.User.ID, i, metadata)
		var kept struct{ Status string }
		return c.must(ctx, http.StatusCreated, http.MethodPost, "/v1/rewards", body, &kept)
	})
}

// largeMetadata is about as long as metadata may be, in bytes.
const largeMetadata = 16_000

// floodOnce measures the neighbour while the flood lasts.
func (h *harness) floodOnce(ctx context.Context, t *target, n neighbour, kind string) (floodResult, error) {
	r := floodResult{target: t.name, kind: kind}
	end, err := h.startFlood(ctx, t, kind)
	if err == nil {
		r.latencies, err = h.neighbours(ctx, t, n)
		err = errors.Join(err, end())
	}
	if err != nil || t.admin == "" {
		return r, err
	}
	if _, r.memory, err = memory(t.serve.pid()); err != nil {
		return r, err
	}
	_, err = t.settle(ctx)
	return r, err
}

func (h *harness) neighbours(ctx context.Context, t *target, n neighbour) (l latencies, err error) {
	for _, one := range []struct {
		mode, file string
		into       *time.Duration
	}{{modeNew, fileUsers, &l.post}, {modeGet, fileReward, &l.get}} {
		o, err := load{
			url: t.url, key: n.key, mode: one.mode, file: filepath.Join(n.folder, one.file), connections: 1,
			seconds: h.Seconds,
		}.run(ctx, h.script)
		if err == nil {
			err = o.clean() // the neighbour is never refused
		}
		if err != nil {
			return l, fmt.Errorf("the neighbour: %w", err)
		}
		*one.into = o.P50
	}
	return l, nil
}

// startFlood starts a flood that lasts until the function that it returns is called.
func (h *harness) startFlood(ctx context.Context, t *target, kind string) (end func() error, err error) {
	const begins = time.Second
	switch kind {
	case "":
		return func() error { return nil }, nil
	case floodUnread:
		p, err := h.startUnread(t)
		if err != nil {
			return nil, err
		}
		return p.stop, wait(ctx, begins)
	}
	l := load{
		url: t.url, key: t.key, mode: modeNew, file: filepath.Join(t.folder, fileUsers),
		connections: floodConnections, seconds: 3600,
	}
	switch {
	case kind == floodBatches && t.admin != "": // the bare server has neither batches nor users
		l.mode, l.connections = modeBatch, floodBatchers
	case kind == floodUsers && t.admin != "":
		l.mode = modeUsers
	case kind == floodLists:
		l.mode, l.file = modeGet, filepath.Join(t.folder, fileList)
	}
	within, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := l.run(within, h.script)
		done <- err
	}()
	return func() error {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the flood ended early: %w", err)
		}
		return ctx.Err()
	}, wait(ctx, begins)
}
