package test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

// cancels is the number of interrupted commits; `make failover` uses a thousand.
var cancels = flag.Int("cancels", 40, "how many commits to cancel or terminate while they wait for the standby")

// Commits that wait for an unreachable standby are canceled and their sessions terminated.
// What they wrote is visible then, but nothing is acknowledged, not even to a retry, before
// the standby has it. Then the primary is lost, with a standby that has caught up or has
// not: everything acknowledged survives.
func TestCommitsInterrupted(t *testing.T) {
	t.Parallel()
	const most = 100 // interruptions per round
	rounds := max(2, *cancels/most)
	pair, f := startPair(t, 2)
	load := f.load(6)
	for round := range rounds {
		time.Sleep(500 * time.Millisecond) // something is acknowledged
		pair.Standby.Kill()
		load.mute.Store(true)
		ctx, stop := context.WithCancel(t.Context())
		for range 2 {
			load.clients.Go(func() { load.replay(ctx) })
		}
		pair.Interrupt(t, *cancels/rounds)
		load.mute.Store(false)
		stop()
		if round%2 == 0 {
			noError(t, pair.Standby.Run())
			pair.AwaitStandby(t)
			pair.FailOver(t)
		} else {
			pair.Primary.Kill()
			noError(t, pair.Standby.Run())
			pair.FailOver(t)
		}
		pair.Rebuild(t)
	}
	time.Sleep(500 * time.Millisecond)
	f.verify(load)
	t.Logf("%d commits interrupted in %d rounds", *cancels/rounds*rounds, rounds)
}

// replay repeats earlier requests until ctx ends.
func (l *load) replay(ctx context.Context) {
	for ctx.Err() == nil {
		l.mu.Lock()
		n := rand.IntN(max(1, l.nextKey))
		l.mu.Unlock()
		l.ask(ctx, n)
	}
}
