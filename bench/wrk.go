package main

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// loadScript generates wrk's requests.
//
//go:embed load.lua
var loadScript string

const (
	modeNew      = "new"
	modeBatch    = "batch" // of benchBatch awards
	modeOverload = "overload"
	modeReplay   = "replay"
	modeGet      = "get"
	modeUsers    = "users"
)

// benchBatch is the number of awards in a batch of load.lua.
const benchBatch = 1000

// symbols are the stocks of new rewards.
const symbols = "AAPL,KO,NVDA,VOO,MSFT,AMZN,GOOGL,META,TSLA,JPM,V,MA,DIS,NKE,PEP,COST,WMT,HD,ADBE,INTC"

type load struct {
	url, key    string
	mode        string
	file        string // input of the script
	connections int
	seconds     int
}

type outcome struct {
	Requests int // awards of batches
	Took     time.Duration
	P50, P99 time.Duration
	Max      time.Duration
	Refused  int // answers with a status of 400 or above
	Socket   int // connection errors
	Timeouts int

	Counted counted // only in modeOverload
}

type counted struct {
	Created     int // 201
	Unavailable int // 503
	Unadvised   int // of those, without Retry-After
	Other       int
}

func (o outcome) rate() float64 { return float64(o.Requests) / o.Took.Seconds() }

func (l load) run(ctx context.Context, script string) (outcome, error) {
	const mostThreads, patience = 2, "30s"
	threads := min(mostThreads, l.connections)
	cmd := exec.CommandContext(ctx, "wrk", "-t", strconv.Itoa(threads), "-c", strconv.Itoa(l.connections),
		"-d", strconv.Itoa(l.seconds)+"s", "--timeout", patience, "-s", script, l.url,
		"--", l.mode, strconv.Itoa(rand.IntN(1<<30)), l.key, l.file, symbols)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if err != nil {
		return outcome{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	o, err := parseOutcome(string(out))
	if l.mode == modeBatch {
		o.Requests *= benchBatch
	}
	return o, err
}

// parseOutcome parses the last line of the script's output.
func parseOutcome(output string) (outcome, error) {
	var o outcome
	_, line, found := strings.Cut(output, "\nRESULT ")
	if !found {
		return o, fmt.Errorf("wrk printed no result:\n%s", output)
	}
	var took, p50, p99, most int64
	_, err := fmt.Sscanf(line, "requests=%d us=%d p50=%d p99=%d max=%d status=%d socket=%d timeout=%d "+
		"created=%d refused=%d unadvised=%d other=%d",
		&o.Requests, &took, &p50, &p99, &most, &o.Refused, &o.Socket, &o.Timeouts,
		&o.Counted.Created, &o.Counted.Unavailable, &o.Counted.Unadvised, &o.Counted.Other)
	if err != nil {
		return o, fmt.Errorf("wrk's result %q: %w", line, err)
	}
	micro := func(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
	o.Took, o.P50, o.P99, o.Max = micro(took), micro(p50), micro(p99), micro(most)
	if o.Requests == 0 || o.Took <= 0 {
		return o, fmt.Errorf("wrk sent no request:\n%s", output)
	}
	return o, nil
}
