// Package world has what the tests of several packages build: a store, a client of the paper
// brokerage, and the built program as a process.
package world

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/sqlite"
)

// Check ends the test on an error.
func Check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Engine opens an empty SQLite store in memory, which the end of the test closes.
func Engine(tb testing.TB) *sqlite.Engine {
	tb.Helper()
	e, err := sqlite.Open(tb.Context(), sqlite.Memory, sqlite.Options{})
	Check(tb, err)
	tb.Cleanup(func() { Check(tb, e.Close()) })
	return e
}

// SegmentSize is the number of rewards in a segment of a test's store, so that tests seal segments.
const SegmentSize = 8

// Operator opens the store of an engine as a new process does, for an operator.
func Operator(tb testing.TB, e store.Engine, now func() time.Time, random io.Reader) *store.Operator {
	tb.Helper()
	s, err := store.New(tb.Context(), e, now, random)
	Check(tb, err)
	s.SealEvery(SegmentSize)
	return s.As(rewards.Operator{Actor: "tester@test", Command: "test"})
}

// Each runs a test for each case, in parallel.
func Each[Case any](t *testing.T, cases map[string]Case, test func(*testing.T, Case)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// Broker returns a client of the brokerage that the transport leads to, practically without a rate limit.
func Broker(transport http.RoundTripper) *alpaca.Client { return PacedBroker(transport, 60_000) }

// PacedBroker is Broker with a rate limit.
func PacedBroker(transport http.RoundTripper, perMinute int) *alpaca.Client {
	return alpaca.New(alpaca.Options{
		TradingURL: "http://broker.test", DataURL: "http://broker.test", KeyID: "k", SecretKey: "s",
		Transport: transport, RequestsPerMinute: perMinute,
	})
}

// NoBrakes returns brakes that hold no order.
func NoBrakes() rewards.Brakes {
	const plenty = 1 << 60
	return rewards.Brakes{
		MaxNotional: rewards.LowestMaxNotional, DailyLimit: plenty, HouseDailyLimit: plenty, HouseAppLimit: plenty,
	}
}

// FreeAddress returns an unused address of this machine.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	address, err := pgtest.FreeAddress()
	Check(tb, err)
	return address
}

// Hledger runs hledger on a journal's file and returns its output. It ends the test if hledger is
// not installed.
func Hledger(tb testing.TB, journal string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "hledger", append([]string{"-f", journal}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		tb.Fatalf("cannot run hledger (see tools/install.sh hledger): %v", err)
	}
	return string(out), err
}
