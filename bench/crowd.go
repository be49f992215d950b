package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"stockrewards/internal/store/postgres/pgtest"
)

// The crowd of endpoints: of each ten one is healthy, five refuse connections and four never answer.
const (
	crowdSize      = 1000
	crowdOfApp     = 16 // endpoints, the most that an app can have
	crowdTen       = 10
	crowdRefusing  = 5
	crowdDuration  = time.Minute
	crowdAwardEach = time.Second // that every app gives one award
)

// crowdReport is how late healthy receivers get events among dead ones.
type crowdReport struct {
	healthy, dead int
	events        int // deliveries to healthy receivers
	missing       int
	p50, p99      time.Duration // from the settlement to the receiver
	memory        int64         // of the service, at most so far
}

// receiver is an HTTP server that accepts webhooks.
type receiver struct {
	url    string
	server *http.Server

	mu     sync.Mutex
	seen   map[string]bool // ids of events and paths
	delays []time.Duration
}

func startReceiver() (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String() + "/", seen: make(map[string]bool)}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }() // it ends with close
	return r, nil
}

func (r *receiver) close() { _ = r.server.Close() }

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	now := time.Now()
	var body struct{ Timestamp time.Time }
	_ = json.NewDecoder(request.Body).Decode(&body) // without its timestamp the delay is far beyond the goal
	id := request.URL.Path + request.Header.Get("Webhook-Id")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[id] {
		return
	}
	r.seen[id] = true
	r.delays = append(r.delays, now.Sub(body.Timestamp))
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

// crowd measures how late healthy receivers get events while most endpoints of all apps are dead.
func (h *harness) crowd(ctx context.Context, t *target) (report crowdReport, err error) {
	r, err := startReceiver()
	if err != nil {
		return report, err
	}
	defer r.close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the kernel does, and nothing answers
	if err != nil {
		return report, err
	}
	defer func() { _ = silent.Close() }()
	refusing, err := pgtest.FreeAddress()
	if err != nil {
		return report, err
	}
	apps, err := h.crowdApps(ctx, t, r.url, "http://"+refusing+"/", "http://"+silent.Addr().String()+"/")
	if err != nil {
		return report, err
	}
	report.healthy, report.dead = crowdSize/crowdTen, crowdSize-crowdSize/crowdTen
	rounds := int(crowdDuration / crowdAwardEach)
	if err := giveRounds(ctx, apps, rounds); err != nil {
		return report, err
	}
	if _, err := t.settle(ctx); err != nil {
		return report, err
	}
	const patience = 10 * time.Second
	if err := wait(ctx, patience); err != nil {
		return report, err
	}
	r.mu.Lock()
	slices.Sort(r.delays)
	const median, tail = 0.5, 0.99
	report.events, report.missing = len(r.delays), report.healthy*rounds-len(r.delays)
	report.p50, report.p99 = percentile(r.delays, median), percentile(r.delays, tail)
	r.mu.Unlock()
	_, report.memory, err = memory(t.serve.pid())
	return report, err
}

// crowdApp is an app of the crowd and its user.
type crowdApp struct {
	client

	user string
}

// crowdApps creates the apps with their endpoints.
func (h *harness) crowdApps(ctx context.Context, t *target, healthy, refusing, silent string) ([]crowdApp, error) {
	apps := make([]crowdApp, (crowdSize+crowdOfApp-1)/crowdOfApp)
	for i := range apps {
		c, err := h.eventApp(ctx, t, fmt.Sprint("crowd-", i))
		if err != nil {
			return nil, err
		}
		apps[i].client = c
		if apps[i].user, err = newEventUser(ctx, c); err != nil {
			return nil, err
		}
	}
	return apps, each(ctx, crowdSize, func(ctx context.Context, i int) error {
		url := silent
		switch n := i % crowdTen; {
		case n == 0:
			url = healthy
		case n <= crowdRefusing:
			url = refusing
		}
		_, err := newEndpoint(ctx, apps[i/crowdOfApp].client, url+strconv.Itoa(i))
		return err
	})
}

// giveRounds has every app give an award in each round.
func giveRounds(ctx context.Context, apps []crowdApp, rounds int) error {
	every := time.NewTicker(crowdAwardEach)
	defer every.Stop()
	for round := range rounds {
		err := each(ctx, len(apps), func(ctx context.Context, i int) error {
			var got struct{ Status string }
			body := fmt.Sprintf(`{"userId":%q,"idempotencyKey":"crowd-%04d","amountUsd":5,"assetSymbol":"KO"}`,
				apps[i].user, round)
			return apps[i].must(ctx, http.StatusCreated, http.MethodPost, "/v1/rewards", body, &got)
		})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
	return nil
}

// String returns the report's sentence.
func (r crowdReport) String() string {
	return fmt.Sprintf("%d endpoints, %d dead: the %d healthy ones got %d events (%d are missing), late by %s (p50) "+
		"and %s (p99); the service used at most %d MB.", r.healthy+r.dead, r.dead, r.healthy, r.events, r.missing,
		short(r.p50), short(r.p99), r.memory>>20)
}
