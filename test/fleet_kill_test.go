package test

import (
	"flag"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"stockrewards/internal/store/postgres/pgtest"
)

// fleetKills is the number of kills; `make fleet` uses sixty.
var fleetKills = flag.Int("kills", 10, "how often to kill -9 a process of the fleet under load")

// Of three processes under load, one is killed every second, and leaders in turn are frozen
// for longer than their lease: every acknowledged reward exists once and is bought once. No reader of the feed
// misses an event, and every receiver of webhooks gets all of them.
func TestFleetKillsUnderLoad(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	f := newFleet(t, c.Database(t, "fleet"), 3, append(webhookFlags(t), "--pooling-window", "50ms")...)
	f.follow()
	load := f.load(12)
	var frozen *member
	var thaw time.Time
	freezes := 0
	for range *fleetKills {
		time.Sleep(time.Duration(700+rand.IntN(600)) * time.Millisecond)
		if frozen != nil && time.Now().After(thaw) {
			frozen.signal(syscall.SIGCONT)
			frozen = nil
		} else if frozen == nil && freezes*20 < *fleetKills {
			frozen, thaw = f.leader(20*time.Second), time.Now().Add(8*time.Second)
			frozen.signal(syscall.SIGSTOP)
			freezes++
		}
		victim := f.members[rand.IntN(len(f.members))]
		for victim == frozen {
			victim = f.members[rand.IntN(len(f.members))]
		}
		victim.kill()
		victim.run()
	}
	if frozen != nil {
		f.leader(20*time.Second, frozen) // another process took over
		frozen.signal(syscall.SIGCONT)
		eventually(t, "abdication of the frozen leader", 10*time.Second, func() bool { return !frozen.leads() })
	}
	f.verify(load)
	t.Logf("%d kills, %d freezes", *fleetKills, freezes)
}

// When the leader is killed, another process buys within ten seconds.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	f := newFleet(t, c.Database(t, "takeover"), 2)
	user := f.newUser("one")
	leader := f.leader(10 * time.Second)
	other := f.members[0]
	if other == leader {
		other = f.members[1]
	}
	other.await(other.give(user, "before-the-kill", "5", "AAPL").ID, "executed", 10*time.Second)
	leader.kill()
	began := time.Now()
	other.await(other.give(user, "after-the-kill", "6", "AAPL").ID, "executed", 10*time.Second)
	t.Logf("bought again after %s", time.Since(began).Round(time.Millisecond))
	if !other.leads() {
		t.Error("the other one does not lead")
	}
}
