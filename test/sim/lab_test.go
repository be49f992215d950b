package sim

import (
	"hash"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// lab is a world with several processes over one store, each of whose effects can fail. One
// goroutine steps them all.
type lab struct {
	*world // its process is the operator's, which buys nothing

	seed    uint64
	config  labConfig
	procs   []*process
	faultAt func(p *process, e effect) string // the fault at an effect; "": no fault
	rates   rates
	faults  []string // kinds that come before any comes again
	nested  bool     // an interlude is under way

	watched
	stories
	mail   *post    // who follows events; nil: nobody
	open   []*given // acknowledged, and not final in any answer
	unsure []*given // without an answer so far
	cover  *coverage

	executed, promised map[string]money.USD // by user, in answers and as given

	hash    hash.Hash
	starts  int
	strikes int // faults that struck
	opened  int // trading days
	total   int // to simulate
	hours   rewards.MarketClock
}

type labConfig struct {
	processes     int
	pollEvery     time.Duration
	window        time.Duration
	smallPoolWait time.Duration
	maxMembers    int
	dailyLimit    money.USD
	actions       int // corporate actions
}

type rates struct{ kill, store, freeze, lose int }

func newLab(t *testing.T, seed uint64, config labConfig) *lab {
	t.Helper()
	var firms *companies
	if config.actions > 0 {
		firms = newCompanies(config.actions)
	}
	w := newWorld(t, seed, paper.USEquities, firms)
	l := &lab{
		world: w, seed: seed, config: config, cover: newCoverage(), hash: fnv.New128a(),
		executed: map[string]money.USD{}, promised: map[string]money.USD{},
		watched: watched{
			live:   map[string]rewards.Order{},
			filled: map[string]money.Shares{}, planned: map[string]money.USD{}, faultOf: map[string]string{},
		},
	}
	l.present, l.renamed, l.gone = map[string]string{}, map[string]time.Time{}, map[string]bool{}
	l.faultAt, l.refuses = l.draw, true
	w.listen = func(line string) { l.transcribe(line) }
	for range config.processes {
		l.procs = append(l.procs, &process{lab: l, dead: true})
	}
	for _, p := range l.procs {
		p.boot()
	}
	return l
}

// transcribe adds to the hash that two runs of a seed must share.
func (l *lab) transcribe(texts ...string) {
	for _, text := range texts {
		l.hash.Write([]byte(text))
		l.hash.Write([]byte{0})
	}
}

func (l *lab) draw(_ *process, e effect) string {
	n := l.random.IntN(10_000)
	switch e.row { // there are few of them
	case rowAction:
		n /= 4
	case rowAgain:
		n /= 2
	case rowOpen:
		if l.firms == nil { // each cell of its column must be reached
			n /= 2
		}
	}
	for _, c := range []struct {
		chance int
		kinds  []string
	}{
		{l.rates.kill, []string{killBefore, killAfter}},
		{l.rates.freeze, []string{freeze}},
		{l.rates.store, storeErrors()},
	} {
		if n < c.chance {
			kind := c.kinds[l.random.IntN(len(c.kinds))]
			if e.wire && slices.Contains(storeErrors(), kind) {
				return ""
			}
			return kind
		}
		n -= c.chance
	}
	return ""
}

func (l *lab) randomProcess() *process {
	p := l.procs[l.random.IntN(len(l.procs))]
	if p.dead {
		p.boot()
	}
	return p
}

// sleep lets time pass, with a random part so that no timer fires at the same instant.
func (l *lab) sleep(d time.Duration) {
	time.Sleep(d + time.Duration(1+l.random.IntN(900_000)))
}

func (l *lab) step(p *process) {
	if p.dead && time.Now().Before(p.down) {
		return
	}
	if p.dead {
		p.boot()
	}
	ctx := l.t.Context()
	if time.Since(p.priced) >= pricesEvery {
		p.priced = time.Now()
		_, _ = p.market.Clock(ctx) // what fails is tried again
		_ = p.market.Refresh(ctx)
	}
	p.begin()
	p.worker.Step(ctx)
	_, _ = p.store.SealSegment(ctx) // it is retried, as is the next step
	_, _ = p.store.MergeFilters(ctx)
	l.watch()
}

func (l *lab) interlude(frozen *process, at effect) {
	if l.nested {
		return
	}
	l.nested = true
	defer func() { l.nested = false }()
	l.interrupt(at)
	for range 2 + l.random.IntN(8) {
		l.sleep(time.Duration(l.random.IntN(20)) * time.Second)
		if p := l.procs[l.random.IntN(len(l.procs))]; p != frozen {
			l.step(p)
		}
	}
}

func pauses() []time.Duration {
	return []time.Duration{
		25 * time.Millisecond, 300 * time.Millisecond, time.Second, time.Second, 2 * time.Second, 6 * time.Second,
		16 * time.Second, 31 * time.Second, 65 * time.Second,
	}
}

// work steps the processes until nothing is left to do, but at most this often.
func (l *lab) work(steps int) {
	for range steps {
		if l.t.Failed() {
			return
		}
		l.meanwhile()
		l.lookAtHolders()
		l.step(l.procs[l.random.IntN(len(l.procs))])
		if l.atRest() {
			return
		}
		all := pauses()
		l.sleep(all[l.random.IntN(len(all))])
	}
}

func (l *lab) atRest() bool {
	stopped := l.stopped()
	for _, o := range l.live {
		if o.State != rewards.OrderQuarantined && (!stopped || o.State != rewards.OrderPlanned) {
			return false
		}
	}
	if stopped { // the processes should try to order
		return l.random.IntN(4) == 0
	}
	clock := l.operatorClock()
	if !clock.Open {
		return true
	}
	pools, err := l.store.Pools(l.t.Context())
	l.check(err)
	for _, p := range pools {
		if !p.Blocked && !p.Asset.Doubt.Exists() {
			return false
		}
	}
	return true
}
