package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

type memoryFlags struct {
	MemoryLimit string `default:"1GiB" placeholder:"SIZE" help:"Collect garbage more aggressively above this memory, such as 768MiB or 2GiB; off: no limit (default: 1GiB). GOMEMLIMIT overrides it."`
}

// leastMemory is the least that the service needs, in bytes.
const leastMemory = 128 << 20

// limitMemory tunes the garbage collector: it may collect late, up to the limit, since
// little memory is live and each request leaves garbage. GOGC and GOMEMLIMIT override it.
func (f memoryFlags) limitMemory() error {
	limit, err := parseMemory(f.MemoryLimit)
	if err != nil {
		return usageErrorf("--memory-limit %q: %w", f.MemoryLimit, err)
	}
	const percent = 230
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	return nil
}

// releaseMemory frees what only the start needed. The collector waits for a multiple of what is live,
// and the parser of migrations alone keeps 8 MiB in a pool, which lasts for two collections.
func releaseMemory() {
	runtime.GC()
	debug.FreeOSMemory()
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
