package test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

// cancels is how many commits are interrupted; `make failover` says a thousand.
var cancels = flag.Int("cancels", 40, "how many commits to cancel or terminate while they wait for the standby")

// Commits that wait for a standby that is away are canceled and their sessions are
// terminated: what they wrote can be seen then, but nothing is acknowledged, also not
// to who asks again, before the standby has it. Then the primary is lost, in turn
// with a standby that has caught up, and with one that has nothing of all this: what
// was acknowledged is there.
func TestCommitsInterrupted(t *testing.T) {
	t.Parallel()
	const most = 100 // interruptions in a round
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
			if err := pair.Standby.Run(); err != nil {
				t.Fatal(err)
			}
			pair.AwaitStandby(t)
			pair.FailOver(t)
		} else {
			pair.Primary.Kill()
			if err := pair.Standby.Run(); err != nil {
				t.Fatal(err)
			}
			pair.FailOver(t)
		}
		pair.Rebuild(t)
	}
	time.Sleep(500 * time.Millisecond)
	load.pause()
	load.finish()
	f.verify(load)
	t.Logf("%d commits interrupted in %d rounds", *cancels/rounds*rounds, rounds)
}

// replay asks again for what was asked for before, until ctx ends.
func (l *load) replay(ctx context.Context) {
	for ctx.Err() == nil {
		l.mu.Lock()
		n := rand.IntN(max(1, l.nextKey))
		l.mu.Unlock()
		l.ask(ctx, n)
	}
}
