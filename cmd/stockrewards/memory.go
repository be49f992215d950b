package main

import (
	"os"
	"runtime/debug"
)

// collectLess lets more garbage gather before it is collected: what lives is small,
// and each request leaves some behind. GOGC, when it is set, counts.
func collectLess() {
	const percent = 400
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
