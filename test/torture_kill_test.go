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

// tortureKills is how often; `make torture` says two thousand.
var tortureKills = flag.Int("torture-kills", 5, "how often to kill -9 services at random moments")

// killsOfBooks is how often a service is killed on the same books, before everything
// in them is accounted for and new books begin.
const killsOfBooks = 50

// killTally is what the kills came to.
type killTally struct{ kills, acknowledged atomic.Int64 }

// Killed at random moments, a service goes on with what it acknowledged. With the seed
// of a run and -run TestKillsAtRandom/books/7 its seventh books are made again.
func TestKillsAtRandom(t *testing.T) {
	t.Parallel()
	seed, began := chance(t).Uint64(), time.Now()
	var tally killTally
	t.Run("books", func(t *testing.T) {
		for n := 0; n*killsOfBooks < *tortureKills; n++ {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				if *tortureFor > 0 && time.Since(began) > *tortureFor {
					return
				}
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				killOnBooks(t, random, min(killsOfBooks, *tortureKills-n*killsOfBooks), &tally)
				t.Logf("%d kills, %d rewards acknowledged, %s", tally.kills.Load(), tally.acknowledged.Load(),
					time.Since(began).Round(time.Second))
			})
		}
	})
	t.Logf("kills -9: %d; restarts: %d; rewards acknowledged: %d; lost: 0, twice: 0, unless an error above says "+
		"otherwise; seconds: %d", tally.kills.Load(), tally.kills.Load(), tally.acknowledged.Load(),
		int(time.Since(began).Seconds()))
}

// killOnBooks kills a service under load again and again. After each start the newest
// rewards are asked for, in the end all.
func killOnBooks(t *testing.T, random *rand.Rand, kills int, tally *killTally) {
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
	l.finish()
	tally.acknowledged.Add(int64(len(l.told)))
	l.verify()
}

// recheck asks again for the newest keys: those that were answered must be the same
// rewards.
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
