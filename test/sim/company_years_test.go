package sim

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
)

var actionYears = flag.Int("action-years", 4, "number of seeds to simulate with corporate actions, beginning with -seed")

// actionsOf is how many corporate actions happen in some trading days: 40 in a year, and at least
// ten.
func actionsOf(days int) int {
	const year, most, least = 252, 40, 10
	return max(least, days*most/year)
}

// TestYearsOfActions simulates trading days with corporate actions of all kinds, under faults of
// the broker, the store and the processes, and compares every holding with a model.
func TestYearsOfActions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	total := outcome{cover: newCoverage(), statuses: map[string]int{}}
	happened := map[string]int{}
	began := time.Now()
	t.Run("seeds", func(t *testing.T) {
		for n := range *actionYears {
			seed := *seed + uint64(n)
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				t.Parallel()
				config := configOf(seed)
				config.actions = actionsOf(*days)
				var o outcome
				var l *lab
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(yearBegin().AddDate(0, 0, -1)))
					l = newLab(t, seed, config)
					for app := range apps {
						l.check(l.store.SetDividends(t.Context(), l.apps[app].Name, rewards.DividendPolicy(1+app%2)))
					}
					o = l.lifetime(*days)
				})
				mu.Lock()
				defer mu.Unlock()
				total.add(o)
				for _, e := range l.firms.events {
					if e.applied {
						happened[e.kind]++
					}
				}
				_, _ = fmt.Fprintf(os.Stderr, "seed %d: %d rewards, %d corporate actions, %d faults, %d decisions in %s\n", seed,
					o.rewards, len(l.firms.events), o.faults, o.decisions, time.Since(began).Round(time.Second))
			})
		}
	})
	t.Logf("%d rewards %v, %d orders, %d faults, %d decisions of the operator; corporate actions: %v\n%s", total.rewards,
		total.statuses, total.orders, total.faults, total.decisions, happened, total.cover)
	for _, kind := range eventKinds() {
		if happened[kind] == 0 && *actionYears**days >= 36 {
			t.Errorf("no %s was applied", kind)
		}
	}
}
