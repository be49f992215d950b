package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

type memoryFlags struct {
	MemoryLimit string `default:"1GiB" placeholder:"SIZE" help:"Collect garbage more aggressively above this memory, such as 768MiB or 2GiB; off: no limit (default: 1GiB). GOMEMLIMIT overrides it."`
}

// leastMemory is the least that the service needs, in bytes.
const leastMemory = 128 << 20

// startPercent is how late the garbage collector collects at first, in percent of what is live: reading the index of
// a large store leaves several times as much garbage as memory.
const startPercent = 50

// limitMemory tunes the garbage collector, at first for the start. GOGC and GOMEMLIMIT override it.
func (f memoryFlags) limitMemory() error {
	limit, err := parseMemory(f.MemoryLimit)
	if err != nil {
		return usageErrorf("--memory-limit %q: %w", f.MemoryLimit, err)
	}
	setGCPercent(startPercent)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	return nil
}

func setGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// tuneMemory frees what only the start needed, and tunes the garbage collector for what is live then. The collector
// waits for a multiple of what is live, and the parser of migrations alone keeps 8 MiB in a pool, which lasts for two
// collections.
func tuneMemory() {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	setGCPercent(gcPercent(m.HeapAlloc))
}

// keepMemoryTuned tunes the garbage collector again as what is live grows and shrinks, until ctx ends. Over PostgreSQL
// the newest rewards are in memory, until half a million of them are sealed. Sealing them takes as much again.
func keepMemoryTuned(ctx context.Context) {
	const every = 200 * time.Millisecond // the collector collects a few times in a second
	live, now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, 0
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			metrics.Read(live)
			if percent := gcPercent(live[0].Value.Uint64()); percent != now {
				setGCPercent(percent)
				now = percent
			}
		}
	}
}

// gcPercent is how late the collector may collect with a number of live bytes: when all of them and the garbage take
// 112 MiB, within limits. Requests leave about as much garbage over a large store as over a small one, and the index of
// a large store costs it little: it has no pointers.
func gcPercent(live uint64) int {
	const heap, least, most = 112 << 20, 50, 230
	return int(min(max(100*heap/max(live, 1), 100+least), 100+most)) - 100
}

// parseMemory parses a size in MiB or GiB.
func parseMemory(text string) (int64, error) {
	if text == "off" {
		return math.MaxInt64, nil
	}
	unit := int64(1 << 20)
	digits, found := strings.CutSuffix(text, "MiB")
	if !found {
		unit = 1 << 30
		digits, found = strings.CutSuffix(text, "GiB")
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if !found || err != nil || n*unit < leastMemory {
		return 0, fmt.Errorf("must be off or a size of at least %dMiB, such as 768MiB or 2GiB", leastMemory>>20)
	}
	return n * unit, nil
}
