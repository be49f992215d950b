// Package hostile drives the built binary against a broker that lies, errs or changes
// its mind. The service must quarantine, wait or stop, and must never book what
// cannot be, buy twice or value a holding at a price that cannot be.
package hostile

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"stockrewards/test/world"
)

var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	// The stories mostly wait: for the broker's polls, and for 30 s between two readings.
	if err := flag.Set("test.parallel", "12"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return world.Run(m, &binary)
}
