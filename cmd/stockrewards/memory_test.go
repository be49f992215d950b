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
