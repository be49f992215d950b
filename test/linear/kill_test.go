package linear

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"stockrewards/internal/store/postgres/pgtest"
)

// The built service is repeatedly killed under load: acknowledged requests survive, and
// others took effect once or not at all.
func TestLinearizableThroughKills(t *testing.T) {
	t.Parallel()
	p := build(t, "sqlite:"+filepath.Join(t.TempDir(), "rewards.db"))
	p.newApp() // and the database
	p.playThroughKills(p.listen("--listen", "serve", "--database", p.database))
}

// Two processes serve one PostgreSQL database while a third one buys. They are killed in
// turn. The outcome of a request at one of them holds at the other, also for retries.
func TestLinearizableThroughKillsOfAFleet(t *testing.T) {
	t.Parallel()
	p := build(t, pgtest.Start(t).Database(t, "fleet"))
	p.newApp() // and the database
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
		{"unknown outcomes", seen.statuses[unknown], *kills},
		{"requests retried at the other process", seen.again, *kills},
		{"of those, replays", seen.resolved, 1},
		{"replays by another process than the one that recorded", seen.crossed, *kills},
		{"replays of executed rewards", seen.executed, *kills},
		{"answers while a process was down", seen.alone, *kills},
	} {
		if c.got < c.least {
			t.Errorf("%d %s: too few to prove anything", c.got, c.what)
		}
	}
}

// playThroughKills plays while the processes are killed as often as the flag says.
func (p *program) playThroughKills(all ...*process) tally {
	p.t.Helper()
	s := site{newApp: p.newApp, killed: p, buys: true}
	for _, one := range all {
		s.doors = append(s.doors, one.door)
	}
	var killed atomic.Int64
	var killer sync.WaitGroup
	quit := make(chan struct{})
	killer.Go(func() { p.torment(quit, &killed, all...) })
	const between = 250 // minimum of operations between two kills
	seen := play(p.t, s, func(n int) bool { return killed.Load() >= int64(*kills) && n >= between**kills })
	close(quit)
	killer.Wait()
	p.t.Logf("%d kills", killed.Load())
	return seen
}
