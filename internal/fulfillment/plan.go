package fulfillment

import (
	"context"
	"errors"
	"strconv"
	"time"

	"stockrewards/internal/rewards"
)

// heldPool is a pool that could not become an order, and when to try again.
type heldPool struct {
	hold  rewards.Hold
	until time.Time
}

// holdFor is how long a pool that must wait is left alone.
const holdFor = time.Second

// plan sends planned orders and plans new ones, while the brakes allow it. It returns how long
// nothing more can be planned.
func (w *Worker) plan(ctx context.Context, live []rewards.Order) (time.Duration, error) {
	compared, compareErr := w.reconcile(ctx)
	control, err := w.store.Control(ctx)
	if err != nil {
		return idleWait, errors.Join(compareErr, err)
	}
	w.conflicts = control.Conflicts
	w.raiseControl(control)
	if compareErr != nil || !compared || control.Stopped() {
		w.stopped(control, compareErr)
		return idleWait, compareErr
	}
	clock, err := w.opened(ctx)
	if err != nil || !clock.Open {
		return idleWait, err
	}
	if !w.actions.current(clock.Now) {
		if w.actions.trouble != "" {
			w.stands.stop(0, rewards.CauseAnnouncement, time.Time{})
		}
		return w.actions.pause(w.now()), nil
	}
	for _, o := range live {
		w.heartbeat()
		if o.Next(rewards.Evidence{}).Kind != rewards.StepSend {
			continue
		}
		if err := w.send(ctx, o); err != nil {
			return idleWait, err
		}
	}
	return w.planAll(ctx, live, clock)
}

// opened is the market's hours now. Unless it is open, it notes why nothing is ordered.
func (w *Worker) opened(ctx context.Context) (rewards.MarketClock, error) {
	clock, err := w.clock(ctx)
	switch {
	case err != nil:
		w.stands.stop(0, rewards.CauseBroker, time.Time{})
		if !errors.Is(err, rewards.ErrClockRefused) { // which has its own alarm
			w.alarms.raise(rewards.AlarmClockUnknown, "cannot read the market's hours: "+err.Error())
		}
	case !clock.Open:
		w.stands.stop(0, rewards.CauseClosed, clock.NextOpen)
	}
	return clock, err
}

func (w *Worker) raiseControl(c rewards.Control) {
	if c.Paused != "" {
		w.alarms.raise(rewards.AlarmPaused, c.Paused)
	}
	if c.Conflicts > 0 {
		w.alarms.raise(rewards.AlarmConflict, "orders at the broker that contradict our books: "+
			strconv.Itoa(c.Conflicts)+"; ordering is stopped: see `stockrewards fulfillment status`")
	}
}

// bookEvery is for how long a step plans orders before it books what was filled meanwhile. When millions of rewards
// wait at the opening of the market, the first orders are filled long before every stock has one.
const bookEvery = 2 * time.Second

// rereadAfter is how many times as long as the reading of the pools a step must last before it ends early: reading them
// again takes at most a twentieth of the time.
const rereadAfter = 20

// planAll plans and sends an order for every pool that is due, in the order of the apps' turns. It reads the market's
// hours for each: a step may last until after the close. Once it has planned orders for long, it leaves the rest to the
// next step, which reads what was awarded meanwhile. It returns how long no other pool will be due.
func (w *Worker) planAll(ctx context.Context, live []rewards.Order, clock rewards.MarketClock) (time.Duration, error) {
	began := w.now()
	pools, err := w.store.Pools(ctx)
	if err != nil {
		return idleWait, err
	}
	wait, booked, newest := idleWait, w.now(), w.newest
	fresh := began.Add(max(bookEvery, rereadAfter*booked.Sub(began)))
	var errs []error
	for p := range w.turns.Pass(pools) {
		w.heartbeat()
		errs = append(errs, w.bookOn(ctx))
		if w.now().Sub(booked) > bookEvery {
			if w.newest > newest && w.now().After(fresh) {
				w.endEarly()
				wait = nudgeWait
				break
			}
			err := w.bookMeanwhile(ctx)
			if errors.Is(err, rewards.ErrLostLease) {
				return idleWait, err
			}
			errs, booked = append(errs, err), w.now()
		}
		if clock, err = w.opened(ctx); err != nil || !clock.Open {
			w.endEarly()
			return idleWait, errors.Join(append(errs, err)...)
		}
		if w.stockStopped(p, clock) {
			continue
		}
		if !w.ready() {
			w.endEarly()
			return nudgeWait, errors.Join(errs...)
		}
		due, err := w.planOne(ctx, p, clock)
		if errors.Is(err, rewards.ErrLostLease) {
			return idleWait, err
		}
		wait = min(wait, due)
		errs = append(errs, err)
	}
	errs = append(errs, w.planHouse(ctx, pools, live, clock))
	return wait, errors.Join(errs...)
}

