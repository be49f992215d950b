package sim

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
)

var pairs = flag.Int("pairs", 40, "try one in this many first faults, and one in this many second faults; 1: every pair")

// lifecycle is a path of a reward that is repeated with faults at every effect.
type lifecycle struct {
	name   string
	fault  string // of the brokerage, on the reward's own order
	closed bool   // given while the market is closed
	procs  int
	pairs  bool // also with pairs of faults
}

func lifecycles() []lifecycle {
	return []lifecycle{
		{name: "success", procs: 1, pairs: true},
		{name: "partial", fault: "partial-then-canceled times=1 by=3s share=40", procs: 1},
		{name: "reject", fault: "reject-later times=1 by=2s", procs: 1},
		{name: "unknown-accepted", fault: "lost-answer on=submit times=1", procs: 1, pairs: true},
		{name: "unknown-lost", fault: "lost-request on=submit times=1", procs: 1, pairs: true},
		{name: "closed-market", closed: true, procs: 1},
		{name: "two-workers", procs: 2},
	}
}

// plannedFault is a fault at one effect, counted from the beginning of a life.
type plannedFault struct {
	at   int
	kind string
}

// storeFaults and wireFaults are the faults of an effect.
func storeFaults() []string { return slices.Concat(processFaults(), storeErrors()) }

func wireFaults(name string) []string {
	list := []string{
		killBefore, killAfter, freeze, "lost-request", "lost-answer", "late-request by=20s", "late-answer by=20s", "cut-answer", "empty-body",
		"html-body", "error status=500", "error status=503 carried=true", "error status=403", "error status=404",
		"error status=429", "rate-limit by=2s",
	}
	if name == "submit" {
		list = append(list, "duplicate", "no-buying-power", "error status=422", "html-body status=200 carried=true")
	}
	return list
}

type trial struct {
	*lab

	life  lifecycle
	plan  []plannedFault
	seen  []effect // of this life so far
	lives int
}

// TestExhaustively repeats each lifecycle with every fault at every effect, and some with
// pairs of faults.
func TestExhaustively(t *testing.T) {
	t.Parallel()
	var singles, doubles, points atomic.Int64
	t.Run("lives", func(t *testing.T) {
		for _, life := range lifecycles() {
			t.Run(life.name, func(t *testing.T) {
				t.Parallel()
				inTrial(t, life, func(x *trial) {
					points.Add(int64(x.everySingle()))
					singles.Add(int64(x.lives))
				})
			})
			for shard := 0; life.pairs && shard < shards; shard++ {
				t.Run(fmt.Sprint(life.name, " pairs ", shard), func(t *testing.T) {
					t.Parallel()
					inTrial(t, life, func(x *trial) {
						x.everyPair(shard)
						doubles.Add(int64(x.lives))
					})
				})
			}
		}
	})
	t.Logf("%d effects, %d lives with one fault, %d with two", points.Load(), singles.Load(), doubles.Load())
	if points.Load() < 60 || singles.Load() < 600 || doubles.Load() < 20 {
		t.Error("too few lives were tried")
	}
}

// shards is how many shares of a lifecycle's pairs run in parallel.
const shards = 4

func inTrial(t *testing.T, life lifecycle, f func(*trial)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(yearBegin().AddDate(0, 0, -1)))
		l := newLab(t, *seed, labConfig{processes: life.procs, pollEvery: time.Second, window: time.Second, dailyLimit: 1 << 60})
		x := &trial{lab: l, life: life}
		l.faultAt = x.strike
		x.runLife() // without a fault
		f(x)
		if !t.Failed() {
			l.faultAt = func(*process, effect) string { return "" }
			l.recover()
			l.verify()
		}
	})
}

// strike counts the effects and injects the faults of the plan.
func (x *trial) strike(_ *process, e effect) string {
	if x.nested {
		return ""
	}
	x.seen = append(x.seen, e)
	for _, b := range x.plan {
		if b.at == len(x.seen) {
			return b.kind
		}
	}
	return ""
}

func faultsOf(e effect) []string {
	if e.wire {
		return wireFaults(e.name)
	}
	return storeFaults()
}

// everySingle tries every fault at every effect and returns the number of effects.
func (x *trial) everySingle() int {
	points := slices.Clone(x.seen)
	for i, e := range points {
		for _, kind := range faultsOf(e) {
			x.runLife(plannedFault{i + 1, kind})
		}
	}
	return len(points)
}

