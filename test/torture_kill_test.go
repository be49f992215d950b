package test

import (
	"context"
	"flag"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// tortureKills is the number of kills; `make kills` uses a hundred, `make torture` two thousand.
var tortureKills = flag.Int("torture-kills", 10, "how often to kill -9 services at random moments")

// killsPerStore is the number of kills on one database, before it is verified and replaced.
const killsPerStore = 50

// killTally counts the kills and their effects.
type killTally struct{ kills, acknowledged atomic.Int64 }

// Killed at random moments, a service keeps everything it acknowledged. The seed of a run
// and -run TestKillsAtRandom/stores/7 repeat its seventh database.
func TestKillsAtRandom(t *testing.T) {
	t.Parallel()
	seed, began := chance(t).Uint64(), time.Now()
	var tally killTally
	t.Run("stores", func(t *testing.T) {
		for n := 0; n*killsPerStore < *tortureKills; n++ {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				if *tortureFor > 0 && time.Since(began) > *tortureFor {
					return
				}
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				killOnStore(t, random, min(killsPerStore, *tortureKills-n*killsPerStore), &tally)
				t.Logf("%d kills, %d rewards acknowledged, %s", tally.kills.Load(), tally.acknowledged.Load(),
					time.Since(began).Round(time.Second))
			})
		}
	})
	t.Logf("kills -9: %d; restarts: %d; rewards acknowledged: %d; lost: 0, twice: 0, unless an error above says "+
		"otherwise; seconds: %d", tally.kills.Load(), tally.kills.Load(), tally.acknowledged.Load(),
		int(time.Since(began).Seconds()))
}

// killOnStore repeatedly kills a service under load. After each start it checks the newest
// rewards, and at the end all.
func killOnStore(t *testing.T, random *rand.Rand, kills int, tally *killTally) {
	t.Helper()
	const least, most = 20, 300 // milliseconds
	s := newService(t, t.TempDir())
	s.start(settings()...)
	l := newLoad(s, 4)
	for range kills {
		l.resume()
		time.Sleep(time.Duration(least+random.IntN(most-least)) * time.Millisecond)
		s.kill()
		l.pause()
		tally.kills.Add(1)
		s.start(settings()...)
		l.recheck()
	}
	l.verify()
	tally.acknowledged.Add(int64(len(l.acknowledged)))
}

// recheck repeats the newest requests: acknowledged ones must return the same rewards.
func (l *load) recheck() {
	const newest = 60
	ctx, cancel := context.WithTimeout(l.s.t.Context(), time.Minute)
	defer cancel()
	for n := max(0, l.nextKey-newest); n < l.nextKey; n++ {
		l.ask(ctx, n)
	}
	if ctx.Err() != nil {
		l.s.t.Fatalf("after a kill requests are not answered:\n%s", l.s.logs())
	}
}
