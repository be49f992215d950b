package test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/store/postgres/pgtest"
)

// failovers is how often the primary is killed; `make failover` uses twenty.
var failovers = flag.Int("failovers", 2, "how often to kill PostgreSQL's primary under load")

// backWithin is how long the service may take to recover from a fail-over.
const backWithin = 10 * time.Second

// startPair starts a fleet over a primary with a synchronous standby.
func startPair(t *testing.T, size int, flags ...string) (*pgtest.Pair, *fleet) {
	t.Helper()
	pair := pgtest.StartPair(t)
	pair.Primary.Database(t, "fleet")
	return pair, newFleet(t, pair.URL("fleet"), size, append(flags, "--pooling-window", "50ms")...)
}

// recordsAgain waits until every process records a reward for the user, and returns the time
// since began.
func (f *fleet) recordsAgain(l *load, user string, since time.Time) time.Duration {
	f.t.Helper()
	for i, m := range f.members {
		body := giving(user, fmt.Sprintf("probe-%d-%d", since.UnixMicro(), i), "1", "KO")
		for {
			a, err := m.request(f.t.Context(), "POST", "/v1/rewards", body)
			if err == nil && (a.status == 200 || a.status == 201) {
				var got struct{ Reward award }
				a.decode(f.t, &got)
				l.note(got.Reward, user, money.Dollar)
				break
			}
			if err == nil && a.status != 503 {
				f.t.Fatalf("%d %s", a.status, a.body)
			}
			if time.Since(since) > 3*backWithin {
				f.t.Fatalf("%s does not record after %s: %d %s %v", m.name, time.Since(since), a.status, a.body, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return time.Since(since)
}

// The primary is repeatedly killed under load and the standby promoted: no acknowledged
// reward is lost, nothing is bought twice, and every process records again within ten
// seconds, without a restart. No reader of the feed misses an event, and receivers of webhooks get all of them.
func TestFailOverUnderLoad(t *testing.T) {
	t.Parallel()
	pair, f := startPair(t, 2, webhookFlags(t)...)
	f.follow()
	prober := f.newUser("prober")
	load := f.load(8)
	var longest time.Duration
	for round := range *failovers {
		time.Sleep(time.Second)
		began := time.Now()
		pair.FailOver(t)
		promoted := time.Since(began)
		took := f.recordsAgain(load, prober, began)
		t.Logf("fail-over %d: the standby was promoted after %s, every process recorded after %s",
			round, promoted.Round(time.Millisecond), took.Round(time.Millisecond))
		if longest = max(longest, took); took > backWithin {
			t.Errorf("%s", took)
		}
		pair.Rebuild(t)
	}
	f.verify(load)
	t.Logf("%d fail-overs, the longest took %s", *failovers, longest.Round(time.Millisecond))
}