// everyPair tries pairs of faults: the first at each effect of the shard, the second at each
// later effect.
func (x *trial) everyPair(shard int) {
	points := slices.Clone(x.seen)
	share, firsts, seconds := uint64(*pairs), *seed, *seed
	for i, e := range points {
		for _, kind := range faultsOf(e) {
			firsts++
			if i%shards != shard || firsts%share != 0 {
				continue
			}
			if share == 1 {
				_, _ = fmt.Fprintf(os.Stderr, "%s pairs %d: effect %d of %d, %s; %d lives\n",
					x.life.name, shard, i+1, len(points), kind, x.lives)
			}
			first := plannedFault{i + 1, kind}
			x.runLife(first)
			after := slices.Clone(x.seen)
			for n := i + 1; n < len(after); n++ {
				for _, kind := range faultsOf(after[n]) {
					seconds++
					if seconds%share == 0 {
						x.runLife(first, plannedFault{n + 1, kind})
					}
				}
			}
		}
	}
}

func (x *trial) runLife(plan ...plannedFault) {
	if x.t.Failed() {
		return
	}
	x.lives++
	x.begin()
	x.note("life %d: %s with %v", x.lives, x.life.name, plan)
	g := &given{app: 0, user: x.users[0][0], key: fmt.Sprintf("life-%06d", x.lives), amount: 25 * money.Dollar, symbol: "AAPL"}
	x.promised[g.user] += g.amount
	x.given, x.unsure = append(x.given, g), append(x.unsure, g)
	x.plan, x.seen = plan, nil
	orders := x.final
	for try := 0; !g.acknowledged && try < 9; try++ {
		x.give(g)
	}
	if x.life.closed {
		x.workOn(g, 4)
		x.until(x.hours.NextOpen.Add(10 * time.Minute))
	}
	x.workOn(g, 25)
	seen := x.seen
	x.finish(g)
	x.seen = seen
	x.judge(g, x.final-orders, plan)
}

// begin removes faults, restarts the processes, and waits until the market is open for at
// least an hour, or closed.
func (x *trial) begin() {
	x.plan = nil
	x.brokerage.RemoveFault(0)
	x.story = x.story[:0]
	for _, p := range x.procs {
		p.dead = true
	}
	x.until(time.Now().Add(40 * time.Second)) // the leases of dead processes expire
	clock := x.operatorClock()
	switch {
	case x.life.closed && clock.Open:
		x.until(clock.NextClose.Add(time.Hour))
	case !x.life.closed && !clock.Open:
		x.until(clock.NextOpen.Add(time.Minute))
	case !x.life.closed && clock.NextClose.Sub(clock.Now) < time.Hour:
		x.until(clock.NextClose.Add(time.Minute))
		x.begin()
		return
	}
	for _, p := range x.procs {
		p.boot()
	}
	if x.life.fault != "" {
		x.afflict(x.life.fault)
	}
}

// workOn steps the processes until the reward is final, but at most this often.
func (x *trial) workOn(g *given, steps int) {
	for n := range steps {
		if g.acknowledged && !slices.Contains(x.open, g) || x.t.Failed() {
			return
		}
		for _, p := range x.procs {
			x.step(p)
		}
		x.sleep(time.Second + time.Duration(n/5)*10*time.Second)
		if g.acknowledged && len(x.live) == 0 {
			x.lookAt(g)
		}
	}
}

// finish removes faults and waits, with an operator, until the reward is final.
func (x *trial) finish(g *given) {
	x.plan = nil
	x.brokerage.RemoveFault(0)
	for range 12 {
		if x.t.Failed() {
			return
		}
		x.askAgain()
		x.lookAt(g)
		if rank(g.status) == rank("executed") && len(x.live) == 0 {
			break
		}
		clock := x.operatorClock()
		if !clock.Open {
			x.until(clock.NextOpen.Add(10 * time.Minute))
		}
		x.workOn(g, 8)
		x.decide()
	}
	x.decide()
	x.compareAll()
}

func (x *trial) judge(g *given, orders int, plan []plannedFault) {
	if rank(g.status) != rank("executed") {
		x.violate("in the end every reward is executed or failed", g.key, "%s with %v", g.status, plan)
	}
	if slices.ContainsFunc(plan, looksLikeARefusal) {
		return // the reward may fail, or need an operator
	}
	want, status := 1, "executed"
	switch x.life.name {
	case "partial":
		want = 2
	case "reject":
		status = "failed"
	}
	if g.status != status || orders != want {
		x.violate("a fault that passes changes nothing", g.key, "%s after %d orders with %v", g.status, orders, plan)
	}
}

// looksLikeARefusal reports whether the service may take a fault for a definitive refusal.
func looksLikeARefusal(f plannedFault) bool {
	return slices.Contains([]string{"error status=403", "error status=404", "error status=422"}, f.kind)
}
