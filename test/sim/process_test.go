package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/intake"
	"stockrewards/internal/market"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// process is one process of the service: what it has in memory, and whether it lives.
type process struct {
	lab  *lab
	name string
	dead bool
	down time.Time // a dead one is not started before

	store   *store.Operator
	market  *market.Market
	worker  *fulfillment.Worker
	intake  *intake.Intake
	handler http.Handler
	priced  time.Time

	began        time.Time // of the step under way
	beganStopped bool      // ordering was stopped then
	knowsStop    bool      // it has read so since
	compared     bool      // it has compared the orders, since it started
	asked        bool      // it has read the brakes since it sent last
}

// boot restarts the process on the same store.
func (p *process) boot() {
	l := p.lab
	l.t.Helper()
	l.starts++
	ctx := l.t.Context()
	*p = process{lab: l, name: fmt.Sprint("process-", l.starts)}
	books, err := store.New(ctx, mortalEngine{l.engine.Engine, p}, time.Now, l.source)
	l.check(err)
	p.store = books.As(rewards.Operator{Actor: "tester@test", Command: "test"})
	broker := alpaca.New(alpaca.Options{
		TradingURL: "http://broker.test", DataURL: "http://broker.test", KeyID: "k", SecretKey: "s",
		Transport: wire{p}, RequestsPerMinute: 60_000,
	})
	p.market = market.New(broker, p.store, time.Now, l.log)
	l.check(p.market.Load(ctx))
	in, err := p.store.Installation(ctx)
	l.check(err)
	p.worker = fulfillment.New(mortalStore{p.store, p}, broker, p.market, fulfillment.Config{
		Holder: p.name, Exclusive: len(l.procs) <= 1, Prefix: "sr-" + in.ID + "-",
		Window: l.config.window, SmallPoolWait: l.config.smallPoolWait, PollEvery: l.config.pollEvery,
		MaxMembers: l.config.maxMembers, MaxNotional: rewards.LowestMaxNotional, DailyLimit: l.config.dailyLimit,
		HouseDailyLimit: 1 << 60, HouseAppLimit: 1 << 60, LeaseTTL: 30 * time.Second,
	}, time.Now, l.log)
	p.intake = intake.New(p.store, p.worker.Nudge)
	p.handler = api.New(api.Options{
		Service: rewards.NewService(p.store, p.intake, p.market, time.Now), CursorKey: in.CursorKey, Log: l.log,
	})
}

// The faults of a process and of its store.
const (
	killBefore  = "kill-before"  // the process dies, and the effect does not take place
	killAfter   = "kill-after"   // the process dies right after the effect
	freeze      = "freeze"       // it stops for a while right before the effect
	storeBefore = "store-before" // the store fails, nothing is written
	storeLost   = "store-lost"   // nothing is written, and the outcome is unknown to the process
	storeAfter  = "store-after"  // it is written, but the outcome is unknown to the process
	storeDies   = "store-dies"   // the same, and the process stops
)

var (
	errKilled      = rewards.Unavailable("killed", errors.New("the process is dead"))
	errNobodyKnows = rewards.Unavailable("it is not known whether it was committed", store.ErrUnknownOutcome)
)

// effect is what a process does to the world outside of it.
type effect struct {
	name string
	row  string // the state of what it is about
	wire bool   // to the broker, otherwise to the store
	undo func() // does all of it, and takes it back
}

// do carries out an effect, or injects its fault.
func (p *process) do(e effect, carry func() error) error {
	if p.dead {
		return errKilled
	}
	l := p.lab
	kind := l.faultAt(p, e)
	if kind != "" {
		l.strikes++
		l.cover.hit(e.row, kind)
		l.note("%s: %s at %s of %s", p.name, kind, e.name, e.row)
	}
	switch kind {
	case "":
		return carry()
	case killBefore:
		p.die()
		return errKilled
	case killAfter, storeDies:
		_ = carry() // nobody is left who would ask
		p.die()
		return errKilled
	case storeBefore:
		return rewards.Unavailable("the database cannot be written", errDisk)
	case storeLost:
		if e.undo != nil {
			e.undo()
		}
		return errNobodyKnows
	case storeAfter:
		if err := carry(); err != nil {
			return err
		}
		return errNobodyKnows
	case freeze:
		l.interlude(p, e)
		return carry()
	}
	return l.carryUnder(kind, carry)
}

// carryUnder carries a request while the brokerage has one more fault, which strikes once.
func (l *lab) carryUnder(fault string, carry func() error) error {
	f, err := paper.ParseFault(fault + " on=all times=1")
	l.check(err)
	rule, err := l.brokerage.AddFault(f)
	l.check(err)
	defer l.brokerage.RemoveFault(rule.ID)
	return carry()
}

// die ends the process; now and then it takes its time to come back.
func (p *process) die() {
	p.dead = true
	if len(p.lab.procs) > 1 && p.lab.random.IntN(3) == 0 {
		p.down = time.Now().Add(time.Duration(p.lab.random.IntN(120)) * time.Second)
	}
}

// mortalEngine is the database as a process reaches it that can die.
type mortalEngine struct {
	store.Engine
	p *process
}

// Read is the engine's, while the process lives.
func (e mortalEngine) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.p.dead {
		return errKilled
	}
	return e.Engine.Read(ctx, f)
}

// Write is the engine's, while the process lives.
func (e mortalEngine) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.p.dead {
		return errKilled
	}
	return e.Engine.Write(ctx, f)
}

// WriteForClients is an effect: what clients give.
func (e mortalEngine) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	undo := func() {
		_ = e.Engine.WriteForClients(ctx, func(ctx context.Context, tx store.Tx) error {
			return errors.Join(f(ctx, tx), errNobodyKnows)
		})
	}
	return e.p.do(effect{name: "record", row: rowNew, undo: undo}, func() error { return e.Engine.WriteForClients(ctx, f) })
}
