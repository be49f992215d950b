package linear

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"stockrewards/internal/store/postgres/pgtest"
)

// The built service, killed again and again while its clients go on: what was
// acknowledged is there afterwards, and what was not is there once or not at all.
func TestLinearizableThroughKills(t *testing.T) {
	t.Parallel()
	p := build(t, "sqlite:"+filepath.Join(t.TempDir(), "rewards.db"))
	p.newApp() // the books
	p.playThroughKills(p.listen("--listen", "serve", "--database", p.database))
}

// Two processes over one database of PostgreSQL, while a third one buys what is
// given; one of the two after the other is killed while the other goes on. What a
// request came to at one of them holds at the other, also for the same request sent
// again there.
func TestLinearizableThroughKillsOfAFleet(t *testing.T) {
	t.Parallel()
	p := build(t, pgtest.Start(t).Database(t, "fleet"))
	p.newApp() // the books
	brokerage := p.listen("--listen", "paper", "--requests-per-minute", "0",
		"--database", "sqlite:"+filepath.Join(t.TempDir(), "paper.db"))
	serve := []string{
		"serve", "--database", p.database, "--broker", "alpaca", "--pooling-window", "20ms", "--small-pool-wait", "0s",
		"--alpaca-url", brokerage.door, "--alpaca-data-url", brokerage.door, "--alpaca-requests-per-minute", "60000",
	}
	p.listen("--admin-listen", append(slices.Clip(serve), "--role", "worker")...)
	var fleet []*process
	for range 2 {
		fleet = append(fleet, p.listen("--listen", append(slices.Clip(serve), "--role", "api")...))
	}
	seen := p.playThroughKills(fleet...)
	for _, c := range []struct {
		what       string
		got, least int
	}{
		{"outcomes that are not known", seen.statuses[unknown], *kills},
		{"requests sent again to the other process", seen.again, *kills},
		{"of those, replays", seen.resolved, 1},
		{"replays by another process than the one that recorded", seen.crossed, *kills},
		{"replays of what was bought", seen.executed, *kills},
		{"answers while a process was down", seen.alone, *kills},
	} {
		if c.got < c.least {
			t.Errorf("%d %s: too few to prove anything", c.got, c.what)
		}
	}
}

// playThroughKills plays while the processes are killed as often as was asked for.
func (p *program) playThroughKills(all ...*process) tally {
	p.t.Helper()
	s := site{newApp: p.newApp, down: &p.down, buys: true}
	for _, one := range all {
		s.doors = append(s.doors, one.door)
	}
	var killed atomic.Int64
	var killer sync.WaitGroup
	quit := make(chan struct{})
	killer.Go(func() { p.torment(quit, &killed, all...) })
	const between = 250 // two kills, so many operations at least
	seen := play(p.t, s, func(n int) bool { return killed.Load() >= int64(*kills) && n >= between**kills })
	close(quit)
	killer.Wait()
	p.t.Logf("%d kills", killed.Load())
	return seen
}
