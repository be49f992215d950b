package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/intake"
	"stockrewards/internal/market"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	shared "stockrewards/test/world"
)

type process struct {
	lab  *lab
	name string
	dead bool
	down time.Time // a dead process restarts after this time

	store   *store.Operator
	market  *market.Market
	worker  *fulfillment.Worker
	intake  *intake.Intake
	handler http.Handler
	priced  time.Time

	began        time.Time // of the step under way
	beganBefore  time.Time // of the step before
	beganStopped bool      // ordering was stopped then
	knowsStop    bool      // it has read that ordering is stopped
	compared     bool      // it has compared orders with the broker since it started
	asked        bool      // it has read the brakes since its last attempt
}

func (p *process) boot() {
	l := p.lab
	l.starts++
	ctx := l.t.Context()
	*p = process{lab: l, name: fmt.Sprint("process-", l.starts)}
	p.store = shared.Operator(l.t, mortalEngine{l.engine.Engine, p}, time.Now, l.source)
	broker := shared.Broker(wire{p})
	p.market = market.New(broker, p.store, time.Now, l.log)
	l.check(p.market.Load(ctx))
	in, err := p.store.Installation(ctx)
	l.check(err)
	brakes := shared.NoBrakes()
	brakes.SmallPoolWait, brakes.MaxMembers = l.config.smallPoolWait, l.config.maxMembers
	brakes.DailyLimit = l.config.dailyLimit
	p.worker = fulfillment.New(mortalStore{p.store, p}, broker, p.market, fulfillment.Config{
		Holder: p.name, Exclusive: len(l.procs) <= 1, Prefix: "sr-" + in.ID + "-",
		Brakes: brakes, Window: l.config.window, PollEvery: l.config.pollEvery, LeaseTTL: 30 * time.Second,
	}, time.Now, l.log)
	p.intake = intake.New(p.store, p.worker.Nudge)
	p.handler = api.NewServer(api.Options{
		Service: rewards.NewService(p.store, p.intake, p.market, time.Now), CursorKey: in.CursorKey, Log: l.log,
	}).Handler
}

const (
	killBefore  = "kill-before"  // the process dies before the effect
	killAfter   = "kill-after"   // the process dies right after the effect
	freeze      = "freeze"       // the process stops for a while before the effect
	storeBefore = "store-before" // the store fails and writes nothing
	storeLost   = "store-lost"   // nothing is written, but the outcome is unknown
	storeAfter  = "store-after"  // it is written, but the outcome is unknown
	storeDies   = "store-dies"   // the same, and the process stops
)

var (
	errDisk        = errors.New("the disk failed")
	errKilled      = rewards.Unavailable("killed", errors.New("the process is dead"))
	errNobodyKnows = rewards.Unavailable("it is not known whether it was committed", store.ErrUnknownOutcome)
)

// effect is a write of a process to the store or a request to the broker.
type effect struct {
	name string
	row  string   // the state of its order or reward
	also []string // states of the other orders that it changes, or through which one passes
	wire bool     // a request to the broker
	undo func()   // writes and rolls back
}

func (p *process) do(e effect, carry func() error) error {
	if p.dead {
		return errKilled
	}
	l := p.lab
	kind := l.faultAt(p, e)
	if kind != "" {
		l.strikes++
		for _, row := range append(e.also, e.row) {
			l.cover.hit(row, kind)
		}
		l.note("%s: %s at %s of %s", p.name, kind, e.name, e.row)
	}
	switch kind {
	case "":
		return carry()
	case killBefore:
		p.die()
		return errKilled
	case killAfter, storeDies:
		_ = carry() // the process is dead
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

// carryUnder sends a request to a brokerage with a fault that strikes once.
func (l *lab) carryUnder(fault string, carry func() error) error {
	f, err := paper.ParseFault(fault + " on=all times=1")
	l.check(err)
	rule, err := l.brokerage.AddFault(f)
	l.check(err)
	defer l.brokerage.RemoveFault(rule.ID)
	return carry()
}

func (p *process) die() {
	p.lab.mail.died(p)
	p.dead = true
	if len(p.lab.procs) > 1 && p.lab.random.IntN(3) == 0 {
		p.down = time.Now().Add(time.Duration(p.lab.random.IntN(120)) * time.Second)
	}
}

type mortalEngine struct {
	store.Engine
	p *process
}

// Sole implements store.Engine.
func (e mortalEngine) Sole() bool { return len(e.p.lab.procs) == 1 }

func (e mortalEngine) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.p.dead {
		return errKilled
	}
	return e.Engine.Read(ctx, f)
}

func (e mortalEngine) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.p.dead {
		return errKilled
	}
	return e.Engine.Write(ctx, f)
}

// WriteForClients is an effect: it records rewards.
func (e mortalEngine) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	undo := func() {
		_ = e.Engine.WriteForClients(ctx, func(ctx context.Context, tx store.Tx) error {
			return errors.Join(f(ctx, tx), errNobodyKnows)
		})
	}
	return e.p.do(effect{name: "record", row: rowNew, undo: undo}, func() error { return e.Engine.WriteForClients(ctx, f) })
}
