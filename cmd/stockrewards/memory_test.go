package main

import (
	"math"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1GiB": 1 << 30, "128MiB": 128 << 20, "1536MiB": 1536 << 20, "off": math.MaxInt64,
		"127MiB": 0, "0GiB": 0, "-1GiB": 0, "1GB": 0, "1024": 0, "": 0, "GiB": 0, "99999999999999999999GiB": 0,
	} {
		got, err := parseMemory(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseMemory(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

// The collector waits until 112 MiB are full, whatever the index of the store takes, within limits.
func TestGarbageCollectionOfALargeStore(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 230, 8 << 20: 230, 30 << 20: 230, 40 << 20: 180, 64 << 20: 75, 80 << 20: 50, 100 << 20: 50, 1 << 30: 50} {
		if got := gcPercent(live); got != want {
			t.Errorf("with %d live bytes %d percent, want %d", live, got, want)
		}
	}
}
