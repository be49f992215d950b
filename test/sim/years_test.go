package sim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
)

var (
	seed  = flag.Uint64("seed", 3, "the first seed of the simulation's random choices")
	years = flag.Int("years", 9, "number of seeds to simulate, beginning with -seed")
	days  = flag.Int("days", 12, "trading days per seed; a year has 252")
)

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

type outcome struct {
	rewards, orders, faults, starts, days, decisions int
	statuses                                         map[string]int
	cover                                            *coverage
	hash                                             string // of the transcript
}

// lifetime simulates days and a recovery, and checks the result.
func (l *lab) lifetime(days int) outcome {
	l.on = true
	l.sync()
	l.liveDays(days)
	if !l.t.Failed() {
		l.recover()
		if l.mail != nil {
			l.mail.comeBack()
			l.recover() // time has passed, and the broker may have corrected fills
		}
	}
	if !l.t.Failed() {
		l.verify()
		l.verifyBusts()
		l.mail.verifyEnds()
		if l.firms != nil {
			l.verifyEvents()
		}
		l.hledger()
	}
	statuses := map[string]int{}
	for _, g := range l.given {
		statuses[g.status]++
	}
	return outcome{
		rewards: len(l.given), orders: l.final, faults: l.strikes, starts: l.starts, days: l.opened,
		decisions: l.decisions, statuses: statuses, cover: l.cover, hash: fmt.Sprintf("%x", l.hash.Sum(nil)),
	}
}

func simulate(t *testing.T, seed uint64, days int) (o outcome) {
	t.Helper()
	return simulateWith(t, seed, days, configOf(seed))
}

func simulateWith(t *testing.T, seed uint64, days int, config labConfig) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(yearBegin().AddDate(0, 0, -1)))
		o = newLab(t, seed, config).lifetime(days)
	})
	return o
}

// TestYears simulates trading days for several seeds, with rewards and faults, and checks every
// invariant after each step.
func TestYears(t *testing.T) {
	t.Parallel()
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
				_, _ = fmt.Fprintf(os.Stderr,
					"%4d of %d seeds: %d rewards, %d orders, %d faults, %d starts, %d decisions, %d days, %.2f years a minute\n",
					done, *years, total.rewards, total.orders, total.faults, total.starts, total.decisions, total.days,
					float64(total.days)/252/time.Since(began).Minutes())
			})
		}
	})
	t.Logf("%d rewards %v, %d orders, %d faults, %d starts, %d decisions of the operator, %d trading days\n%s",
		total.rewards, total.statuses, total.orders, total.faults, total.starts, total.decisions, total.days, total.cover)
	t.Run("coverage", func(t *testing.T) { //nolint:paralleltest // of the seeds before
		if missing := total.cover.missing(); len(missing) > 0 && *years**days >= 96 {
			t.Errorf("the coverage is wrong:\n%s", strings.Join(missing, "\n"))
		}
	})
}

// Two runs of one seed have the same transcript.
func TestASeedReplaysExactly(t *testing.T) {
	t.Parallel()
	const few = 3
	for n := range uint64(3) { // with one process, two, and three
		first, second := simulate(t, *seed+n, few), simulate(t, *seed+n, few)
		if first.hash != second.hash || first.rewards == 0 {
			t.Errorf("seed %d: %s, then %s", *seed+n, first.hash, second.hash)
		}
	}
	if a, b := simulate(t, *seed, few), simulate(t, *seed+3, few); a.hash == b.hash {
		t.Error("two seeds have one transcript")
	}
}

func (o *outcome) add(other outcome) {
	o.rewards += other.rewards
	o.orders += other.orders
	o.faults += other.faults
	o.starts += other.starts
	o.days += other.days
	o.decisions += other.decisions
	for status, n := range other.statuses {
		o.statuses[status] += n
	}
	o.cover.add(other.cover)
}
