package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// openLoopCommand sends requests at planned times and measures latency from those times.
// So a service that stalls is charged for all requests that come in the meantime.
type openLoopCommand struct {
	URL         string        `required:""`
	Key         string        `required:""`
	Users       string        `required:"" help:"Read user ids from this file, one per line."`
	Rate        float64       `required:"" help:"Requests per second."`
	Duration    time.Duration `required:""`
	Connections int           `default:"256"`
}

type offered struct {
	Requests int            `json:"requests"`
	Took     time.Duration  `json:"tookNs"`
	Statuses map[string]int `json:"statuses"` // "error" for no answer
	P50      time.Duration  `json:"p50Ns"`
	P99      time.Duration  `json:"p99Ns"`
	Max      time.Duration  `json:"maxNs"`
	Late     time.Duration  `json:"lateNs"` // 99th percentile of how late a request was sent
	Error    string         `json:"error"`  // the first one
}

func (o offered) rate() float64 { return float64(o.Requests) / o.Took.Seconds() }

type generator struct {
	dial   func(ctx context.Context) (net.Conn, error)
	head   string // of each request, up to the length of its body
	users  []string
	start  time.Time
	gap    time.Duration
	total  int64
	next   atomic.Int64
	mu     sync.Mutex
	result offered
	took   []time.Duration
	late   []time.Duration
}

// Run generates the load and prints its result as JSON.
func (c *openLoopCommand) Run(ctx context.Context) error {
	text, err := os.ReadFile(c.Users)
	if err != nil {
		return err
	}
	address := strings.TrimPrefix(c.URL, "http://")
	g := &generator{
		dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) },
		head: "POST /v1/rewards HTTP/1.1\r\nHost: " + address + "\r\nX-Api-Key: " + c.Key +
			"\r\nContent-Type: application/json\r\nContent-Length: ",
		users: strings.Fields(string(text)),
		gap:   time.Duration(float64(time.Second) / c.Rate), total: int64(c.Duration.Seconds() * c.Rate),
	}
	g.run(ctx, c.Connections)
	if err := ctx.Err(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(g.sum())
}

func (g *generator) run(ctx context.Context, connections int) {
	const lead = 200 * time.Millisecond
	g.start, g.result.Statuses = time.Now().Add(lead), map[string]int{}
	var clients sync.WaitGroup
	for range connections {
		clients.Go(func() { g.work(ctx) })
	}
	clients.Wait()
}

// work takes the next planned request, waits for its time and sends it.
func (g *generator) work(ctx context.Context) {
	w := &wire{dial: g.dial}
	defer w.close()
	for ctx.Err() == nil {
		i := g.next.Add(1) - 1
		if i >= g.total {
			return
		}
		due := g.start.Add(time.Duration(i) * g.gap)
		if wait(ctx, time.Until(due)) != nil {
			return
		}
		late := time.Since(due)
		status := g.ask(ctx, w)
		g.note(status, time.Since(due), late)
	}
}

// ask records a new reward and returns the status.
func (g *generator) ask(ctx context.Context, w *wire) string {
	stocks := strings.Split(symbols, ",")
	body := fmt.Sprintf(`{"userId":%q,"idempotencyKey":%q,"amountUsd":%d.%02d,"assetSymbol":%q,"source":"referral",`+
		`"metadata":%s}`, g.users[rand.IntN(len(g.users))], uuid.NewString(), 1+rand.IntN(19), rand.IntN(100),
		stocks[rand.IntN(len(stocks))], sampleMetadata)
	status, err := w.post(ctx, g.head, body)
	if err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.result.Error == "" {
			g.result.Error = err.Error()
		}
		return "error"
	}
	return status
}

func (g *generator) note(status string, took, late time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.result.Requests++
	g.result.Statuses[status]++
	g.took, g.late = append(g.took, took), append(g.late, late)
}

func (g *generator) sum() offered {
	const median, tail = 0.5, 0.99
	slices.Sort(g.took)
	slices.Sort(g.late)
	r := &g.result
	r.Took = time.Since(g.start)
	r.P50, r.P99, r.Max = percentile(g.took, median), percentile(g.took, tail), percentile(g.took, 1)
	r.Late = percentile(g.late, tail)
	return g.result
}