// endEarly notes that the step does not look at everything: it ends no alarm or standstill.
func (w *Worker) endEarly() { w.alarms.partial, w.stands.partial = true, true }

// stockStopped reports whether nothing is ordered of a pool's stock, and notes why. Each cause has an alarm already.
func (w *Worker) stockStopped(p rewards.Pool, clock rewards.MarketClock) bool {
	var cause rewards.Cause
	var expected time.Time
	switch id := p.Asset.ID; {
	case p.Asset.Doubt.Exists():
		cause = rewards.CauseDoubt
	case p.Blocked:
		cause = rewards.CauseQuarantine
	case w.awaitsPrice(id):
		cause, expected = rewards.CauseQuarantine, w.decidedBy(id, clock)
	case p.Asset.Hold.InForce(clock.FilledUntil()), w.actions.stops(id):
		cause = rewards.CauseAction
	default:
		return false
	}
	w.stands.stop(p.Asset.ID, cause, expected)
	return true
}

// bookMeanwhile books what was filled since the step began.
func (w *Worker) bookMeanwhile(ctx context.Context) error {
	errs := []error{w.collect(ctx, false)}
	live, err := w.store.LiveOrders(ctx)
	if err == nil {
		_, err = w.poll(ctx, live)
	}
	return errors.Join(append(errs, err)...)
}

// planOne plans and sends an order for a pool that is due. It returns when to look again.
func (w *Worker) planOne(ctx context.Context, p rewards.Pool, clock rewards.MarketClock) (time.Duration, error) {
	now := w.now()
	// A reward recorded in the future, by a clock that was ahead, waits no longer.
	if due := p.Oldest.Add(w.cfg.Window); now.Before(due) && !p.Oldest.After(now) {
		return due.Sub(now), nil
	}
	if h, held := w.held[p.Asset.ID]; held && now.Before(h.until) {
		w.raiseHold(p, h.hold, clock)
		return h.until.Sub(now), nil
	}
	if w.market.LastPrice(p.Asset.ID) == 0 { // the first award of the stock
		w.readPrices(ctx, "the price of "+p.Asset.Symbol)
	}
	limits := w.cfg.Limits(w.market.LastPrice(p.Asset.ID), rewards.SmallPoolTimer{
		Now: now, Ahead: clock.Now.Sub(now), Wait: w.cfg.SmallPoolWait, NextClose: clock.NextClose,
	})
	limits.HouseAlone = p.HouseAlone
	o, hold, err := w.store.PlanOrder(ctx, w.lease, rewards.PlanRequest{
		FilledUntil: clock.FilledUntil(), Asset: p.Asset, Limits: limits, ClientOrderIDPrefix: w.cfg.Prefix,
		MaxMembers: w.cfg.MaxMembers, Apps: len(p.Apps),
	})
	if err != nil {
		return idleWait, err
	}
	if hold != rewards.NoHold {
		w.held[p.Asset.ID] = heldPool{hold, now.Add(holdFor)}
		w.raiseHold(p, hold, clock)
		return holdFor, nil
	}
	delete(w.held, p.Asset.ID)
	w.turns.Took(p.Apps...)
	w.newest = max(w.newest, o.Number)
	w.observer.OrderEntered(o.State)
	w.logOrder(ctx, "order planned", o)
	return nudgeWait, w.send(ctx, o) // the pool may have more than one order takes
}

func (w *Worker) raiseHold(p rewards.Pool, hold rewards.Hold, clock rewards.MarketClock) {
	var expected time.Time
	if hold == rewards.HoldSmallPool {
		ahead := clock.Now.Sub(w.now())
		expected = rewards.SmallPoolDeadline(p.Oldest.Add(ahead), w.cfg.SmallPoolWait, clock.NextClose)
	}
	if cause, waits := rewards.CauseOf(hold); waits {
		w.stands.stop(p.Asset.ID, cause, expected)
	}
	switch hold {
	case rewards.HoldDaily:
		w.alarms.raise(rewards.AlarmDailyLimit, "rewards of "+p.Asset.Symbol+
			" are larger than what is left of today's limit: see `stockrewards fulfillment status`")
	case rewards.HoldHouse:
		w.alarms.raise(rewards.AlarmHouseLimit, "the house's daily limit is reached; "+
			p.Asset.Symbol+" waits, because the house would pay a part of its order")
	case rewards.HoldAppHouse:
		w.alarms.raise(rewards.AlarmHouseAppLimit, "the house's daily limit of each app in the small pool of "+
			p.Asset.Symbol+" is reached; the pool waits")
	case rewards.HoldQuantity:
		w.alarms.raise(rewards.AlarmOrderQuantity+p.Asset.Symbol,
			"an amount buys more shares than can be counted at the last price")
	default: // the pool waits for more, or another alarm says why
	}
}
