package sim

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
)

var (
	years = flag.Int("years", 0, "how many service-years to simulate, from -seed on; 0: a share of one")
	days  = flag.Int("days", 252, "trading days of each year")
)

// configOf is the lab of a seed.
func configOf(seed uint64) labConfig {
	pick := func(n uint64) uint64 { return seed * 2654435761 >> 7 % n }
	return labConfig{
		processes:     1 + int(seed%3),
		pollEvery:     []time.Duration{time.Second, 5 * time.Second, 100 * time.Millisecond}[pick(3)],
		window:        []time.Duration{time.Second, 10 * time.Second}[pick(2)],
		smallPoolWait: []time.Duration{0, 10 * time.Minute, time.Hour}[pick(3)],
		maxMembers:    []int{0, 3, 7}[pick(3)],
		dailyLimit:    []money.USD{1 << 60, 200_000 * money.Dollar}[pick(2)],
	}
}

// outcome is what a lab's life came to.
type outcome struct {
	rewards, orders, strikes, starts, days, decisions int
	statuses                                          map[string]int
	cover                                             *coverage
	hash                                              string
}

// live lets a lab live, and checks it in the end.
func (l *lab) lifetime(days int) outcome {
	l.t.Helper()
	l.liveThrough(days)
	if !l.t.Failed() {
		l.recover()
	}
	if !l.t.Failed() {
		l.world.verify()
	}
	statuses := map[string]int{}
	for _, g := range l.given {
		statuses[g.status]++
	}
	return outcome{
		rewards: len(l.given), orders: l.final, strikes: l.strikes, starts: l.starts, days: l.opened,
		decisions: l.decisions, statuses: statuses, cover: l.cover, hash: fmt.Sprintf("%x", l.hash.Sum(nil)),
	}
}

func simulate(t *testing.T, seed uint64, days int) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(yearBegin().AddDate(0, 0, -1)))
		o = newLab(t, seed, configOf(seed)).lifetime(days)
	})
	return o
}

// TestYears simulates service-years, each from a seed of its own.
func TestYears(t *testing.T) {
	t.Parallel()
	if *years == 0 {
		t.Log(simulate(t, *seed, 20))
		return
	}
	var mu sync.Mutex
	total := outcome{cover: newCoverage(), statuses: map[string]int{}}
	began, done := time.Now(), 0
	t.Run("seeds", func(t *testing.T) {
		for n := range *years {
			seed := *seed + uint64(n)
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				t.Parallel()
				o := simulate(t, seed, *days)
				mu.Lock()
				defer mu.Unlock()
				done++
				total.add(o)
				fmt.Fprintf(os.Stderr, "%4d/%d years, %d rewards, %d faults, %d starts, %d days, %.2f years a minute\n",
					done, *years, total.rewards, total.strikes, total.starts, total.days,
					float64(done)/time.Since(began).Minutes())
			})
		}
	})
	t.Logf("%+v\n%s", total, total.cover)
}

func (o *outcome) add(other outcome) {
	o.rewards += other.rewards
	o.orders += other.orders
	o.strikes += other.strikes
	o.starts += other.starts
	o.days += other.days
	o.decisions += other.decisions
	for status, n := range other.statuses {
		o.statuses[status] += n
	}
	o.cover.add(other.cover)
}
